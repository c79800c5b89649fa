//! `fault deployments`: the campaign against deployments, from the acceptance to the last step's effect.

pub(super) mod check;
pub(super) mod client;
mod commits;
mod definition;
pub(super) mod fault_driver;
pub(super) mod faults;
mod fixture;
mod footprint;
mod heartbeat_only_runner;
pub(super) mod history;
pub(super) mod inject;
pub(super) mod ledger;
pub(super) mod load;
pub(super) mod options;
pub(super) mod organization;
mod report;
mod restore;
pub(super) mod settle;
pub(super) mod stack;
mod steady_load;
pub(super) mod target;
mod upgrade;
pub(super) mod work;

use std::io::Write;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use anyhow::bail;
use rand::SeedableRng;
use rand::rngs::StdRng;
use tokio::task::JoinSet;

use crate::fault::campaign_report::CampaignReport;
use crate::fault::clock::Clock;
use crate::fault::deployments::check::Evidence;
use crate::fault::deployments::client::http::Http;
use crate::fault::deployments::client::{Client, Shared};
use crate::fault::deployments::fault_driver::{DriverResult, FaultDriver, find_dead};
use crate::fault::deployments::faults::Fault;
use crate::fault::deployments::fixture::DeploymentFixture;
use crate::fault::deployments::heartbeat_only_runner::HeartbeatOnlyRunner;
use crate::fault::deployments::history::Request;
use crate::fault::deployments::inject::Injector;
use crate::fault::deployments::ledger::Ledger;
use crate::fault::deployments::load::Load;
pub(crate) use crate::fault::deployments::options::Deployments;
use crate::fault::deployments::report::Report;
use crate::fault::deployments::stack::Stack;
use crate::fault::deployments::target::{Target, TargetReport};
use crate::fault::fault_schedule::fault_schedule;
use crate::fault::finding::Finding;
use crate::parts::interruption::Interruption;
use crate::parts::output::print_progress;
use crate::parts::programs::Programs;
use crate::parts::stalls::StallDetector;

const CLIENTS: usize = 7;
const MAX_RUNNER_DOWNTIME_MILLIS: u64 = 25_000;

/// What happens to the stack while clients deploy.
pub(crate) enum Disturbance {
    Faults,
    /// Its parts are replaced by these programs, which are newer.
    Upgrade(Programs),
    /// It is copied, and the copy is restored beside it.
    Restore,
    /// Nothing, and what the parts need is measured before and afterwards.
    None,
}

pub(crate) async fn run(options: Deployments) -> anyhow::Result<ExitCode> {
    run_with(options, Disturbance::Faults).await
}

pub(crate) async fn run_with(mut options: Deployments, disturbance: Disturbance) -> anyhow::Result<ExitCode> {
    options.campaign.seals = matches!(disturbance, Disturbance::Restore);
    let seed = options.campaign.seed.unwrap_or_else(|| rand::random_range(0..1_000_000));
    let campaign_options = &options.campaign;
    if options.faults > 0 && Fault::named(&campaign_options.only).is_empty() {
        bail!("there is no fault named {}; there are {:?}", campaign_options.only.join(" or "), Fault::ALL);
    }
    print_progress(&format!("starting PostgreSQL, Temporal, servers, workers, podman (seed {seed})"));
    // Rejected requests need a commit each, too.
    let commits = usize::try_from(options.deployments)? * 10 + 600;
    let mut stack = Box::pin(Stack::start(campaign_options, "fault-deployments", Some(commits))).await?;
    let report =
        Interruption::listen()?.or(Box::pin(campaign(&mut stack, (&options, &disturbance), seed))).await;
    if campaign_options.keep {
        print_progress(&format!("kept: {}", stack.folder.path.display()));
    }
    stack.end().await?;
    report?.finish(campaign_options.json)
}

