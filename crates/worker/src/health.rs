//! Watches the database and its schema. Readiness depends on them, liveness does not.

use std::time::Duration;

use greenroom_store::{Reachability, Readiness, Store};
use tokio_util::sync::CancellationToken;

const POLL_INTERVAL: Duration = Duration::from_secs(1);
const QUERY_TIMEOUT: Duration = Duration::from_secs(2);

/// Stores the current readiness and logs every change of it. When the daemon becomes ready or unready, its
/// stores open new connections.
fn record(reachability: &Reachability, stores: &[Store], now: &Readiness) {
    let is_ready = *now == Readiness::Ready;
    metrics::gauge!("greenroom_database_reachable").set(f64::from(u8::from(is_ready)));
    let before = reachability.set(now.clone());
    if is_ready != (before == Readiness::Ready) {
        stores.iter().for_each(Store::replace_pool);
    }
    if before == *now {
        return;
    }
    match now {
        Readiness::Ready => tracing::info!("ready: the database is reachable"),
        Readiness::SchemaMismatch(reason) => tracing::error!("not ready: {reason}"),
        Readiness::Unreachable | Readiness::Starting => {
            tracing::error!("not ready: the database is unreachable");
        }
    }
}

/// Checks the schema every second until shutdown. `store` has a separate connection pool, so that a busy
/// daemon is not mistaken for an unreachable database. All of the daemon's `stores` open new connections when
/// the database goes away and when it comes back.
pub async fn watch(store: Store, stores: Vec<Store>, reachability: Reachability, stop: CancellationToken) {
    let mut newer = Vec::new();
    loop {
        let now = match tokio::time::timeout(QUERY_TIMEOUT, store.schema()).await {
            Ok(Ok(schema)) => {
                if schema.newer != newer {
                    newer.clone_from(&schema.newer);
                    tracing::info!(?newer, "the database has migrations of a newer version");
                }
                schema.problem().map_or(Readiness::Ready, |reason| Readiness::SchemaMismatch(reason.into()))
            }
            Ok(Err(error)) => {
                tracing::debug!(error = &error as &dyn std::error::Error, "the schema check failed");
                Readiness::Unreachable
            }
            Err(_) => Readiness::Unreachable,
        };
        record(&reachability, &stores, &now);
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(POLL_INTERVAL) => {}
        }
    }
}
