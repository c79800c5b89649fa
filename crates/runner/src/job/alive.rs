//! The file by which a step's entrypoint sees that its runner is there and may let it run: changed every two seconds, and
//! only while the job is this runner's. It is there from the beginning: the job's folder is made with it. An entrypoint
//! starts its program at the first change that it sees, so the file changes often while a step is being started.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::lease::Lease;
use crate::backend::ALIVE_FILE;

const EVERY: Duration = Duration::from_secs(2);
const EVERY_WHILE_STARTING: Duration = Duration::from_millis(25);
/// How long after the container engine has answered an entrypoint is expected to look at the file for the first time. One
/// that takes longer waits for the next regular change.
const STARTING: Duration = Duration::from_secs(1);

/// Tells the writer of the file that an entrypoint waits for a change.
#[derive(Debug, Default)]
pub struct Starting(Notify);

impl Starting {
    pub fn begin(&self) {
        self.0.notify_one();
    }
}

/// Until the job is no longer this runner's.
pub async fn run(control: &Path, silence: Duration, lease: &Lease, starting: &Starting) {
    // A step that bears little silence is spoken to more often.
    let every = EVERY.min(silence / 5);
    let mut count: u64 = 0;
    let mut often_until = Instant::now();
    while lease.is_valid() {
        count += 1;
        match write(control, count, lease).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => tracing::error!(%error, "the alive file could not be written; steps will end"),
        }
        let pause = if Instant::now() < often_until { EVERY_WHILE_STARTING.min(every) } else { every };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = starting.0.notified() => often_until = Instant::now() + STARTING,
        }
    }
}

/// By renaming, so that nobody ever sees half a number, or none. The lease is checked last, right before the change can be
/// seen: this process may have been paused until now. `false` if the job is no longer this runner's.
async fn write(control: &Path, count: u64, lease: &Lease) -> io::Result<bool> {
    let fresh = control.join("alive.new");
    tokio::fs::write(&fresh, count.to_string()).await?;
    if !lease.is_valid() {
        return Ok(false);
    }
    // Not on another thread, which would start later.
    fs::rename(fresh, control.join(ALIVE_FILE)).map(|()| true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_change_does_not_become_visible_after_the_lease() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(ALIVE_FILE);
        fs::write(&file, "0").unwrap();
        let now = Instant::now();
        let lease = Lease::received(now, now, Duration::from_secs(60));
        assert!(write(folder.path(), 1, &lease).await.unwrap());
        lease.revoke();
        assert!(!write(folder.path(), 2, &lease).await.unwrap());
        assert_eq!(fs::read_to_string(file).unwrap(), "1");
    }
}
