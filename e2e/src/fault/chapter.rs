//! A chapter of the campaign: clients and faults for some thousand operations, then quiet, then the verdict. A long
//! campaign is many chapters on the same stack, so that neither memory nor the first finding waits for its end.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand::rngs::StdRng;
use tokio::task::JoinSet;

use crate::fault::authority::Authority;
use crate::fault::client::{Client, Shared};
use crate::fault::faults::{Fault, Injector};
use crate::fault::finding::Finding;
use crate::fault::handover::Handovers;
use crate::fault::history::{Barred, Op};
use crate::fault::progress::Progress;
use crate::fault::stack::Stack;
use crate::parts::say::say;

/// How long clients are left alone before a fault: the window in which throughput is measured.
const CALM: Duration = Duration::from_secs(3);
/// Within this time after a fault throughput has to be back.
const RECOVERY: Duration = Duration::from_secs(30);
/// Slower than this is no load in which a fault would show anything.
pub(crate) const LEAST_RATE: f64 = 100.0;

pub(crate) struct Plan {
    pub(crate) ops: u64,
    pub(crate) faults: Vec<Fault>,
    pub(crate) clients: usize,
    pub(crate) seed: u64,
}

pub(crate) struct Told {
    pub(crate) history: Vec<Op>,
    /// When who could not hold anything.
    pub(crate) barred: Vec<Barred>,
    pub(crate) findings: Vec<Finding>,
    /// The lowest throughput right before a fault.
    pub(crate) least_rate: f64,
}

pub(crate) async fn run(
    stack: &mut Stack,
    shared: &Arc<Shared>,
    injector: &mut Injector,
    plan: &Plan,
) -> anyhow::Result<Told> {
    let mut clients = JoinSet::new();
    shared.stop.store(false, Ordering::Relaxed);
    shared.progress.forget_rate();
    shared.board.forget();
    for number in 0..plan.clients {
        let rng = StdRng::seed_from_u64(plan.seed.wrapping_mul(1_000).wrapping_add(number as u64));
        clients.spawn(Client::new(number, Arc::clone(shared), rng).run());
    }
    let mut authorities = JoinSet::new();
    for organization in 0..shared.world.organizations.len() {
        let rng = |salt: u64| {
            StdRng::seed_from_u64(plan.seed.wrapping_mul(1_000).wrapping_sub(salt + organization as u64))
        };
        let operator = (stack.program().to_owned(), stack.postgres.url());
        let (database_url, own) = (operator.1.clone(), Arc::clone(shared));
        authorities.spawn(Authority { organization, shared: own, rng: rng(100), operator }.run());
        if let Some(handovers) = Handovers::new(organization, shared, database_url, rng(200)) {
            clients.spawn(handovers.run());
        }
    }
    let (history, barred, findings) = (Vec::new(), Vec::new(), Vec::new());
    let mut told = Told { history, barred, findings, least_rate: f64::INFINITY };
    let outcome = misfortunes(stack, &shared.progress, injector, plan, &mut told).await;
    shared.stop.store(true, Ordering::Relaxed);
    while let Some(ended) = clients.join_next().await {
        told.history.extend(ended?);
    }
    while let Some(ended) = authorities.join_next().await {
        told.barred.extend(ended??);
    }
    told.findings.append(&mut injector.findings);
    outcome?;
    Ok(told)
}

async fn misfortunes(
    stack: &mut Stack,
    progress: &Progress,
    injector: &mut Injector,
    plan: &Plan,
    told: &mut Told,
) -> anyhow::Result<()> {
    let begun = progress.ops();
    for (index, fault) in plan.faults.iter().enumerate() {
        let mark = begun + plan.ops * (2 * index as u64 + 1) / (2 * plan.faults.len() as u64);
        tokio::time::sleep(CALM).await;
        until(progress, mark).await;
        let rate = progress.rate(CALM);
        told.least_rate = told.least_rate.min(rate);
        let done = injector.inject(stack, *fault).await?;
        progress.faults.fetch_add(1, Ordering::Relaxed);
        let healed = Instant::now();
        let findings = recover(stack, progress, rate).await;
        say(&format!("{done} at {rate:.0} ops/s; back after {:.1?}", healed.elapsed()));
        told.findings
            .extend(findings.into_iter().map(|text| Finding::new("L10", format!("{text} ({done})"))));
    }
    until(progress, begun + plan.ops).await;
    Ok(())
}

async fn until(progress: &Progress, ops: u64) {
    while progress.ops() < ops {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Waits until every server carries out requests again, and all together as many as they should.
async fn recover(stack: &mut Stack, progress: &Progress, rate_before: f64) -> Option<String> {
    // On a machine that was too slow before the fault it is not the fault that keeps it slow; such a run is void anyway.
    let enough = LEAST_RATE.min(rate_before / 2.0);
    let started = Instant::now();
    let before: Vec<u64> = progress.ok_by_server.iter().map(|ok| ok.load(Ordering::Relaxed)).collect();
    loop {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let answers = progress.ok_by_server.iter().zip(&before);
        let all_answer = answers.into_iter().all(|(ok, before)| ok.load(Ordering::Relaxed) > before + 5);
        let rate = progress.rate(Duration::from_secs(1));
        if all_answer && rate >= enough {
            break;
        }
        if started.elapsed() > RECOVERY {
            return Some(format!(
                "{RECOVERY:?} after a fault: {rate:.0} ops/s, all servers answer: {all_answer}"
            ));
        }
    }
    let dead: Vec<String> =
        stack.daemons().filter_map(|daemon| daemon.has_died().then(|| daemon.name.clone())).collect();
    (!dead.is_empty()).then(|| format!("died without being killed: {}", dead.join(", ")))
}
