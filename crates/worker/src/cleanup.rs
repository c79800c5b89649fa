//! Repeats failed teardowns when their retry is due. The store decides whether one may run.

use std::time::Duration;

use greenroom_store::{Store, with_db_timeout};
use tokio_util::sync::CancellationToken;

const POLL_INTERVAL: Duration = Duration::from_secs(5);
const BATCH_SIZE: i64 = 100;

/// Runs until the token is canceled.
pub async fn run(store: Store, stop: CancellationToken) {
    loop {
        match with_db_timeout(store.due_cleanups(BATCH_SIZE)).await {
            Ok(due) => {
                for environment in due {
                    // One failure must not block the other clean-ups.
                    match with_db_timeout(store.repeat_due_cleanup(environment)).await {
                        Ok(true) => metrics::counter!("greenroom_cleanups_repeated_total").increment(1),
                        Ok(false) => {}
                        Err(error) => tracing::warn!(
                            error = &error as &dyn std::error::Error,
                            environment = %environment.environment_id,
                            "could not repeat a clean-up; retrying"
                        ),
                    }
                }
            }
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "could not list due clean-ups; retrying"
                );
            }
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(POLL_INTERVAL) => {}
        }
    }
}
