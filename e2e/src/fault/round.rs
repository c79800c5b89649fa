//! A round of the campaign: clients and faults for some thousand operations, then a quiet period, then the
//! checks. A long campaign consists of many rounds on the same stack. This bounds memory, and the first
//! finding does not wait for the end of the campaign.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand::rngs::StdRng;
use tokio::task::JoinSet;

use crate::fault::client::{Client, Shared};
use crate::fault::faults::{Fault, Injector};
use crate::fault::finding::Finding;
use crate::fault::handover::Handovers;
use crate::fault::history::{Barred, Op};
use crate::fault::progress::Progress;
use crate::fault::rights_changer::RightsChanger;
use crate::fault::stack::Stack;
use crate::parts::output::print_progress;
use crate::parts::stalls::StallDetector;

/// How long clients run undisturbed before a fault. Throughput is measured in this window.
const CALM_PERIOD: Duration = Duration::from_secs(3);
/// Throughput has to recover within this time after a fault.
const RECOVERY_TIMEOUT: Duration = Duration::from_secs(30);
/// Operations per second. Below this rate the load is too low for a fault to show anything.
pub(crate) const MIN_RATE: f64 = 100.0;

pub(crate) struct Plan {
    pub(crate) ops: u64,
    pub(crate) faults: Vec<Fault>,
    pub(crate) clients: usize,
    pub(crate) seed: u64,
}

pub(crate) struct RoundResult {
    pub(crate) history: Vec<Op>,
    /// The periods in which members could not hold anything.
    pub(crate) barred: Vec<Barred>,
    pub(crate) findings: Vec<Finding>,
    /// The lowest throughput right before a fault.
    pub(crate) min_rate: f64,
}

pub(crate) async fn run(
    stack: &mut Stack,
    shared: &Arc<Shared>,
    injector: &mut Injector,
    plan: &Plan,
) -> anyhow::Result<RoundResult> {
    let mut clients = JoinSet::new();
    shared.stop.store(false, Ordering::Relaxed);
    shared.progress.reset_rate();
    shared.board.clear();
    for number in 0..plan.clients {
        let rng = StdRng::seed_from_u64(plan.seed.wrapping_mul(1_000).wrapping_add(number as u64));
        clients.spawn(Client::new(number, Arc::clone(shared), rng).run());
    }
    let mut rights_changers = JoinSet::new();
    for organization in 0..shared.fixture.organizations.len() {
        let rng = |salt: u64| {
            StdRng::seed_from_u64(plan.seed.wrapping_mul(1_000).wrapping_sub(salt + organization as u64))
        };
        let operator = (stack.program().to_owned(), stack.postgres.url());
        let (database_url, own) = (operator.1.clone(), Arc::clone(shared));
        rights_changers.spawn(RightsChanger { organization, shared: own, rng: rng(100), operator }.run());
        if let Some(handovers) = Handovers::new(organization, shared, database_url, rng(200)) {
            clients.spawn(handovers.run());
        }
    }
    let (history, barred, findings) = (Vec::new(), Vec::new(), Vec::new());
    let mut result = RoundResult { history, barred, findings, min_rate: f64::INFINITY };
    let outcome = inject_faults(stack, shared, injector, plan, &mut result).await;
    shared.stop.store(true, Ordering::Relaxed);
    while let Some(ended) = clients.join_next().await {
        result.history.extend(ended?);
    }
    while let Some(ended) = rights_changers.join_next().await {
        result.barred.extend(ended??);
    }
    result.findings.append(&mut injector.findings);
    outcome?;
    Ok(result)
}

async fn inject_faults(
    stack: &mut Stack,
    shared: &Shared,
    injector: &mut Injector,
    plan: &Plan,
    result: &mut RoundResult,
) -> anyhow::Result<()> {
    let Shared { progress, stalls, .. } = shared;
    let begun = progress.ops();
    for (index, fault) in plan.faults.iter().enumerate() {
        let mark = begun + plan.ops * (2 * index as u64 + 1) / (2 * plan.faults.len() as u64);
        tokio::time::sleep(CALM_PERIOD).await;
        wait_for_ops(progress, mark).await;
        let rate = progress.rate(CALM_PERIOD, &stalls.stalls());
        result.min_rate = result.min_rate.min(rate);
        let done = injector.inject(stack, *fault).await?;
        progress.faults.fetch_add(1, Ordering::Relaxed);
        let reverted = Instant::now();
        let findings = recover(stack, (progress, stalls), rate).await;
        print_progress(&format!("{done} at {rate:.0} ops/s; back after {:.1?}", reverted.elapsed()));
        result
            .findings
            .extend(findings.into_iter().map(|text| Finding::new("L10", format!("{text} ({done})"))));
    }
    wait_for_ops(progress, begun + plan.ops).await;
    Ok(())
}

async fn wait_for_ops(progress: &Progress, ops: u64) {
    while progress.ops() < ops {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Waits until every server responds again and total throughput has recovered.
async fn recover(
    stack: &mut Stack,
    (progress, stalls): (&Progress, &StallDetector),
    rate_before: f64,
) -> Option<String> {
    // If the machine was already too slow before the fault, the fault is not the cause. Such a run is void
    // anyway.
    let required_rate = MIN_RATE.min(rate_before / 2.0);
    let started = Instant::now();
    let before: Vec<u64> = progress.ok_by_server.iter().map(|ok| ok.load(Ordering::Relaxed)).collect();
    loop {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let responses = progress.ok_by_server.iter().zip(&before);
        let all_respond = responses.into_iter().all(|(ok, before)| ok.load(Ordering::Relaxed) > before + 5);
        let rate = progress.rate(Duration::from_secs(1), &stalls.stalls());
        if all_respond && rate >= required_rate {
            break;
        }
        if stalls.running_since(started) > RECOVERY_TIMEOUT {
            return Some(format!(
                "{RECOVERY_TIMEOUT:?} after a fault: {rate:.0} ops/s, all servers respond: {all_respond}"
            ));
        }
    }
    let dead: Vec<String> =
        stack.daemons().filter_map(|daemon| daemon.has_died().then(|| daemon.name.clone())).collect();
    (!dead.is_empty()).then(|| format!("died without being killed: {}", dead.join(", ")))
}
