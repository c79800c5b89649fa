//! What tests of whole jobs share: a server that stands for Greenroom's, a network that can be bad, and a runner.

pub mod jobs;
pub mod network;
pub mod record;
pub mod running;
pub mod server;

use std::time::Duration;

use tokio::time::Instant;

/// Far more than anything here takes, on a busy machine too.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// Polls until it holds.
pub async fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + DEADLINE;
    while !holds() {
        assert!(Instant::now() < until, "not within {DEADLINE:?}: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
