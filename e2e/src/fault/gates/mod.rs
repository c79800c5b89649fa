//! `fault gates`: the campaign against what may keep a stage from beginning. The first part is about lasting environments:
//! their work slots, their order, holds and freezes. The second part is about approvals.

mod approvals;
mod check;
mod client;
mod definition;
mod fixture;
mod history;
mod journal;
mod ledger;
mod options;
mod report;

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
use crate::fault::deployments::check as deployment_check;
use crate::fault::deployments::client::http::Http;
use crate::fault::deployments::fault_driver::{DriverResult, FaultDriver, find_dead};
use crate::fault::deployments::faults::Fault;
use crate::fault::deployments::inject::Injector;
use crate::fault::deployments::ledger::Ledger;
use crate::fault::deployments::load::Load;
use crate::fault::deployments::stack::Stack;
use crate::fault::deployments::{panics, settle};
use crate::fault::fault_schedule::fault_schedule;
use crate::fault::finding::Finding;
use crate::fault::gates::approvals::{JudgedVotes, Votes};
use crate::fault::gates::check::Evidence;
use crate::fault::gates::client::{Client, Shared};
use crate::fault::gates::fixture::GateFixture;
use crate::fault::gates::history::History;
use crate::fault::gates::journal::{Journal, Line};
use crate::fault::gates::ledger::GateLedger;
pub(crate) use crate::fault::gates::options::Gates;
use crate::fault::gates::report::Report;
use crate::parts::interruption::Interruption;
use crate::parts::output::print_progress;
use crate::parts::stalls::StallDetector;

const DEVELOPERS: usize = 6;
const FAULTS: [Fault; 5] =
    [Fault::KillRunner, Fault::KillServer, Fault::KillWorker, Fault::KillTemporal, Fault::KillPostgres];
const MAX_RUNNER_DOWNTIME_MILLIS: u64 = 3_000;
const DEPLOYMENTS_PER_ROLLBACK: u64 = 8;

pub(crate) async fn run(options: Gates) -> anyhow::Result<ExitCode> {
    let campaign_options = &options.campaign;
    let seed = campaign_options.seed.unwrap_or_else(|| rand::random_range(0..1_000_000));
    if options.faults > 0 && fault_kinds(&campaign_options.only).is_empty() {
        bail!("there is no fault named {}; there are {FAULTS:?}", campaign_options.only.join(" or "));
    }
    print_progress(&format!("starting PostgreSQL, Temporal, servers, workers (seed {seed})"));
    let mut stack = Box::pin(Stack::start(campaign_options, "fault-gates", None)).await?;
    let report = Interruption::listen()?.or(Box::pin(campaign(&mut stack, &options, seed))).await;
    if campaign_options.keep {
        print_progress(&format!("kept: {}", stack.folder.path.display()));
    }
    stack.end().await?;
    report?.finish(campaign_options.json)
}

fn fault_kinds(only: &[String]) -> Vec<Fault> {
    Fault::named(only).into_iter().filter(|fault| FAULTS.contains(fault)).collect()
}

async fn campaign(stack: &mut Stack, options: &Gates, seed: u64) -> anyhow::Result<Report> {
    let (clock, stalls) = (Clock::start(), StallDetector::start()?);
    let journal = Journal { path: stack.folder.path.join("journal"), clock };
    let run = format!("{}-{seed}", std::process::id());
    let fixture = GateFixture::make(stack, DEVELOPERS, (&journal.path, &run)).await?;
    let shared = Arc::new(Shared {
        fixture,
        http: Http::new(stack.base_urls())?,
        load: Load::default(),
        clock,
        database_url: stack.postgres.url(),
        history: Mutex::default(),
    });
    let mark = format!("{}={run}", definition::MARK);
    let mut injector = Injector {
        rng: StdRng::seed_from_u64(seed),
        mark: mark.clone(),
        max_runner_downtime: MAX_RUNNER_DOWNTIME_MILLIS,
    };
    let started = Instant::now();
    let organization = &shared.fixture.organization;
    let (mut result, mut waiting) = (DriverResult::default(), settle::Waiting::new());
    if options.deployments > 0 {
        let run = run_deployments(stack, options, (&shared, &journal), (&mut injector, seed), &stalls);
        (result, waiting) = Box::pin(run).await?;
    }
    let mut votes = None;
    if options.approvals > 0 {
        let files = (journal.path.as_path(), run.as_str());
        votes = Some(Box::pin(Votes::run(stack, organization, options, files, &mut injector)).await?);
        waiting.extend(settle::settle(stack, organization).await?);
    }
    let mut report = Report {
        seed,
        planted: options.campaign.planted.clone(),
        deployments: shared.load.settled(),
        has_deployments: options.deployments > 0,
        ..Report::default()
    };
    report.found.add(settle::left_over(&mark).await);
    report.found.add(find_dead(stack).map(|text| Finding::new("D10", text)).into_iter().collect());
    report.found.add(panics(stack));
    let ledger = Ledger::read(&stack.postgres.url(), organization.id).await?;
    let gates = GateLedger::read(stack, organization).await?;
    {
        let (history, lines) = (shared.history(), journal.lines());
        let reports = journal::reports(&lines);
        let of_deployments =
            deployment_check::Evidence::new((&history.requests, &[]), &reports, &ledger, &waiting);
        report.found.add(deployment_check::of_any_deployments(&of_deployments));
        report.found.add(check::all(&Evidence::new(&history, &lines, &ledger, &gates)));
        if options.campaign.keep {
            keep(stack, &history, &lines, &ledger, &gates)?;
        }
        report.count(&history, &ledger, &gates, &result);
    }
    if let Some(votes) = votes {
        let JudgedVotes { report: of_votes, findings, evidence } = votes.judge(stack, organization).await?;
        report.found.add(findings);
        report.approvals = Some(of_votes);
        if options.campaign.keep {
            std::fs::write(stack.folder.path.join("judged-votes.txt"), evidence)?;
        }
    }
    let DriverResult { findings, .. } = result;
    report.found.add(findings);
    report.seconds = started.elapsed().as_secs();
    report.stalls = stalls.stalls().figures();
    report.judge(clock.step());
    Ok(report)
}

