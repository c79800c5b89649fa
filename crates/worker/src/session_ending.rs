//! Ends sessions that a concurrent grant created although the member may no longer hold any, or although the
//! pipeline was archived.

use std::time::Duration;

use greenroom_store::{Store, with_db_timeout};
use tokio_util::sync::CancellationToken;

const POLL_INTERVAL: Duration = Duration::from_secs(1);
const BATCH_SIZE: i64 = 200;

/// Runs until shutdown.
pub async fn run(store: Store, stop: CancellationToken) {
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(POLL_INTERVAL) => {}
        }
        let endings = match with_db_timeout(store.session_endings(BATCH_SIZE)).await {
            Ok(endings) => endings,
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "could not list sessions that have to end; retrying"
                );
                continue;
            }
        };
        for ending in &endings {
            // One failure must not block the other sessions.
            match with_db_timeout(store.repeat_session_ending(ending)).await {
                Ok(0) => {}
                Ok(ended) => {
                    metrics::counter!("greenroom_sessions_ended_late_total").increment(ended as u64);
                }
                Err(error) => tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    organization = %ending.organization_id,
                    "could not end sessions; retrying"
                ),
            }
        }
    }
}