async fn campaign(
    stack: &mut Stack,
    (options, disturbance): (&Deployments, &Disturbance),
    seed: u64,
) -> anyhow::Result<Report> {
    let (clock, stalls) = (Clock::start(), StallDetector::start()?);
    let target = Target::start(clock).await?;
    let run = format!("{}-{seed}", std::process::id());
    // Two more clients, for separate trials.
    let fixture = DeploymentFixture::make(stack, CLIENTS + 2, (&target.url, &run)).await?;
    let http = Http::new(stack.base_urls())?;
    let runner = HeartbeatOnlyRunner::new(stack.base_urls(), &fixture)?;
    let shared = Arc::new(Shared { fixture, http, load: Load::default(), board: Mutex::default() });
    let mark = format!("{}={run}", definition::MARK);
    let mut injector = Injector {
        rng: StdRng::seed_from_u64(seed),
        mark: mark.clone(),
        max_runner_downtime: MAX_RUNNER_DOWNTIME_MILLIS,
    };
    let schedule = fault_schedule(&Fault::named(&options.campaign.only), options.faults, &mut injector.rng);
    let started = Instant::now();
    let idle =
        if matches!(disturbance, Disturbance::None) { Some(footprint::measure(stack).await?) } else { None };
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let rng = StdRng::seed_from_u64(seed.wrapping_mul(1_000).wrapping_add(number as u64));
        clients.spawn(Client::new(number, Arc::clone(&shared), rng).run());
    }
    // Each of these deployments takes more than a minute.
    let runner_trials = 1 + options.deployments / 50;
    let rng = |number: u64| StdRng::seed_from_u64(seed.wrapping_mul(1_000).wrapping_sub(number));
    clients.spawn(Client::new(CLIENTS, Arc::clone(&shared), rng(1)).burst());
    clients.spawn(
        Client::new(CLIENTS + 1, Arc::clone(&shared), rng(2)).deploy_to_heartbeat_only_runner(runner_trials),
    );
    let mut runners = JoinSet::new();
    runners.spawn(runner.run());
    let driver = FaultDriver {
        load: &shared.load,
        work: &target,
        clock,
        stalls: &stalls,
        deployments: options.deployments,
        has_long_work: true,
    };
    let (mut upgraded, mut backup) = (None, None);
    let result = match disturbance {
        Disturbance::Faults => driver.run(stack, &mut injector, &schedule).await?,
        Disturbance::Upgrade(new) => {
            let (result, figures) = upgrade::run(&driver, stack, new).await?;
            upgraded = Some(figures);
            result
        }
        Disturbance::None => footprint::run(&driver).await,
        Disturbance::Restore => {
            restore::prepare(stack, &shared.fixture.organization, (&target.url, &run)).await?;
            let (result, made) = restore::back_up(&driver, stack).await?;
            backup = Some(made);
            result
        }
    };
    let (mut requests, mut foreign_actions) = (Vec::new(), Vec::new());
    while let Some(ended) = clients.join_next().await {
        let history = ended?;
        requests.extend(history.requests);
        foreign_actions.extend(history.foreign_actions);
    }
    print_progress("all deployments were requested; waiting until all have ended");
    let waiting = settle::settle(stack, &shared.fixture.organization).await?;
    let mut report = Report {
        seed,
        planted: options.campaign.planted.clone(),
        deployments: shared.load.settled(),
        ..Report::default()
    };
    report.found.add(settle::left_over(&mark).await);
    report.found.add(find_dead(stack).map(|text| Finding::new("D10", text)).into_iter().collect());
    report.found.add(panics(stack));
    let ledger = Ledger::read(&stack.postgres.url(), shared.fixture.organization.id).await?;
    let reports = target.reports();
    // It has to send heartbeats until here.
    runners.abort_all();
    report.found.add(check::all(&Evidence::new((&requests, &foreign_actions), &reports, &ledger, &waiting)));
    if options.campaign.keep {
        keep(stack, &requests, &ledger, &reports)?;
    }
    if idle.is_some() {
        (report.footprint_before, report.footprint_after) = (idle, Some(footprint::measure(stack).await?));
    }
    if let Some(backup) = backup {
        let (figures, findings) = restore::check(stack, backup).await?;
        report.restore = Some(figures);
        report.found.add(findings);
    }
    report.upgrade = upgraded;
    report.count(&requests, &ledger, &reports, &result);
    let DriverResult { findings, .. } = result;
    report.found.add(findings);
    report.seconds = started.elapsed().as_secs();
    report.stalls = stalls.stalls().figures();
    report.judge(clock.step());
    Ok(report)
}

/// Writes the judged evidence to files, for the analysis of a finding.
fn keep(
    stack: &Stack,
    requests: &[Request],
    ledger: &Ledger,
    reports: &[TargetReport],
) -> anyhow::Result<()> {
    let path = stack.folder.path.join("judged.txt");
    let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
    requests.iter().try_for_each(|request| writeln!(file, "{request:?}"))?;
    ledger.deployments.iter().try_for_each(|row| writeln!(file, "{row:?}"))?;
    ledger.sessions.iter().try_for_each(|row| writeln!(file, "{row:?}"))?;
    ledger.stages.iter().try_for_each(|row| writeln!(file, "{row:?}"))?;
    ledger.jobs.iter().try_for_each(|row| writeln!(file, "{row:?}"))?;
    ledger.steps.iter().try_for_each(|row| writeln!(file, "{row:?}"))?;
    ledger.events.iter().try_for_each(|row| writeln!(file, "{row:?}"))?;
    reports.iter().try_for_each(|report| writeln!(file, "{report:?}"))?;
    Ok(file.flush()?)
}

/// The line that a program logs when one of its threads panics.
pub(super) fn panics(stack: &mut Stack) -> Vec<Finding> {
    let mut logs: Vec<(String, std::path::PathBuf)> =
        stack.runners.iter().map(|proxied| (proxied.runner.name.clone(), proxied.runner.log())).collect();
    logs.extend(stack.parts().map(|part| (part.name.clone(), part.daemon.log().to_owned())));
    let mut findings = Vec::new();
    for (name, log) in logs {
        let text = std::fs::read(log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines = text.lines().filter(|line| line.contains("panicked at"));
        findings.extend(lines.map(|line| Finding::new("internal", format!("{name}: {line}"))));
    }
    findings
}
