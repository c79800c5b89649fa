//! Runs the store's watchdog: deployments that have waited for the engine for over a minute are counted and
//! get another wake-up.

use std::time::Duration;

use greenroom_domain::id::DeploymentId;
use greenroom_engine::Engine;
use greenroom_store::{Store, StoreError, with_db_timeout};
use tokio_util::sync::CancellationToken;

use crate::relay::RelayBell;

/// The delay between two batches of one scan.
const BATCH_INTERVAL: Duration = Duration::from_millis(500);
/// The delay between two scans of all live deployments.
const SCAN_INTERVAL: Duration = Duration::from_secs(5);
const SCAN_BATCH_SIZE: i64 = 1_000;
const WAKE_UP_BATCH_SIZE: i64 = 200;
/// How many deployments are listed in a log line.
const MAX_LOGGED_IDS: usize = 20;

/// Runs until shutdown.
pub async fn run(store: Store, engine: Engine, bell: RelayBell, stop: CancellationToken) {
    let mut cursor = None;
    loop {
        let delay = match scan_batch(&store, &engine, &bell, cursor).await {
            Ok(next) => {
                cursor = next;
                if next.is_some() { BATCH_INTERVAL } else { SCAN_INTERVAL }
            }
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "the watchdog could not read deployments that wait for the engine; retrying"
                );
                SCAN_INTERVAL
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(delay) => {}
        }
    }
}

/// Checks one batch of live deployments. Returns where the next batch begins, or `None` at the end of the
/// scan.
async fn scan_batch(
    store: &Store,
    engine: &Engine,
    bell: &RelayBell,
    cursor: Option<DeploymentId>,
) -> Result<Option<DeploymentId>, StoreError> {
    let batch = with_db_timeout(store.scan_engine_waits(cursor, SCAN_BATCH_SIZE)).await?;
    metrics::gauge!("greenroom_engine_overdue_deployments").set(batch.overdue as f64);
    // While the engine is unreachable, the relay keeps every undelivered wake-up. Another one would be
    // redundant.
    if batch.overdue > 0 && engine.ping().await.is_ok() {
        wake_overdue(store, bell).await?;
    }
    Ok(batch.next)
}

async fn wake_overdue(store: &Store, bell: &RelayBell) -> Result<(), StoreError> {
    let woken = with_db_timeout(store.wake_overdue(WAKE_UP_BATCH_SIZE)).await?;
    if woken.is_empty() {
        return Ok(());
    }
    bell.ring();
    metrics::counter!("greenroom_engine_overdue_wakes_total").increment(woken.len() as u64);
    let ids: Vec<_> = woken.iter().take(MAX_LOGGED_IDS).map(|one| one.deployment_id.to_string()).collect();
    let longest = woken.iter().map(|one| one.waited_seconds).max().unwrap_or_default();
    tracing::warn!(
        woken = woken.len(),
        longest_seconds = longest,
        deployments = ids.join(" "),
        "deployments have waited for the engine for over a minute and got another wake-up"
    );
    Ok(())
}
