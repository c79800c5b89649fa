//! Creates event partitions ahead of time, drops those past their retention, deletes old idempotency records,
//! browser sessions, records of exchanged tokens and old failures, removes old logs and artifacts, fails analyses past their
//! deadline, and measures the sequencer's lag.

use std::time::Duration;

use greenroom_store::{Store, StoreError, with_db_timeout};
use tokio_util::sync::CancellationToken;

const INTERVAL: Duration = Duration::from_secs(60);
const MONTHS_AHEAD: i32 = 3;
const IDEMPOTENCY_BATCH_SIZE: i64 = 10_000;
const BROWSER_SESSION_BATCH_SIZE: i64 = 10_000;
const EXCHANGE_BATCH_SIZE: i64 = 10_000;
const FAILURE_BATCH_SIZE: i64 = 10_000;
/// How many analyses are failed in one round; the rest is left for the next round.
const ANALYSIS_BATCH_SIZE: i64 = 1_000;
/// How many deployments are expired in one round; the rest is left for the next round.
const DEPLOYMENT_BATCH_SIZE: i64 = 1_000;

/// Retention periods, in days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    pub events: i32,
    /// For logs and artifacts, counted from the end of their deployment.
    pub logs: i32,
}

/// Runs until shutdown.
pub async fn run(store: Store, retention: Retention, stop: CancellationToken) {
    loop {
        if let Err(error) = run_once(&store, retention).await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "housekeeping failed; retrying in a minute"
            );
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(INTERVAL) => {}
        }
    }
}

pub async fn run_once(store: &Store, retention: Retention) -> Result<(), StoreError> {
    let created = with_db_timeout(store.ensure_event_partitions(MONTHS_AHEAD)).await?;
    let dropped = with_db_timeout(store.drop_event_partitions(retention.events)).await?;
    let mut deleted_records = 0;
    loop {
        let deleted = with_db_timeout(store.delete_expired_responses(IDEMPOTENCY_BATCH_SIZE)).await?;
        deleted_records += deleted;
        if deleted < IDEMPOTENCY_BATCH_SIZE.unsigned_abs() {
            break;
        }
    }
    with_db_timeout(store.delete_expired_browser_sessions(BROWSER_SESSION_BATCH_SIZE)).await?;
    with_db_timeout(store.delete_expired_exchanges(EXCHANGE_BATCH_SIZE)).await?;
    with_db_timeout(store.delete_old_failures(retention.events, FAILURE_BATCH_SIZE)).await?;
    fail_overdue_analyses(store).await?;
    let expired = expire(store, retention.logs).await?;
    metrics::gauge!("greenroom_sequencer_lag_seconds")
        .set(with_db_timeout(store.sequencer_lag_seconds()).await?);
    if created > 0 || dropped > 0 || deleted_records > 0 || expired > 0 {
        tracing::info!(
            partitions.created = created,
            partitions.dropped = dropped,
            idempotency_records.deleted = deleted_records,
            deployments.expired = expired,
            "housekeeping created {created} and dropped {dropped} event partitions, deleted {deleted_records} \
             idempotency records, and removed logs and artifacts of {expired} deployments"
        );
    }
    Ok(())
}

/// Fails analyses that have waited for their evidence until their deadline. Each is a separate transaction.
async fn fail_overdue_analyses(store: &Store) -> Result<(), StoreError> {
    for (organization, analysis) in with_db_timeout(store.overdue_analyses(ANALYSIS_BATCH_SIZE)).await? {
        match with_db_timeout(store.fail_overdue_analysis(organization, analysis)).await {
            Ok(true) => {
                tracing::warn!(%analysis, "an analysis has not ended before its deadline")
            }
            Ok(false) => {}
            // One failure must not block the others.
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    %analysis,
                    "could not fail an overdue analysis; retrying in a minute"
                );
            }
        }
    }
    Ok(())
}

/// Removes logs and artifacts of deployments past their retention. Each deployment is a separate, short
/// transaction, so that concurrent ones are not held up. Returns how many were expired.
async fn expire(store: &Store, days: i32) -> Result<u64, StoreError> {
    let due = with_db_timeout(store.deployments_to_expire(days, DEPLOYMENT_BATCH_SIZE)).await?;
    let mut expired = 0;
    for (organization, deployment) in due {
        match with_db_timeout(store.expire_deployment(organization, deployment, days)).await {
            Ok(was_due) => expired += u64::from(was_due),
            // One failure must not block the other deployments.
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    %deployment,
                    "could not remove logs and artifacts"
                );
            }
        }
    }
    Ok(expired)
}
