//! Measures how much work waits in the whole installation. Every worker measures the same numbers.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use greenroom_store::system::backlog::WaitingJobs;
use greenroom_store::{Store, StoreError, with_db_timeout};
use tokio_util::sync::CancellationToken;

const INTERVAL: Duration = Duration::from_secs(15);
/// How many names of pools get their own series in the lifetime of this process. Members choose these names.
const MAX_SERIES: usize = 100;
/// The label of all other pools. No pool can have this name.
const OTHERS: &str = "(others)";
const MAX_POOLS: i64 = 1_000;

/// The labels of all series: the names of pools that have their own, and `OTHERS` once it is used.
#[derive(Debug, Default)]
pub struct PoolSeries(BTreeSet<String>);

/// Runs until shutdown.
pub async fn run(store: Store, stop: CancellationToken) {
    let mut series = PoolSeries::default();
    loop {
        if let Err(error) = run_once(&store, &mut series).await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "could not measure how much work waits; retrying in {} seconds",
                INTERVAL.as_secs()
            );
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(INTERVAL) => {}
        }
    }
}

pub async fn run_once(store: &Store, series: &mut PoolSeries) -> Result<(), StoreError> {
    series.record(with_db_timeout(store.waiting_jobs(MAX_POOLS)).await?);
    let backlog = with_db_timeout(store.backlog()).await?;
    metrics::gauge!("greenroom_sessions_waiting").set(backlog.sessions as f64);
    for (kind, due) in [
        ("wake_ups", backlog.wake_ups),
        ("object_removals", backlog.object_removals),
        ("evidence", backlog.evidence),
        ("fixes", backlog.fixes),
    ] {
        metrics::gauge!("greenroom_deliveries_due", "kind" => kind).set(due as f64);
    }
    Ok(())
}

impl PoolSeries {
    /// Returns for each series how many jobs wait, and for how many seconds the oldest one has waited. A series whose pools
    /// are gone is empty, because it remains.
    pub fn measured(&mut self, pools: Vec<WaitingJobs>) -> BTreeMap<String, (i64, f64)> {
        let mut waiting: BTreeMap<String, (i64, f64)> =
            self.0.iter().map(|label| (label.clone(), (0, 0.0))).collect();
        for WaitingJobs { pool, jobs, oldest_seconds } in pools {
            let has_own = self.0.len() < MAX_SERIES || self.0.contains(&pool);
            let label = if has_own { pool } else { OTHERS.to_owned() };
            self.0.insert(label.clone());
            let (sum, oldest) = waiting.entry(label).or_default();
            *sum += jobs;
            *oldest = oldest.max(oldest_seconds);
        }
        waiting
    }

    fn record(&mut self, pools: Vec<WaitingJobs>) {
        for (pool, (jobs, oldest_seconds)) in self.measured(pools) {
            metrics::gauge!("greenroom_jobs_waiting", "pool" => pool.clone()).set(jobs as f64);
            metrics::gauge!("greenroom_oldest_job_waiting_seconds", "pool" => pool).set(oldest_seconds);
        }
    }
}
