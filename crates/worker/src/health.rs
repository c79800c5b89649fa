//! Watches the database and its schema: readiness follows them, liveness does not.

use std::time::Duration;

use greenroom_store::{Reachability, Readiness, Store};
use tokio_util::sync::CancellationToken;

const EVERY: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(2);

/// Every change is one line in the log. The daemon's stores get new connections when it becomes ready and when it ceases to be.
fn record(reachability: &Reachability, stores: &[Store], now: &Readiness) {
    let is_ready = *now == Readiness::Ready;
    metrics::gauge!("greenroom_database_reachable").set(f64::from(u8::from(is_ready)));
    let before = reachability.set(now.clone());
    if is_ready != (before == Readiness::Ready) {
        stores.iter().for_each(Store::renew);
    }
    if before == *now {
        return;
    }
    match now {
        Readiness::Ready => tracing::info!("the database answers: ready"),
        Readiness::SchemaMismatch(reason) => tracing::error!("not ready: {reason}"),
        Readiness::Unreachable | Readiness::Starting => {
            tracing::error!("not ready: the database does not answer");
        }
    }
}

/// Compares the schema every second, with a pool that requests don't use, so that a busy daemon is not taken for a dead database.
/// All of the daemon's `stores` are given new connections when it goes away and when it comes back.
pub async fn watch(store: Store, stores: Vec<Store>, reachability: Reachability, stop: CancellationToken) {
    let mut newer = Vec::new();
    loop {
        let now = match tokio::time::timeout(PATIENCE, store.schema()).await {
            Ok(Ok(schema)) => {
                if schema.newer != newer {
                    newer.clone_from(&schema.newer);
                    tracing::info!(?newer, "the database has migrations that only a newer version knows");
                }
                schema.problem().map_or(Readiness::Ready, |reason| Readiness::SchemaMismatch(reason.into()))
            }
            Ok(Err(error)) => {
                tracing::debug!(
                    error = &error as &dyn std::error::Error,
                    "the database's watcher got an error"
                );
                Readiness::Unreachable
            }
            Err(_) => Readiness::Unreachable,
        };
        record(&reachability, &stores, &now);
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(EVERY) => {}
        }
    }
}
