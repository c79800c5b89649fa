//! `drill footprint`: what each part needs while nothing happens, before any deployment and after all of them.

use std::time::Duration;

use serde::Serialize;

use crate::fault::deployments::fault_driver::{DriverResult, FaultDriver};
use crate::fault::deployments::stack::Stack;
use crate::fault::deployments::work::Work;
use crate::parts::cpu::Cpu;
use crate::parts::machine::Memory;
use crate::parts::output::print_progress;

const WINDOW: Duration = Duration::from_secs(60);
/// What was started or has ended just before is not idle time.
const REST: Duration = Duration::from_secs(10);

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Footprint {
    part: String,
    resident_mib: f64,
    peak_mib: f64,
    /// In per cent of one processor.
    cpu_percent: f64,
}

/// Opens the load. Nothing else happens.
pub(super) async fn run<W: Work>(driver: &FaultDriver<'_, W>) -> DriverResult {
    let mut result = DriverResult::default();
    driver.load.open(driver.deployments);
    result.findings.extend(driver.wait_for_acceptance().await);
    driver.load.close();
    result
}

pub(super) async fn measure(stack: &mut Stack) -> anyhow::Result<Vec<Footprint>> {
    print_progress(&format!("measuring for {WINDOW:?}"));
    tokio::time::sleep(REST).await;
    let mut pids = Vec::new();
    for part in stack.parts() {
        pids.push((part.name.clone(), part.daemon.pid()?));
    }
    for proxied in &mut stack.runners {
        pids.push((proxied.runner.name.clone(), proxied.runner.program()?.pid()?));
    }
    let before = pids.iter().map(|(_, pid)| Cpu::of_process(*pid)).collect::<anyhow::Result<Vec<_>>>()?;
    tokio::time::sleep(WINDOW).await;
    let footprint = |((part, pid), before): (&(String, u32), &Cpu)| -> anyhow::Result<Footprint> {
        let used = Cpu::of_process(*pid)?.since(*before).micros();
        let Memory { resident_mib, peak_mib } = Memory::of(*pid)?;
        let cpu_percent = used / WINDOW.as_secs_f64() / 10_000.0;
        Ok(Footprint { part: part.clone(), resident_mib, peak_mib, cpu_percent })
    };
    pids.iter().zip(&before).map(footprint).collect()
}
