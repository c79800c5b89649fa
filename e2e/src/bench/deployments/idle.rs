//! Measures the resources of a runner without jobs, which only polls for a job.

use std::time::Duration;

use serde_json::json;

use super::fixture::DeploymentFixture;
use super::runner::Kind;
use super::{BenchDeployments, Figures};
use crate::bench::print_progress;
use crate::parts::machine::{Memory, nanoseconds_on_processor};
use crate::parts::programs::Programs;

/// The time after the runner's start that is not measured.
const SETTLE_TIME: Duration = Duration::from_secs(3);

pub(crate) async fn measure(options: &BenchDeployments, programs: &Programs) -> anyhow::Result<Figures> {
    print_progress("idle: starting a stack and a runner");
    let mut fixture = DeploymentFixture::start("bench-idle", programs).await?;
    let measured = watch(&mut fixture, options.idle_seconds).await;
    fixture.end().await?;
    measured
}

async fn watch(fixture: &mut DeploymentFixture, seconds: u32) -> anyhow::Result<Figures> {
    fixture.start_runner(Kind::Process, 1).await?;
    tokio::time::sleep(SETTLE_TIME).await;
    let mut micros = Vec::new();
    let parts = [fixture.runners[0].pid()?, fixture.server.pid()?, fixture.worker.pid()?];
    let before = parts.map(nanoseconds_on_processor);
    tokio::time::sleep(Duration::from_secs(seconds.into())).await;
    for (pid, before) in parts.into_iter().zip(before) {
        micros.push((nanoseconds_on_processor(pid)? - before?) as f64 / 1e3 / f64::from(seconds));
    }
    let memory = parts.map(|pid| Memory::of(pid).map(|memory| memory.resident_mib));
    let [runner, server, worker] = memory;
    let runner = runner?;
    print_progress(&format!(
        "idle: a runner uses {:.0} µs of a processor a second, and {runner:.1} MiB",
        micros[0]
    ));
    let details = json!({
        "seconds": seconds,
        "serverCpuMicrosPerSecond": micros[1],
        "workerCpuMicrosPerSecond": micros[2],
        "serverRssMiB": server?,
        "workerRssMiB": worker?,
    });
    Ok(Figures::from_iter([
        ("runnerIdleCpuMicrosPerSecond".to_owned(), json!(micros[0])),
        ("runnerIdleRssMiB".to_owned(), json!(runner)),
        ("idle".to_owned(), details),
    ]))
}
