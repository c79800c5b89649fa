//! Scenarios: deployments from end to end, through server, Temporal, worker, runners and git, as defined in
//! `e2e/scenarios`. Their format is documented in `e2e/scenarios/README.md`.

mod approvals;
mod attacks;
mod calls;
mod compare;
mod fill;
mod fixture;
mod follow;
mod log;
mod nowhere;
mod options;
pub(crate) mod parts;
pub(crate) mod people;
mod play;
mod private_git;
mod production;
mod report;
mod repository;
mod runner_settings;
pub(crate) mod s3;
mod scenario;
mod script;
mod secrets;
pub(crate) mod services;
mod stage_folder;
pub(crate) mod step;
mod target;
mod watch;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::parts::deadline::Deadline;
use crate::parts::interruption::Interruption;
use crate::parts::output::print_progress;
pub(crate) use crate::scenarios::options::Scenarios;
use crate::scenarios::parts::Parts;
use crate::scenarios::report::{Outcome, Report};
use crate::scenarios::scenario::Scenario;

/// A scenario that takes longer than this hangs.
const SCENARIO_TIMEOUT: Duration = Duration::from_secs(15 * 60);

pub(crate) async fn run(options: Scenarios) -> anyhow::Result<ExitCode> {
    match campaign(&options).await {
        Ok(report) => {
            report.print(options.json)?;
            Ok(report.exit_code())
        }
        // A campaign that could not be carried out must not be taken for one that found failures.
        Err(error) => {
            print_progress(&format!("{error:#}"));
            Ok(ExitCode::from(2))
        }
    }
}

async fn campaign(options: &Scenarios) -> anyhow::Result<Report> {
    let chosen = chosen(options)?;
    let mut report = Report::begin();
    let (skipped, selected): (Vec<_>, Vec<_>) =
        chosen.into_iter().partition(|scenario| skip_reason(scenario, options).is_some());
    for scenario in skipped {
        let why = skip_reason(&scenario, options).unwrap_or_default();
        report.add(Outcome::pending(&scenario.name, why));
    }
    if selected.is_empty() {
        return Ok(report);
    }
    let containers = selected.iter().any(|scenario| scenario.script.needs_containers());
    let registry = selected.iter().any(|scenario| scenario.script.registry);
    let (mut interruption, started) = (Interruption::listen()?, Instant::now());
    let parts = Arc::new(Parts::start_with(options, containers, registry).await?);
    print_progress(&format!("everything runs after {:.1} s", started.elapsed().as_secs_f64()));
    let result = interruption.or(play_all(&parts, selected, options, &mut report)).await;
    if !report.failed().is_empty() {
        parts.print_recent_errors().await;
    }
    wait_until_unused(parts).await?.end(options.keep).await?;
    result.map(|()| report)
}

/// Returns the parts when no scenario uses them any more: aborted scenarios need a moment to drop them.
async fn wait_until_unused(mut parts: Arc<Parts>) -> anyhow::Result<Parts> {
    let deadline = Deadline::in_seconds(10);
    loop {
        match Arc::try_unwrap(parts) {
            Ok(parts) => return Ok(parts),
            Err(held) => parts = held,
        }
        deadline.wait(|| "a scenario still uses the stack".to_owned()).await?;
    }
}

async fn play_all(
    parts: &Arc<Parts>,
    scenarios: Vec<Scenario>,
    options: &Scenarios,
    report: &mut Report,
) -> anyhow::Result<()> {
    // Scenarios that take parts down run last, one at a time.
    let (alone, beside): (Vec<_>, Vec<_>) = scenarios.into_iter().partition(|scenario| scenario.script.alone);
    play_some(parts, &beside, (options.parallel, options.repeat), report).await?;
    play_some(parts, &alone, (1, options.repeat), report).await
}

async fn play_some(
    parts: &Arc<Parts>,
    scenarios: &[Scenario],
    (parallel, rounds): (u32, u32),
    report: &mut Report,
) -> anyhow::Result<()> {
    let slots = Arc::new(Semaphore::new(parallel as usize));
    let mut running = JoinSet::new();
    for round in 1..=rounds {
        for scenario in scenarios {
            let (scenario, parts, slots) = (scenario.clone(), Arc::clone(parts), Arc::clone(&slots));
            running.spawn(async move {
                let _slot = slots.acquire_owned().await;
                let started = Instant::now();
                let result =
                    tokio::time::timeout(SCENARIO_TIMEOUT, Box::pin(play::play(&parts, &scenario, round)))
                        .await;
                let result = result
                    .unwrap_or_else(|_| Err(anyhow::anyhow!("it had not ended after {SCENARIO_TIMEOUT:?}")));
                Outcome::finished(&scenario.name, started.elapsed(), result)
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
        bail!("no scenario in {} is named {}", options.folder.display(), options.names.join(" or "));
    }
    Ok(all)
}

/// Returns the reason if the scenario is not run.
fn skip_reason(scenario: &Scenario, options: &Scenarios) -> Option<String> {
    if options.without_containers && scenario.script.needs_containers() {
        return Some("it needs containers, and --without-containers was given".to_owned());
    }
    scenario.script.pending.clone().filter(|_| !options.pending)
}
