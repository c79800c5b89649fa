//! Ends a run on Ctrl-C or SIGTERM with an error, so that its parts are stopped before the program exits.

use anyhow::anyhow;
use tokio::signal::unix::{Signal, SignalKind, signal};

pub(crate) struct Interruption {
    terminate: Signal,
}

impl Interruption {
    /// From now on SIGTERM does not end the program by itself.
    pub(crate) fn listen() -> anyhow::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())? })
    }

    /// Runs the future to its end, or fails at the first signal.
    pub(crate) async fn or<T>(&mut self, run: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
        tokio::select! {
            result = run => result,
            _ = tokio::signal::ctrl_c() => Err(anyhow!("interrupted")),
            _ = self.terminate.recv() => Err(anyhow!("terminated")),
        }
    }
}
