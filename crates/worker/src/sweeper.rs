//! Runs the store's sweeper: leases expire and queue turns begin by the clock alone; the sweeper stores these
//! transitions and records their events.
//!
//! Organizations take turns, a few environments are swept concurrently, and one that fails is retried with a
//! growing delay, so that no environment and no organization holds up the others.
//!
//! It also records that it runs. After a time in which no sweeper did, deadlines of presence are extended before
//! anything ends by them.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use greenroom_domain::id::EnvironmentId;
use greenroom_store::system::sweeper::DueEnvironment;
use greenroom_store::{Store, StoreError, with_db_timeout};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

const POLL_INTERVAL: Duration = Duration::from_millis(500);
const RECORD_INTERVAL: Duration = Duration::from_secs(1);
const BATCH_SIZE: i64 = 500;
/// How many environments are swept concurrently.
const CONCURRENCY: usize = 4;
/// Public for the tests in `tests/`.
#[doc(hidden)]
pub const INITIAL_DELAY: Duration = Duration::from_secs(1);
const MAX_DELAY: Duration = Duration::from_secs(60);

/// Runs until shutdown.
pub async fn run(store: Store, stop: CancellationToken) {
    let mut pending: VecDeque<DueEnvironment> = VecDeque::new();
    let mut running = FuturesUnordered::new();
    let mut backoff = Backoff::default();
    let mut next_poll = Instant::now();
    let mut next_record = next_poll;
    loop {
        while running.len() < CONCURRENCY
            && let Some(due) = pending.pop_front()
        {
            let store = &store;
            running.push(async move { (due, with_db_timeout(store.sweep_environment(due)).await) });
        }
        tokio::select! {
            // In this order, so that an absence is recorded before the next sweep, however much is due.
            biased;
            () = stop.cancelled() => return,
            () = tokio::time::sleep_until(next_record) => {
                record(&store).await;
                next_record = Instant::now() + RECORD_INTERVAL;
            }
            Some((due, outcome)) = running.next(), if !running.is_empty() => backoff.record(due, &outcome),
            () = tokio::time::sleep_until(next_poll), if pending.is_empty() => {
                // An environment that is still being swept can be found again; sweeping is idempotent.
                pending = find_due(&store, &backoff.delayed(Instant::now())).await;
                next_poll = Instant::now() + POLL_INTERVAL;
            }
        }
    }
}

async fn record(store: &Store) {
    match with_db_timeout(store.record_sweep()).await {
        Ok(None) => {}
        Ok(Some(absence)) => {
            let seconds = absence.to().duration_since(absence.from()).as_secs();
            tracing::warn!(seconds, "no sweeper ran for a while; extended the deadlines of waiting sessions");
        }
        // The search for due environments logs that the database is unavailable.
        Err(error) => {
            tracing::debug!(error = &error as &dyn std::error::Error, "could not record a sweep");
        }
    }
}

async fn find_due(store: &Store, delayed: &[EnvironmentId]) -> VecDeque<DueEnvironment> {
    match with_db_timeout(store.due_environments(BATCH_SIZE, delayed)).await {
        Ok(found) => found.into(),
        Err(error) => {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "could not list due environments; retrying"
            );
            VecDeque::new()
        }
    }
}

/// Environments that could not be swept, and when each is retried.
/// Public for the tests in `tests/`.
#[doc(hidden)]
#[derive(Default)]
pub struct Backoff(HashMap<EnvironmentId, Delay>);

struct Delay {
    length: Duration,
    until: Instant,
}

impl Backoff {
    pub fn record(&mut self, due: DueEnvironment, outcome: &Result<(), StoreError>) {
        let Err(error) = outcome else {
            metrics::counter!("greenroom_environments_swept_total").increment(1);
            self.0.remove(&due.environment_id);
            return;
        };
        let length = self.fail(due.environment_id, Instant::now());
        metrics::counter!("greenroom_sweeps_failed_total").increment(1);
        tracing::warn!(
            error = error as &dyn std::error::Error,
            environment = %due.environment_id,
            retry_after_seconds = length.as_secs(),
            "could not sweep an environment"
        );
    }

    /// Doubles the delay of this environment and returns it.
    pub fn fail(&mut self, environment: EnvironmentId, now: Instant) -> Duration {
        let length = self.0.get(&environment).map_or(INITIAL_DELAY, |delay| delay.length * 2).min(MAX_DELAY);
        self.0.insert(environment, Delay { length, until: now + length });
        length
    }

    /// Returns the environments that must not be retried yet. Forgets those that have not failed for some
    /// time.
    pub fn delayed(&mut self, now: Instant) -> Vec<EnvironmentId> {
        self.0.retain(|_, delay| now < delay.until + MAX_DELAY);
        self.0.iter().filter(|(_, delay)| now < delay.until).map(|(environment, _)| *environment).collect()
    }
}
