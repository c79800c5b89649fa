//! What a runner uses that has nothing to do: it waits for a job, asks again when none came, and that is all.

use std::time::Duration;

use serde_json::json;

use super::runner::Kind;
use super::site::Site;
use super::{BenchDeployments, Figures};
use crate::bench::say;
use crate::parts::machine::{Memory, nanoseconds_on_processor};
use crate::parts::programs::Programs;

/// What it does when it starts is not idling.
const SETTLE: Duration = Duration::from_secs(3);

pub(crate) async fn measure(options: &BenchDeployments, programs: &Programs) -> anyhow::Result<Figures> {
    say("idle: starting a stack and a runner");
    let mut site = Site::start("bench-idle", programs).await?;
    let measured = watch(&mut site, options.idle_seconds).await;
    site.end().await?;
    measured
}

async fn watch(site: &mut Site, seconds: u32) -> anyhow::Result<Figures> {
    site.start_runner(Kind::Process, 1).await?;
    tokio::time::sleep(SETTLE).await;
    let mut micros = Vec::new();
    let parts = [site.runners[0].pid()?, site.server.pid()?, site.worker.pid()?];
    let before = parts.map(nanoseconds_on_processor);
    tokio::time::sleep(Duration::from_secs(seconds.into())).await;
    for (pid, before) in parts.into_iter().zip(before) {
        micros.push((nanoseconds_on_processor(pid)? - before?) as f64 / 1e3 / f64::from(seconds));
    }
    let memory = parts.map(|pid| Memory::of(pid).map(|memory| memory.resident_mib));
    let [runner, server, worker] = memory;
    let runner = runner?;
    say(&format!("idle: a runner uses {:.0} µs of a processor a second, and {runner:.1} MiB", micros[0]));
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
