//! Runs the store's sweeper: leases end and turns come when the clock says so; this writes it down and tells it.

use std::time::Duration;

use greenroom_store::{Store, within_patience};
use tokio_util::sync::CancellationToken;

const EVERY: Duration = Duration::from_millis(500);
const BATCH: i64 = 500;

/// Runs until it is told to stop.
pub async fn run(store: Store, stop: CancellationToken) {
    loop {
        let found = match within_patience(store.due_environments(BATCH)).await {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "environments were not swept; trying again"
                );
                Vec::new()
            }
        };
        for due in &found {
            // One that can't be swept now must not keep the others from it.
            if let Err(error) = within_patience(store.sweep_environment(*due)).await {
                tracing::warn!(error = &error as &dyn std::error::Error, environment = %due.environment_id, "not swept");
            }
        }
        metrics::counter!("greenroom_environments_swept_total").increment(found.len() as u64);
        let more = found.len() as i64 >= BATCH;
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(if more { Duration::ZERO } else { EVERY }) => {}
        }
    }
}
