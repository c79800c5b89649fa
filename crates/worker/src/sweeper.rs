//! Runs the store's sweeper: leases end and turns come when the clock says so; this writes it down and tells it.
//!
//! Organizations take turns, a few environments are settled at once, and one that fails is left alone for a growing time, so
//! that no environment and no organization holds up the others.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use greenroom_domain::id::EnvironmentId;
use greenroom_store::system::sweeper::DueEnvironment;
use greenroom_store::{Store, StoreError, within_patience};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

const POLL_INTERVAL: Duration = Duration::from_millis(500);
const BATCH_SIZE: i64 = 500;
/// How many environments are settled at once.
const CONCURRENCY: usize = 4;
const FIRST_DELAY: Duration = Duration::from_secs(1);
const LONGEST_DELAY: Duration = Duration::from_secs(60);

/// Runs until it is told to stop.
pub async fn run(store: Store, stop: CancellationToken) {
    let mut pending: VecDeque<DueEnvironment> = VecDeque::new();
    let mut running = FuturesUnordered::new();
    let mut backoff = Backoff::default();
    let mut next_poll = Instant::now();
    loop {
        while running.len() < CONCURRENCY
            && let Some(due) = pending.pop_front()
        {
            let store = &store;
            running.push(async move { (due, within_patience(store.sweep_environment(due)).await) });
        }
        tokio::select! {
            () = stop.cancelled() => return,
            Some((due, outcome)) = running.next(), if !running.is_empty() => backoff.note(due, &outcome),
            () = tokio::time::sleep_until(next_poll), if pending.is_empty() => {
                // What is still running is found once more; settling it again changes nothing.
                pending = find(&store, &backoff.delayed(Instant::now())).await;
                next_poll = Instant::now() + POLL_INTERVAL;
            }
        }
    }
}

async fn find(store: &Store, delayed: &[EnvironmentId]) -> VecDeque<DueEnvironment> {
    match within_patience(store.due_environments(BATCH_SIZE, delayed)).await {
        Ok(found) => found.into(),
        Err(error) => {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "environments were not swept; trying again"
            );
            VecDeque::new()
        }
    }
}

/// Environments that could not be settled, and when each is tried again.
#[derive(Default)]
struct Backoff(HashMap<EnvironmentId, Delay>);

struct Delay {
    length: Duration,
    until: Instant,
}

impl Backoff {
    fn note(&mut self, due: DueEnvironment, outcome: &Result<(), StoreError>) {
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
            "an environment was not swept"
        );
    }

    /// Doubles the delay of this environment.
    fn fail(&mut self, environment: EnvironmentId, now: Instant) -> Duration {
        let length =
            self.0.get(&environment).map_or(FIRST_DELAY, |delay| delay.length * 2).min(LONGEST_DELAY);
        self.0.insert(environment, Delay { length, until: now + length });
        length
    }

    /// Those that are not to be tried yet. Who has not failed for long is forgotten.
    fn delayed(&mut self, now: Instant) -> Vec<EnvironmentId> {
        self.0.retain(|_, delay| now < delay.until + LONGEST_DELAY);
        self.0.iter().filter(|(_, delay)| now < delay.until).map(|(environment, _)| *environment).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fails_is_left_alone_for_a_growing_time() {
        let (mut backoff, mut now) = (Backoff::default(), Instant::now());
        let failing = EnvironmentId::from(uuid::Uuid::from_u128(1));
        let mut lengths = Vec::new();
        for _ in 0..8 {
            let length = backoff.fail(failing, now);
            lengths.push(length.as_secs());
            assert_eq!(backoff.delayed(now), [failing]);
            now += length;
            assert!(backoff.delayed(now).is_empty(), "its time has come");
        }
        assert_eq!(lengths, [1, 2, 4, 8, 16, 32, 60, 60]);
        let organization_id = uuid::Uuid::from_u128(2).into();
        backoff.note(DueEnvironment { organization_id, environment_id: failing }, &Ok(()));
        assert_eq!(backoff.fail(failing, now), FIRST_DELAY, "a success ends it");
    }
}
