//! `fault locks`: the campaign against the locks.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rand::SeedableRng;
use rand::rngs::StdRng;

use crate::fault::campaign_report::CampaignReport;
use crate::fault::check::{self, Evidence, People};
use crate::fault::client::http::Http;
use crate::fault::client::{Board, Shared};
use crate::fault::clock::Clock;
use crate::fault::fault_schedule::fault_schedule;
use crate::fault::faults::{Fault, Injector};
use crate::fault::finding::Finding;
use crate::fault::fixture::LockFixture;
use crate::fault::ledger::{Ledger, ReadPosition};
use crate::fault::options::Locks;
use crate::fault::outages;
use crate::fault::progress::Progress;
use crate::fault::report::Report;
use crate::fault::round::{self, Plan, RoundResult};
use crate::fault::settle::settle;
use crate::fault::stack::Stack;
use crate::fault::target::Target;
use crate::parts::interruption::Interruption;
use crate::parts::output::print_progress;
use crate::parts::stalls::StallDetector;

/// Operations per round; fewer if the first finding ends the campaign.
const ROUND_SIZE: u64 = 20_000;
const ROUND_SIZE_UNTIL_FOUND: u64 = 5_000;

pub(crate) async fn run(options: Locks) -> anyhow::Result<ExitCode> {
    let seed = options.seed.unwrap_or_else(|| rand::random_range(0..1_000_000));
    print_progress(&format!(
        "starting PostgreSQL, {} servers and {} workers (seed {seed})",
        options.servers, options.workers
    ));
    let mut stack = Stack::start(&options).await?;
    let report = Interruption::listen()?.or(campaign(&mut stack, &options, seed)).await;
    if options.keep {
        print_progress(&format!("kept: {}", stack.folder.path.display()));
    }
    stack.end().await?;
    report?.finish(options.json)
}

async fn campaign(stack: &mut Stack, options: &Locks, seed: u64) -> anyhow::Result<Report> {
    let (clock, started) = (Clock::start(), Instant::now());
    let mut report = Report { seed, planted: options.planted.clone(), ..Report::default() };
    if options.ops() > 0 {
        Box::pin(clients(stack, options, seed, &mut report)).await?;
    }
    if options.outages > 0 && !(options.until_found && report.has_property_violation()) {
        let stalls = StallDetector::start()?;
        let settings = (options.outages, options.until_found, seed);
        report.outages = Some(outages::run(stack, settings, &stalls, &mut report.found).await?);
        if options.ops() == 0 {
            report.stalls = stalls.stalls().figures();
        }
    }
    report.found.add(panics(stack));
    report.seconds = started.elapsed().as_secs();
    report.judge(clock.step());
    Ok(report)
}

async fn clients(stack: &mut Stack, options: &Locks, seed: u64, report: &mut Report) -> anyhow::Result<()> {
    let fixture = LockFixture::make(stack, options).await?;
    let shared = Arc::new(Shared {
        clock: Clock::start(),
        http: Http::new(stack.servers.iter().map(|server| server.base_url()).collect())?,
        progress: Progress::new(stack.servers.len()),
        board: Board::new(fixture.environments.len()),
        target: Target::new(fixture.environments.len()),
        stop: AtomicBool::new(false),
        stalls: StallDetector::start()?,
        fixture,
    });
    tokio::select! {
        ended = run_rounds(stack, &shared, options, seed, report) => ended,
        () = shared.progress.report(&shared.stalls) => anyhow::bail!("progress reporting ended"),
    }
}

async fn run_rounds(
    stack: &mut Stack,
    shared: &Arc<Shared>,
    options: &Locks,
    seed: u64,
    report: &mut Report,
) -> anyhow::Result<()> {
    let (rng, findings) = (StdRng::seed_from_u64(seed), Vec::new());
    let mut injector = Injector { rng, shared: Arc::clone(shared), findings };
    let schedule = fault_schedule(&Fault::ALL, options.faults, &mut injector.rng);
    let size = if options.until_found { ROUND_SIZE_UNTIL_FOUND } else { ROUND_SIZE };
    let count = options.ops().div_ceil(size).max(1);
    let mut since = ReadPosition::default();
    for round in 0..count {
        let end_of_share = |round: u64| usize::try_from(options.faults * round / count).unwrap_or(usize::MAX);
        let plan = Plan {
            ops: options.ops() / count,
            faults: schedule[end_of_share(round)..end_of_share(round + 1)].to_vec(),
            clients: usize::try_from(options.clients)?,
            seed: seed.wrapping_mul(1_000).wrapping_add(round),
        };
        let result = round::run(stack, shared, &mut injector, &plan).await?;
        if !plan.faults.is_empty() {
            let min = report.min_ops_per_second.unwrap_or(f64::INFINITY);
            report.min_ops_per_second = Some(min.min(result.min_rate).round());
        }
        for fault in &plan.faults {
            *report.faults_by_kind.entry(*fault).or_default() += 1;
        }
        report.found.add(result.findings.clone());
        report.found.add(settle(stack, &shared.fixture, &shared.stalls).await?);
        let ledger = Ledger::read(&stack.postgres.url(), &shared.fixture, &since).await?;
        since = ledger.position();
        let (writes, judged) = (shared.target.take(), Instant::now());
        let LockFixture { maintainers, forcers, .. } = &shared.fixture;
        let people = People { maintainers, forcers, barred: &result.barred };
        let evidence = Evidence::new(&result.history, &writes, &ledger, people);
        report.found.add(check::all(&evidence));
        if options.keep {
            keep(stack, round, &result, &ledger)?;
        }
        report.count_unknown(&result.history);
        report.sessions += ledger.sessions.len();
        report.events += ledger.events.len();
        shared.progress.violations.store(report.found.violations as u64, Ordering::Relaxed);
        print_progress(&format!(
            "round {} of {count}: {} operations and {} sessions judged in {:.1?}, {} violations so far",
            round + 1,
            result.history.len(),
            ledger.sessions.len(),
            judged.elapsed(),
            report.found.violations
        ));
        if options.until_found && report.has_property_violation() {
            break;
        }
    }
    let progress = &shared.progress;
    let load = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
    (report.ok, report.refused, report.unknown) =
        (load(&progress.ok), load(&progress.refused), load(&progress.unknown));
    (report.ops, report.faults) = (progress.ops(), load(&progress.faults));
    report.stalls = shared.stalls.stalls().figures();
    Ok(())
}

/// Writes the judged history to files, for the analysis of a finding.
fn keep(stack: &Stack, round: u64, result: &RoundResult, ledger: &Ledger) -> anyhow::Result<()> {
    let path = stack.folder.path.join(format!("round-{}.txt", round + 1));
    let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
    for op in &result.history {
        writeln!(file, "{op:?}")?;
    }
    for barred in &result.barred {
        writeln!(file, "{barred:?}")?;
    }
    for session in &ledger.sessions {
        writeln!(file, "{session:?}")?;
    }
    for event in &ledger.events {
        writeln!(file, "{event:?}")?;
    }
    Ok(file.flush()?)
}

/// The line that a daemon logs when one of its threads panics.
fn panics(stack: &mut Stack) -> Vec<Finding> {
    let mut findings = Vec::new();
    for daemon in stack.daemons() {
        let log = std::fs::read_to_string(daemon.log()).unwrap_or_default();
        let lines = log.lines().filter(|line| line.contains("panicked at"));
        findings.extend(lines.map(|line| Finding::new("internal", format!("{}: {line}", daemon.name))));
    }
    findings
}
