//! Reads the installation's id once and passes it to the engine, whose names contain it. Until then no
//! workflow is woken up or run: the database may be unreachable, or not migrated yet, when a daemon starts.

use std::time::Duration;

use greenroom_engine::Engine;
use greenroom_store::{Store, with_db_timeout};
use tokio_util::sync::CancellationToken;

const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Retries until the id could be read, or until shutdown.
pub async fn identify(store: Store, engine: Engine, stop: CancellationToken) {
    loop {
        match with_db_timeout(store.installation()).await {
            Ok(installation) => {
                tracing::info!(%installation, "this is installation {installation}");
                engine.identify(installation);
                return;
            }
            Err(error) => {
                tracing::debug!(
                    error = &error as &dyn std::error::Error,
                    "could not read the installation's id; retrying"
                );
            }
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(RETRY_INTERVAL) => {}
        }
    }
}
