//! Ends, in the background, sessions of members who may not hold any and of archived pipelines that a concurrent grant made.

use std::time::Duration;

use greenroom_store::{Store, within_patience};
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
        let endings = match within_patience(store.session_endings(BATCH_SIZE)).await {
            Ok(endings) => endings,
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "could not read which sessions have to end; trying again"
                );
                continue;
            }
        };
        for ending in &endings {
            // One that fails must not hold up the others.
            match within_patience(store.follow_session_ending(ending)).await {
                Ok(0) => {}
                Ok(ended) => {
                    metrics::counter!("greenroom_sessions_ended_late_total").increment(ended as u64);
                }
                Err(error) => tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    organization = %ending.organization_id,
                    "could not end sessions; trying again"
                ),
            }
        }
    }
}
