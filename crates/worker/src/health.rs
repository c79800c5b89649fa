//! Watches the database: readiness follows it, liveness does not.

use std::time::Duration;

use greenroom_store::{Reachability, Store};
use tokio_util::sync::CancellationToken;

const EVERY: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(2);

fn say(reachability: &Reachability, stores: &[Store], reachable: bool) {
    metrics::gauge!("greenroom_database_reachable").set(f64::from(u8::from(reachable)));
    let before = reachability.set(reachable);
    if before != reachable {
        stores.iter().for_each(Store::renew);
    }
    match (before, reachable) {
        (true, false) => tracing::error!("the database does not answer: not ready"),
        (false, true) => tracing::info!("the database answers: ready"),
        _ => {}
    }
}

/// Asks every second, with a pool that requests don't use, so that a busy daemon is not taken for a dead database.
/// All of the daemon's `stores` are given new connections when it goes away and when it comes back.
pub async fn watch(store: Store, stores: Vec<Store>, reachability: Reachability, stop: CancellationToken) {
    let mut migrated = false;
    loop {
        let answer = async {
            // Once migrated stays migrated; only the ping is worth repeating.
            if !migrated {
                migrated = store.is_migrated().await?;
            }
            store.ping().await?;
            Ok::<bool, greenroom_store::StoreError>(migrated)
        };
        let reachable = match tokio::time::timeout(PATIENCE, answer).await {
            Ok(Ok(migrated)) => migrated,
            Ok(Err(error)) => {
                tracing::debug!(
                    error = &error as &dyn std::error::Error,
                    "the database's watcher got an error"
                );
                false
            }
            Err(_) => false,
        };
        say(&reachability, &stores, reachable);
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(EVERY) => {}
        }
    }
}
