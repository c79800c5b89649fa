//! The attacker, a separate process, so that its load does not slow down the client that measures the victim.
//! It runs until SIGTERM, and appends a sample to a file four times a second.

mod held;
mod live;
mod paced;
mod payload;

use std::collections::BTreeMap;
use std::io::Write;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;

use crate::fault::overload::attack::{Attack, Unit};
use crate::fault::overload::attacker::live::Live;
use crate::fault::overload::attacker::payload::Payloads;
use crate::fault::overload::sample::{Plan, Sample};

/// The attacker has its own address, so that it does not share the victim's limits per address.
const SOURCE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
const SAMPLE_INTERVAL: Duration = Duration::from_millis(250);

#[derive(Debug, Args)]
pub(crate) struct Attacker {
    /// The plan, as a JSON file.
    #[arg(long)]
    plan: PathBuf,
}

pub(crate) async fn run(arguments: Attacker) -> anyhow::Result<()> {
    let began = Instant::now();
    let plan: Plan = serde_json::from_slice(&std::fs::read(&arguments.plan)?)?;
    let payloads = Arc::new(Payloads::new(&plan)?);
    let mut samples = std::fs::File::options().create(true).append(true).open(&plan.samples)?;
    let (mut tallies, mut tasks) = (BTreeMap::<Attack, Arc<Live>>::new(), JoinSet::new());
    let ramp_up_time = Duration::from_millis(plan.ramp_up_millis);
    for (attack, size) in &plan.sizes {
        let live = Arc::new(Live::default());
        match attack.unit() {
            Unit::Connections => {
                held::spawn(&mut tasks, *attack, (*size, ramp_up_time), (&payloads, &live));
            }
            Unit::RequestsPerSecond => paced::spawn(&mut tasks, *attack, *size, (&payloads, &live))?,
        }
        tallies.insert(*attack, live);
    }
    let mut terminate = signal(SignalKind::terminate())?;
    let mut ticks = tokio::time::interval(SAMPLE_INTERVAL);
    loop {
        let stop = tokio::select! {
            _ = ticks.tick() => false,
            _ = terminate.recv() => true,
        };
        let at_millis = u64::try_from(began.elapsed().as_millis())?;
        let attacks = tallies.iter().map(|(attack, live)| (*attack, live.tally())).collect();
        let line = serde_json::to_string(&Sample { at_millis, attacks })? + "\n";
        samples.write_all(line.as_bytes())?;
        if stop {
            return Ok(());
        }
    }
}
