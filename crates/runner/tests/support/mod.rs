//! Shared parts of tests of whole jobs: a stand-in for Greenroom's server, an unreliable network, and a
//! runner.

pub mod jobs;
pub mod network;
pub mod record;
pub mod server;
pub mod steps;
pub mod test_runner;

use std::time::Duration;

use tokio::time::Instant;

/// Far more than anything here takes, even on a busy machine.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// Polls until the condition holds.
pub async fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + TIMEOUT;
    while !condition() {
        assert!(Instant::now() < deadline, "not within {TIMEOUT:?}: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
