//! Scenarios: deployments from end to end, through server, Temporal, worker, runners and git, as `e2e/scenarios` tells
//! them. What a scenario may say is in `e2e/scenarios/README.md`.

mod answer;
mod compare;
mod fill;
mod follow;
mod log;
mod parts;
mod people;
mod play;
mod report;
mod repository;
mod s3;
mod scenario;
mod script;
pub(crate) mod services;
mod stage_folder;
mod step;
mod target;
mod watch;
mod world;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Args;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::parts::deadline::Deadline;
use crate::parts::say::say;
use crate::scenarios::parts::Parts;
use crate::scenarios::report::{Outcome, Report};
use crate::scenarios::scenario::Scenario;

/// A scenario that takes longer than this hangs.
const LONGEST: Duration = Duration::from_secs(15 * 60);

#[derive(Clone, Debug, Args)]
pub(crate) struct Scenarios {
    /// Only scenarios whose name has this in it; several are possible.
    names: Vec<String>,
    /// Print one JSON object, and nothing else, on standard output.
    #[arg(long)]
    json: bool,
    /// Keep the stack's folder, with logs, data and what the steps have written.
    #[arg(long)]
    keep: bool,
    /// Where greenroomd, greenroom-runner and greenroom-entry are; beside this program if left out.
    #[arg(long)]
    pub(crate) bin_dir: Option<PathBuf>,
    /// The entrypoint, if it is elsewhere.
    #[arg(long)]
    pub(crate) entry: Option<PathBuf>,
    /// How many scenarios at a time.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=16))]
    parallel: u32,
    /// How long the big log is, in MiB.
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub(crate) log_mib: u64,
    /// How long a job stays its runner's after a heartbeat.
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u64).range(6..=600))]
    pub(crate) lease_seconds: u64,
    /// Keep logs, artifacts and caches in a real S3 server instead of a folder.
    #[arg(long)]
    pub(crate) s3: bool,
    /// Leave out what needs containers; it is reported as pending.
    #[arg(long)]
    without_containers: bool,
    /// Run what is marked as pending, too.
    #[arg(long)]
    pending: bool,
    /// Run each so many times.
    #[arg(long, default_value_t = 1)]
    repeat: u32,
    #[arg(long, default_value = "e2e/scenarios", hide = true)]
    folder: PathBuf,
}

pub(crate) async fn run(options: Scenarios) -> anyhow::Result<ExitCode> {
    match campaign(&options).await {
        Ok(report) => {
            report.print(options.json)?;
            Ok(report.exit_code())
        }
        // What could not be carried out must not be taken for something that was found.
        Err(error) => {
            say(&format!("{error:#}"));
            Ok(ExitCode::from(2))
        }
    }
}

async fn campaign(options: &Scenarios) -> anyhow::Result<Report> {
    let chosen = chosen(options)?;
    let mut report = Report::begin();
    let (waiting, playing): (Vec<_>, Vec<_>) =
        chosen.into_iter().partition(|scenario| why_not(scenario, options).is_some());
    for scenario in waiting {
        let why = why_not(&scenario, options).unwrap_or_default();
        report.add(Outcome::pending(&scenario.name, why));
    }
    if playing.is_empty() {
        return Ok(report);
    }
    let containers = playing.iter().any(|scenario| scenario.script.needs_containers());
    let (mut terminate, started) = (signal(SignalKind::terminate())?, Instant::now());
    let parts = Arc::new(Parts::start(options, containers).await?);
    say(&format!("everything runs after {:.1} s", started.elapsed().as_secs_f64()));
    let played = tokio::select! {
        played = play_all(&parts, playing, options, &mut report) => played,
        _ = tokio::signal::ctrl_c() => Err(anyhow::anyhow!("interrupted")),
        _ = terminate.recv() => Err(anyhow::anyhow!("told to end")),
    };
    if !report.failed().is_empty() {
        parts.complaints().await;
    }
    alone(parts).await?.end(options.keep).await?;
    played.map(|()| report)
}

/// The parts for whoever ends them: scenarios that were broken off need a moment to let go of them.
async fn alone(mut parts: Arc<Parts>) -> anyhow::Result<Parts> {
    let deadline = Deadline::in_seconds(10);
    loop {
        match Arc::try_unwrap(parts) {
            Ok(parts) => return Ok(parts),
            Err(held) => parts = held,
        }
        deadline.again(|| "a scenario does not let go of the stack".to_owned()).await?;
    }
}

async fn play_all(
    parts: &Arc<Parts>,
    scenarios: Vec<Scenario>,
    options: &Scenarios,
    report: &mut Report,
) -> anyhow::Result<()> {
    // Those that take parts down come last, one at a time.
    let (alone, beside): (Vec<_>, Vec<_>) = scenarios.into_iter().partition(|scenario| scenario.script.alone);
    play_some(parts, &beside, (options.parallel, options.repeat), report).await?;
    play_some(parts, &alone, (1, options.repeat), report).await
}

async fn play_some(
    parts: &Arc<Parts>,
    scenarios: &[Scenario],
    (at_once, rounds): (u32, u32),
    report: &mut Report,
) -> anyhow::Result<()> {
    let room = Arc::new(Semaphore::new(at_once as usize));
    let mut running = JoinSet::new();
    for round in 1..=rounds {
        for scenario in scenarios {
            let (scenario, parts, room) = (scenario.clone(), Arc::clone(parts), Arc::clone(&room));
            running.spawn(async move {
                let _place = room.acquire_owned().await;
                let started = Instant::now();
                let played =
                    tokio::time::timeout(LONGEST, Box::pin(play::play(&parts, &scenario, round))).await;
                let played =
                    played.unwrap_or_else(|_| Err(anyhow::anyhow!("it had not ended after {LONGEST:?}")));
                Outcome::played(&scenario.name, started.elapsed(), played)
            });
        }
    }
    while let Some(outcome) = running.join_next().await {
        report.add(outcome.context("a scenario broke the harness")?);
    }
    Ok(())
}

fn chosen(options: &Scenarios) -> anyhow::Result<Vec<Scenario>> {
    let mut all = scenario::read_all(&options.folder)?;
    if !options.names.is_empty() {
        all.retain(|scenario| options.names.iter().any(|name| scenario.name.contains(name.as_str())));
    }
    if all.is_empty() {
        bail!("no scenario in {} is called {}", options.folder.display(), options.names.join(" or "));
    }
    Ok(all)
}

/// Why it is not run, if so.
fn why_not(scenario: &Scenario, options: &Scenarios) -> Option<String> {
    if options.without_containers && scenario.script.needs_containers() {
        return Some("it needs containers, and --without-containers was said".to_owned());
    }
    scenario.script.pending.clone().filter(|_| !options.pending)
}
