//! Makes event partitions early, drops those past their retention, forgets old answers, removes old logs and artifacts, and
//! measures the sequencer's lag.

use std::time::Duration;

use greenroom_store::{Store, StoreError, within_patience};
use tokio_util::sync::CancellationToken;

const EVERY: Duration = Duration::from_secs(60);
const MONTHS_AHEAD: i32 = 3;
const ANSWERS_AT_A_TIME: i64 = 10_000;
/// More are left for the next round.
const DEPLOYMENTS_AT_A_TIME: i64 = 1_000;

/// For how many days things are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    pub events: i32,
    /// Logs and artifacts, from the end of their deployment on.
    pub logs: i32,
}

pub async fn run(store: Store, retention: Retention, stop: CancellationToken) {
    loop {
        if let Err(error) = once(&store, retention).await {
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

pub async fn once(store: &Store, retention: Retention) -> Result<(), StoreError> {
    let made = within_patience(store.ensure_event_partitions(MONTHS_AHEAD)).await?;
    let dropped = within_patience(store.drop_event_partitions(retention.events)).await?;
    let mut forgotten = 0;
    loop {
        let some = within_patience(store.forget_old_answers(ANSWERS_AT_A_TIME)).await?;
        forgotten += some;
        if some < ANSWERS_AT_A_TIME.unsigned_abs() {
            break;
        }
    }
    let expired = expire(store, retention.logs).await?;
    metrics::gauge!("greenroom_sequencer_lag_seconds")
        .set(within_patience(store.sequencer_lag_seconds()).await?);
    if made > 0 || dropped > 0 || forgotten > 0 || expired > 0 {
        tracing::info!(
            partitions.made = made,
            partitions.dropped = dropped,
            answers.forgotten = forgotten,
            deployments.expired = expired,
            "housekeeping made {made} and dropped {dropped} event partitions, forgot {forgotten} answers, and removed logs and \
             artifacts of {expired} deployments"
        );
    }
    Ok(())
}

/// One by one: each is a short transaction, whatever others do at the same time.
async fn expire(store: &Store, days: i32) -> Result<u64, StoreError> {
    let due = within_patience(store.deployments_to_expire(days, DEPLOYMENTS_AT_A_TIME)).await?;
    let mut expired = 0;
    for (organization, deployment) in due {
        match within_patience(store.expire_deployment(organization, deployment, days)).await {
            Ok(was_due) => expired += u64::from(was_due),
            // One that can't be expired now must not keep the others from it.
            Err(error) => {
                tracing::warn!(error = &error as &dyn std::error::Error, %deployment, "its logs were not removed");
            }
        }
    }
    Ok(expired)
}
