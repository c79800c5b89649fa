//! The baseline of the part `engine`: `greenroom-bare-engine`, on a separate Temporal with the same settings
//! as Greenroom's.

use std::process::Stdio;

use anyhow::{Context, bail};
use serde_json::Value;
use tokio::process::Command;

use super::run::{Run, WARM_UP};
use super::{BenchDeployments, Figures};
use crate::parts::cpu::Cpu;
use crate::parts::programs::Programs;
use crate::scenarios::services::Services;

const PROGRAM: &str = "greenroom-bare-engine";

pub(crate) async fn run(options: &BenchDeployments, programs: &Programs) -> anyhow::Result<Run> {
    let services = Services::start("bench-bare").await?;
    let measured = measure_on(&services, options, programs).await;
    services.end(false).await?;
    measured
}

async fn measure_on(
    services: &Services,
    options: &BenchDeployments,
    programs: &Programs,
) -> anyhow::Result<Run> {
    let program = programs.daemon.with_file_name(PROGRAM);
    let mut command = Command::new(&program);
    command.args(["--address", &services.temporal_address]);
    command.args(["--count", &options.deployments.to_string(), "--clients", &options.clients.to_string()]);
    command.args(["--warm-up", &WARM_UP.to_string()]);
    command.stdin(Stdio::null()).stderr(Stdio::inherit()).kill_on_drop(true);
    let temporal = services.pid("temporal")?;
    let (engine, own) = (Cpu::of_process(temporal)?, Cpu::of_ended_children()?);
    let machine = Cpu::of_machine()?;
    let began = std::time::Instant::now();
    let output =
        command.output().await.with_context(|| format!("{} cannot be started", program.display()))?;
    if !output.status.success() {
        bail!("{PROGRAM} ended with {}", output.status);
    }
    let output_json: Value = serde_json::from_slice(&output.stdout)?;
    let seconds = output_json["seconds"].as_f64().context("the bare engine printed no seconds")?;
    let all = (options.deployments + WARM_UP) as f64;
    let millis = |now: Cpu, before: Cpu| now.since(before).micros() / 1e3;
    let engine = millis(Cpu::of_process(temporal)?, engine);
    // No other child of this process has ended in between.
    let own = millis(Cpu::of_ended_children()?, own);
    let foreign = millis(Cpu::of_machine()?, machine) - engine - own;
    let cpu = [("temporal", engine / all), ("workersAndClient", own / all)];
    Ok(Run {
        per_second: options.deployments as f64 / seconds,
        cpu_millis: Figures::from_iter(cpu.map(|(name, millis)| (name.to_owned(), millis.into()))),
        others_share: Run::share(foreign, began.elapsed()),
    })
}
