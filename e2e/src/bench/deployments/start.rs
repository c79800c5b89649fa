//! Measures how soon a deployment starts: from the moment the client has received the `202` until the step
//! runs and records the time. The deployments run one after the other, on a runner that has nothing else to
//! do. All times are from this machine's clock.

use std::time::Duration;

use anyhow::Context;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::container::time;
use super::fixture::{DeploymentFixture, commit};
use super::runner::Kind;
use super::{BenchDeployments, Figures};
use crate::bench::{median, print_progress, quantile};
use crate::parts::programs::Programs;

const DEFINITION: &str = r#"stages:
  only:
    steps:
      - image: none
        run: echo "at=$(date +%s%N)" > "$GREENROOM_OUTPUT"
"#;
const WARM_UP: usize = 5;
const TIMEOUT: Duration = Duration::from_secs(60);

/// The times of a deployment, in milliseconds after the response.
struct Sample {
    queued: f64,
    assigned: f64,
    allowed: f64,
    acted: f64,
    ended: f64,
}

pub(crate) async fn measure(options: &BenchDeployments, programs: &Programs) -> anyhow::Result<Figures> {
    print_progress("start: starting a stack and a runner");
    let mut fixture = DeploymentFixture::start("bench-start", programs).await?;
    let measured = one_by_one(&mut fixture, options.samples).await;
    fixture.end().await?;
    measured
}

async fn one_by_one(fixture: &mut DeploymentFixture, samples: usize) -> anyhow::Result<Figures> {
    fixture.make_pipeline(DEFINITION).await?;
    fixture.start_runner(Kind::Process, 1).await?;
    let mut taken = Vec::new();
    for number in 0..WARM_UP + samples {
        // A random pause, so that no sample depends on the phase of a poll interval.
        tokio::time::sleep(Duration::from_millis(rand::random_range(50..550))).await;
        let sample = sample(fixture, number).await?;
        if number >= WARM_UP {
            taken.push(sample);
        }
    }
    let of = |figure: fn(&Sample) -> f64| taken.iter().map(figure).collect::<Vec<_>>();
    let acted = of(|sample| sample.acted);
    let (p50, p99) = (quantile(&acted, 0.5), quantile(&acted, 0.99));
    print_progress(&format!("start: p50 {p50:.1} ms, p99 {p99:.1} ms"));
    let details = json!({
        "samples": taken.len(),
        "p90Ms": quantile(&acted, 0.9),
        "maxMs": quantile(&acted, 1.0 - f64::EPSILON),
        "medianUntilQueuedMs": median(of(|sample| sample.queued)),
        "medianUntilAssignedMs": median(of(|sample| sample.assigned)),
        "medianUntilAllowedMs": median(of(|sample| sample.allowed)),
        "medianUntilEndedMs": median(of(|sample| sample.ended)),
        "allMs": acted,
    });
    Ok(Figures::from_iter([
        ("startP50Ms".to_owned(), json!(p50)),
        ("startP99Ms".to_owned(), json!(p99)),
        ("start".to_owned(), details),
    ]))
}

async fn sample(fixture: &DeploymentFixture, number: usize) -> anyhow::Result<Sample> {
    let deployment = fixture.deploy(&commit(number)).await?;
    let responded_at = local_time();
    let found = fixture.succeeded(&deployment, TIMEOUT).await?;
    let attempts = fixture.read(&deployment, "/stages/only/attempts").await?;
    let (stage, attempt) = (&found["stages"][0], &attempts[0]);
    let after = |value: &Value| anyhow::Ok(time(value)?.duration_since(responded_at).as_secs_f64() * 1e3);
    let nanoseconds = stage["steps"][0]["outputs"]["at"].as_str().and_then(|text| text.parse::<i128>().ok());
    let acted = Timestamp::from_nanosecond(nanoseconds.context("the step did not note the time")?)?;
    Ok(Sample {
        queued: after(&attempt["queuedAt"])?,
        assigned: after(&attempt["startedAt"])?,
        allowed: after(&stage["steps"][0]["startedAt"])?,
        acted: acted.duration_since(responded_at).as_secs_f64() * 1e3,
        ended: after(&found["endedAt"])?,
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "PostgreSQL and the steps are on this machine, and have its clock"
)]
fn local_time() -> Timestamp {
    Timestamp::now()
}