/// Runs the part with lasting environments.
async fn run_deployments(
    stack: &mut Stack,
    options: &Gates,
    (shared, journal): (&Arc<Shared>, &Journal),
    (injector, seed): (&mut Injector, u64),
    stalls: &StallDetector,
) -> anyhow::Result<(DriverResult, settle::Waiting)> {
    let mut schedule =
        fault_schedule(&fault_kinds(&options.campaign.only), options.faults, &mut injector.rng);
    // The job of a killed runner is lost after half a minute only. In each group it comes first, so that the campaign
    // goes on meanwhile.
    schedule.chunks_mut(FAULTS.len()).for_each(<[Fault]>::sort);
    let mut observers = JoinSet::new();
    observers.spawn(Arc::clone(shared).observe_waiting());
    let mut clients = start_clients(shared, options.deployments, seed);
    let driver = FaultDriver {
        load: &shared.load,
        work: journal,
        clock: journal.clock,
        stalls,
        deployments: options.deployments,
        has_long_work: false,
    };
    let result = driver.run(stack, injector, &schedule).await?;
    while let Some(ended) = clients.join_next().await {
        ended?;
    }
    print_progress("all deployments were requested; waiting until all have ended");
    let waiting = settle::settle(stack, &shared.fixture.organization).await?;
    observers.abort_all();
    Ok((result, waiting))
}

fn start_clients(shared: &Arc<Shared>, deployments: u64, seed: u64) -> JoinSet<()> {
    let mut clients = JoinSet::new();
    let rng = |number: u64| StdRng::seed_from_u64(seed.wrapping_mul(1_000).wrapping_add(number));
    for (number, developer) in shared.fixture.developers.iter().enumerate() {
        let client = Client::new(("deployer", number), developer, shared, rng(number as u64));
        clients.spawn(client.run_deployer());
    }
    let GateFixture { holder, roller, organization, .. } = &shared.fixture;
    clients.spawn(Client::new(("holder", 0), holder, shared, rng(100)).run_holder());
    clients.spawn(Client::new(("freezer", 0), &organization.owner, shared, rng(101)).run_freezer());
    let max_rollbacks = 1 + deployments / DEPLOYMENTS_PER_ROLLBACK;
    clients.spawn(Client::new(("roller", 0), roller, shared, rng(102)).run_roller(max_rollbacks));
    clients
}

/// Writes the judged evidence to files, for the analysis of a finding.
fn keep(
    stack: &Stack,
    history: &History,
    lines: &[Line],
    ledger: &Ledger,
    gates: &GateLedger,
) -> anyhow::Result<()> {
    let path = stack.folder.path.join("judged.txt");
    let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
    writeln!(file, "{history:#?}")?;
    writeln!(file, "{gates:#?}")?;
    ledger.deployments.iter().try_for_each(|row| writeln!(file, "{row:?}"))?;
    ledger.stages.iter().try_for_each(|row| writeln!(file, "{row:?}"))?;
    ledger.jobs.iter().try_for_each(|row| writeln!(file, "{row:?}"))?;
    ledger.steps.iter().try_for_each(|row| writeln!(file, "{row:?}"))?;
    ledger.events.iter().try_for_each(|row| writeln!(file, "{row:?}"))?;
    lines.iter().try_for_each(|line| writeln!(file, "{line:?}"))?;
    Ok(file.flush()?)
}
