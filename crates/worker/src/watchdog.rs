//! Runs the store's watchdog: deployments that have waited for the engine for over a minute are woken again and counted.

use std::time::Duration;

use greenroom_domain::id::DeploymentId;
use greenroom_store::{Store, StoreError, within_patience};
use tokio_util::sync::CancellationToken;

use crate::engine::Engine;
use crate::relay::RelayBell;

/// Between two looks, if there is more to look at than one look shows.
const PAUSE: Duration = Duration::from_millis(500);
/// Between two rounds through all live deployments.
const ROUND_INTERVAL: Duration = Duration::from_secs(5);
const LOOK_BATCH: i64 = 1_000;
const WAKE_BATCH: i64 = 200;
/// How many are named in a line of the log.
const NAMED: usize = 20;

/// Runs until it is told to stop.
pub async fn run(store: Store, engine: Engine, bell: RelayBell, stop: CancellationToken) {
    let mut at = None;
    loop {
        let pause = match look(&store, &engine, &bell, at).await {
            Ok(next) => {
                at = next;
                if next.is_some() { PAUSE } else { ROUND_INTERVAL }
            }
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "the watchdog could not look for deployments that wait for the engine; trying again"
                );
                ROUND_INTERVAL
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
    }
}

async fn look(
    store: &Store,
    engine: &Engine,
    bell: &RelayBell,
    at: Option<DeploymentId>,
) -> Result<Option<DeploymentId>, StoreError> {
    let looked = within_patience(store.look_for_engine_waits(at, LOOK_BATCH)).await?;
    metrics::gauge!("greenroom_engine_overdue_deployments").set(looked.overdue as f64);
    // While the engine is away the relay keeps every wake-up, and more of them would change nothing.
    if looked.overdue > 0 && engine.ping().await.is_ok() {
        wake(store, bell).await?;
    }
    Ok(looked.next)
}

async fn wake(store: &Store, bell: &RelayBell) -> Result<(), StoreError> {
    let woken = within_patience(store.wake_overdue(WAKE_BATCH)).await?;
    if woken.is_empty() {
        return Ok(());
    }
    bell.ring();
    metrics::counter!("greenroom_engine_overdue_wakes_total").increment(woken.len() as u64);
    let named: Vec<_> = woken.iter().take(NAMED).map(|one| one.deployment_id.to_string()).collect();
    let longest = woken.iter().map(|one| one.waited_seconds).max().unwrap_or_default();
    tracing::warn!(
        woken = woken.len(),
        longest_seconds = longest,
        deployments = named.join(" "),
        "deployments have waited for the engine for over a minute and were woken again"
    );
    Ok(())
}
