//! Measures how much later a step with five secrets starts than one without: from the moment the server has allowed
//! the step until its program runs and records the time. Steps of both kinds alternate in the same stage.

use std::time::Duration;

use anyhow::Context;
use jiff::Timestamp;
use reqwest::Method;
use serde_json::{Value, json};

use super::container::time;
use super::fixture::{DeploymentFixture, commit};
use super::runner::Kind;
use super::{BenchDeployments, Figures};
use crate::bench::{median, print_progress, quantile};
use crate::parts::programs::Programs;

const SECRETS: usize = 5;
/// Steps of each kind in one deployment.
const STEPS: usize = 10;
/// How much later a step with secrets may start, in the median.
const MAX_OVERHEAD_MS: f64 = 5.0;
const WARM_UP: usize = 1;
const TIMEOUT: Duration = Duration::from_secs(120);

pub(crate) async fn measure(options: &BenchDeployments, programs: &Programs) -> anyhow::Result<Figures> {
    print_progress("secrets: starting a stack and a runner");
    let mut fixture = DeploymentFixture::start("bench-secrets", programs).await?;
    let measured = alternating(&mut fixture, options.samples.div_ceil(STEPS)).await;
    fixture.end().await?;
    measured
}

async fn alternating(fixture: &mut DeploymentFixture, deployments: usize) -> anyhow::Result<Figures> {
    for number in 0..SECRETS {
        let value = format!("{:032x}", rand::random::<u128>());
        let body = json!({ "name": format!("secret-{number}"), "value": value });
        let path = "/organizations/bench/secrets";
        fixture.api.call_ok(Method::POST, path, &fixture.token, Some(&body)).await?;
    }
    fixture.make_pipeline(&definition()).await?;
    fixture.start_runner(Kind::Process, 1).await?;
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for number in 0..WARM_UP + deployments {
        let deployment = fixture.deploy(&commit(number)).await?;
        let found = fixture.succeeded(&deployment, TIMEOUT).await?;
        let steps = found["stages"][0]["steps"].as_array().context("a stage without steps")?;
        for (at, step) in steps.iter().enumerate().filter(|_| number >= WARM_UP) {
            if at % 2 == 0 { &mut without } else { &mut with }.push(start_ms(step)?);
        }
    }
    let (none, five) = (median(without.clone()), median(with.clone()));
    let overhead = five - none;
    print_progress(&format!(
        "secrets: {overhead:.2} ms later with {SECRETS} secrets ({five:.2} and {none:.2} ms)"
    ));
    let details = json!({
        "samples": with.len(),
        "medianWithMs": five,
        "medianWithoutMs": none,
        "p90WithMs": quantile(&with, 0.9),
        "p90WithoutMs": quantile(&without, 0.9),
        "maxOverheadMs": MAX_OVERHEAD_MS,
        "isWithinLimit": overhead <= MAX_OVERHEAD_MS,
    });
    Ok(Figures::from_iter([
        ("secretStartOverheadMs".to_owned(), json!(overhead)),
        ("secrets".to_owned(), details),
    ]))
}

/// Every second step has the secrets.
fn definition() -> String {
    let secrets: serde_json::Map<String, Value> =
        (0..SECRETS).map(|number| (format!("SECRET_{number}"), json!(format!("secret-{number}")))).collect();
    let run = r#"echo "at=$(date +%s%N)" > "$GREENROOM_OUTPUT""#;
    let steps: Vec<Value> = (0..2 * STEPS)
        .map(|at| match at % 2 {
            0 => json!({ "image": "none", "run": run }),
            _ => json!({ "image": "none", "run": run, "secrets": secrets }),
        })
        .collect();
    json!({ "stages": { "only": { "steps": steps } } }).to_string()
}

/// Returns the time from the server's decision until the program acts.
fn start_ms(step: &Value) -> anyhow::Result<f64> {
    let nanoseconds = step["outputs"]["at"].as_str().and_then(|text| text.parse::<i128>().ok());
    let acted = Timestamp::from_nanosecond(nanoseconds.context("the step did not note the time")?)?;
    Ok(acted.duration_since(time(&step["startedAt"])?).as_secs_f64() * 1e3)
}
