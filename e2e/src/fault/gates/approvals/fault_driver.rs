//! Injects faults while people vote.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::board::Board;
use crate::fault::deployments::faults::Fault;
use crate::fault::deployments::inject::Injector;
use crate::fault::deployments::stack::Stack;
use crate::parts::output::print_progress;

/// What is killed while people vote.
pub(crate) const FAULTS: [Fault; 3] = [Fault::KillServer, Fault::KillWorker, Fault::KillPostgres];
/// How long to wait for votes that a fault can hit.
const VOTES_TIMEOUT: Duration = Duration::from_secs(120);
const POLL_INTERVAL: Duration = Duration::from_millis(2);

pub(crate) struct FaultsDuringVotes<'a> {
    pub(crate) board: &'a Board,
    /// How many directors are still at work.
    pub(crate) directors: &'a AtomicUsize,
    /// About how many votes will be stored.
    pub(crate) expected_votes: u64,
}

/// The faults that were injected, and how many of them hit votes on open approvals.
#[derive(Debug, Default)]
pub(crate) struct InjectedFaults {
    pub(crate) faults: Vec<Fault>,
    pub(crate) hits: u64,
}

impl FaultsDuringVotes<'_> {
    /// Injects the faults, spread over the votes. Those that are left when all deployments have ended are not injected.
    pub(crate) async fn run(
        &self,
        stack: &mut Stack,
        injector: &mut Injector,
        schedule: &[Fault],
    ) -> anyhow::Result<InjectedFaults> {
        let mut injected = InjectedFaults::default();
        for (index, fault) in schedule.iter().enumerate() {
            let votes = self.expected_votes * (index as u64 + 1) / (schedule.len() as u64 + 1);
            if !self.wait_for_votes(votes).await {
                break;
            }
            let is_hit = self.board.has_open_votes();
            let (acknowledged, pending) = (self.board.acknowledged(), self.board.pending_count());
            let done = injector.inject(stack, *fault, &[]).await?;
            print_progress(&format!("{done} after {acknowledged} votes, with {pending} open approvals"));
            injected.faults.push(*fault);
            injected.hits += u64::from(is_hit);
        }
        Ok(injected)
    }

    /// Waits until this many votes are stored and others are in flight. Returns false if no more votes will come.
    async fn wait_for_votes(&self, votes: u64) -> bool {
        let started = Instant::now();
        while started.elapsed() < VOTES_TIMEOUT {
            if self.directors.load(Ordering::Relaxed) == 0 {
                return false;
            }
            if self.board.acknowledged() >= votes && self.board.has_open_votes() {
                return true;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        true
    }
}
