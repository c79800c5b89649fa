//! Waiting until something is so. Nothing here sleeps for a fixed time and hopes.

use std::time::{Duration, Instant};

use anyhow::bail;

const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Until when to look; and what to do between two looks.
pub(crate) struct Deadline(Instant, u64);

impl Deadline {
    pub(crate) fn in_seconds(seconds: u64) -> Self {
        Self(Instant::now() + Duration::from_secs(seconds), seconds)
    }

    /// Waits a moment; an error if there is no more time, with what is still wrong.
    pub(crate) async fn again(&self, wrong: impl FnOnce() -> String) -> anyhow::Result<()> {
        if Instant::now() >= self.0 {
            bail!("not within {} s: {}", self.1, wrong());
        }
        tokio::time::sleep(LOOK_AGAIN).await;
        Ok(())
    }
}
