//! Stopping a runner.

use tokio_util::sync::CancellationToken;

/// The ways to stop a runner.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    /// Acquire no more jobs; running ones may continue for the drain time.
    pub drain: CancellationToken,
    /// Terminate running jobs now.
    pub now: CancellationToken,
    /// The runner's token was revoked: its jobs are killed, and nothing is reported.
    pub revoked: CancellationToken,
}
