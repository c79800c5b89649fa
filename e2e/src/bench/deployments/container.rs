//! Compares a stage of one step in a container with `podman run`, alternating. The stage has no checkout. It
//! is measured by PostgreSQL's clock, from when it is queued until its end is stored.

use std::time::Duration;

use anyhow::Context;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::fixture::{DeploymentFixture, commit};
use super::podman;
use super::runner::Kind;
use super::{BenchDeployments, Figures};
use crate::bench::{median, print_progress, quantile};
use crate::parts::containers::{Containers, IMAGE};
use crate::parts::programs::Programs;

const STAGE: &str = "only";
const WARM_UP: usize = 2;
const TIMEOUT: Duration = Duration::from_secs(120);

/// The seconds that each run took.
#[derive(Default)]
struct Times {
    ours: Vec<f64>,
    podman: Vec<f64>,
}

pub(crate) async fn measure_short(
    options: &BenchDeployments,
    programs: &Programs,
) -> anyhow::Result<Figures> {
    print_progress("container: starting a stack, podman and a runner");
    let times = alternate(programs, "true", options.containers).await?;
    let added: Vec<f64> = times.pairs().map(|(ours, podman)| (ours - podman) * 1e3).collect();
    let added_ms = (median(times.ours.clone()) - median(times.podman.clone())) * 1e3;
    print_progress(&format!("container: {added_ms:.0} ms more than podman run"));
    let details = json!({
        "runs": times.ours.len(),
        "stageMs": Times::millis(&times.ours),
        "podmanRunMs": Times::millis(&times.podman),
        "stageMedianMs": median(times.ours.clone()) * 1e3,
        "podmanRunMedianMs": median(times.podman.clone()) * 1e3,
        "addedP90Ms": quantile(&added, 0.9),
        "medianOfPairsAddedMs": median(added),
    });
    Ok(Figures::from_iter([
        ("containerAddedMs".to_owned(), json!(added_ms)),
        ("container".to_owned(), details),
    ]))
}

pub(crate) async fn measure_long(options: &BenchDeployments, programs: &Programs) -> anyhow::Result<Figures> {
    print_progress("long: starting a stack, podman and a runner");
    let script = format!("sleep {}", options.long_seconds);
    let times = alternate(programs, &script, options.long_runs).await?;
    let ratio = median(times.pairs().map(|(ours, podman)| ours / podman - 1.0).collect());
    print_progress(&format!("long: {:.2} % longer than podman run", ratio * 100.0));
    let details = json!({
        "seconds": options.long_seconds,
        "stageMs": Times::millis(&times.ours),
        "podmanRunMs": Times::millis(&times.podman),
    });
    Ok(Figures::from_iter([("longStepRatio".to_owned(), json!(ratio)), ("longStep".to_owned(), details)]))
}

async fn alternate(programs: &Programs, script: &str, runs: usize) -> anyhow::Result<Times> {
    let mut fixture = DeploymentFixture::start("bench-container", programs).await?;
    let containers = Containers::start().await;
    let measured = match &containers {
        Ok(containers) => with_runner(&mut fixture, containers, script, runs).await,
        Err(error) => Err(anyhow::anyhow!("{error:#}")),
    };
    fixture.end().await?;
    if let Ok(containers) = containers {
        containers.end().await?;
    }
    measured
}

async fn with_runner(
    fixture: &mut DeploymentFixture,
    containers: &Containers,
    script: &str,
    runs: usize,
) -> anyhow::Result<Times> {
    let step = format!("- image: {IMAGE}\n        run: {script}");
    fixture.make_pipeline(&format!("stages:\n  {STAGE}:\n    steps:\n      {step}\n")).await?;
    fixture.start_runner(Kind::Container(containers), 1).await?;
    let workspace = fixture.folder.join("podman-workspace");
    std::fs::create_dir_all(&workspace)?;
    if runs > 3 {
        for _ in 0..WARM_UP {
            podman::run(containers, &workspace, script).await?;
            stage(fixture, 0).await?;
        }
    }
    let mut times = Times::default();
    for number in 1..=runs {
        let podman = podman::run(containers, &workspace, script).await?;
        let ours = stage(fixture, number).await?;
        print_progress(&format!("run {number}: {:.0} ms, podman run {:.0} ms", ours * 1e3, podman * 1e3));
        times.ours.push(ours);
        times.podman.push(podman);
    }
    Ok(times)
}

/// Returns the seconds from when the stage was queued until it ended.
async fn stage(fixture: &DeploymentFixture, number: usize) -> anyhow::Result<f64> {
    let deployment = fixture.deploy(&commit(number)).await?;
    let ended = time(&fixture.succeeded(&deployment, TIMEOUT).await?["stages"][0]["endedAt"])?;
    let attempts = fixture.read(&deployment, &format!("/stages/{STAGE}/attempts")).await?;
    Ok(ended.duration_since(time(&attempts[0]["queuedAt"])?).as_secs_f64())
}

pub(crate) fn time(value: &Value) -> anyhow::Result<Timestamp> {
    value.as_str().and_then(|text| text.parse().ok()).with_context(|| format!("{value} is no time"))
}

impl Times {
    fn pairs(&self) -> impl Iterator<Item = (f64, f64)> {
        self.ours.iter().copied().zip(self.podman.iter().copied())
    }

    fn millis(seconds: &[f64]) -> Vec<f64> {
        seconds.iter().map(|seconds| (seconds * 1e4).round() / 10.0).collect()
    }
}
