//! Makes event partitions early, drops those past their retention, forgets old answers, and measures the sequencer's lag.

use std::time::Duration;

use greenroom_store::{Store, StoreError, within_patience};
use tokio_util::sync::CancellationToken;

const EVERY: Duration = Duration::from_secs(60);
const MONTHS_AHEAD: i32 = 3;
const ANSWERS_AT_A_TIME: i64 = 10_000;

pub async fn run(store: Store, event_retention_days: i32, stop: CancellationToken) {
    loop {
        if let Err(error) = once(&store, event_retention_days).await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "housekeeping failed; trying again in a minute"
            );
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(EVERY) => {}
        }
    }
}

pub async fn once(store: &Store, event_retention_days: i32) -> Result<(), StoreError> {
    let made = within_patience(store.ensure_event_partitions(MONTHS_AHEAD)).await?;
    let dropped = within_patience(store.drop_event_partitions(event_retention_days)).await?;
    let mut forgotten = 0;
    loop {
        let some = within_patience(store.forget_old_answers(ANSWERS_AT_A_TIME)).await?;
        forgotten += some;
        if some < ANSWERS_AT_A_TIME.unsigned_abs() {
            break;
        }
    }
    metrics::gauge!("greenroom_sequencer_lag_seconds")
        .set(within_patience(store.sequencer_lag_seconds()).await?);
    if made > 0 || dropped > 0 || forgotten > 0 {
        tracing::info!(
            partitions.made = made,
            partitions.dropped = dropped,
            answers.forgotten = forgotten,
            "housekeeping made {made} and dropped {dropped} event partitions and forgot {forgotten} answers"
        );
    }
    Ok(())
}
