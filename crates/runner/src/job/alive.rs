//! The file by which a step's entrypoint sees that its runner is there and may let it run: changed every two seconds, and
//! only while the job is this runner's. It is there from the beginning: the job's folder is made with it.

use std::io;
use std::path::Path;
use std::time::Duration;

use super::lease::Lease;
use crate::backend::ALIVE_FILE;

const EVERY: Duration = Duration::from_secs(2);

/// Until the job is no longer this runner's.
pub async fn run(control: &Path, silence: Duration, lease: &Lease) {
    // A step that bears little silence is spoken to more often.
    let every = EVERY.min(silence / 5);
    let mut count: u64 = 0;
    while lease.is_valid() {
        count += 1;
        if let Err(error) = write(control, count).await {
            tracing::error!(%error, "the alive file could not be written; steps will end");
        }
        tokio::time::sleep(every).await;
    }
}

/// By renaming, so that nobody ever sees half a number, or none.
async fn write(control: &Path, count: u64) -> io::Result<()> {
    let fresh = control.join("alive.new");
    tokio::fs::write(&fresh, count.to_string()).await?;
    tokio::fs::rename(fresh, control.join(ALIVE_FILE)).await
}
