//! Reads which installation this is, once, and gives the engine its names. Until then no workflow is woken or run: the
//! database may be away, or not migrated yet, when a daemon starts.

use std::time::Duration;

use greenroom_store::{Store, within_patience};
use tokio_util::sync::CancellationToken;

use crate::engine::Engine;

const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Runs until it is known, or until it is told to stop.
pub async fn identify(store: Store, engine: Engine, stop: CancellationToken) {
    loop {
        match within_patience(store.installation()).await {
            Ok(installation) => {
                tracing::info!(%installation, "this is installation {installation}");
                engine.identify(installation);
                return;
            }
            Err(error) => {
                tracing::debug!(
                    error = &error as &dyn std::error::Error,
                    "the installation's id could not be read; trying again"
                );
            }
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(RETRY_INTERVAL) => {}
        }
    }
}
