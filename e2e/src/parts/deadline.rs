//! Waiting for a condition with a deadline, instead of sleeping for a fixed time.

use std::time::{Duration, Instant};

use anyhow::bail;

const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The time until which a condition is polled.
pub(crate) struct Deadline(Instant, u64);

impl Deadline {
    pub(crate) fn in_seconds(seconds: u64) -> Self {
        Self(Instant::now() + Duration::from_secs(seconds), seconds)
    }

    /// Waits for a poll interval. Returns an error with the unmet condition after the deadline.
    pub(crate) async fn wait(&self, wrong: impl FnOnce() -> String) -> anyhow::Result<()> {
        if Instant::now() >= self.0 {
            bail!("not within {} s: {}", self.1, wrong());
        }
        tokio::time::sleep(POLL_INTERVAL).await;
        Ok(())
    }
}
