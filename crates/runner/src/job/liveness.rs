//! The liveness file, by which a step's entrypoint detects that its runner still holds the lease: it is
//! changed every two seconds, and only while the lease is valid. It is created with the job's folder. An
//! entrypoint starts its program at the first change that it observes, so the file changes more often while a
//! step is being started.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::lease::Lease;
use crate::backend::LIVENESS_FILE;

const INTERVAL: Duration = Duration::from_secs(2);
const STARTUP_INTERVAL: Duration = Duration::from_millis(25);
/// How long the file changes more often after the container engine has started a step. An entrypoint that
/// first reads the file later waits for the next regular change.
const STARTUP_PERIOD: Duration = Duration::from_secs(1);

/// Signals the writer of the file that an entrypoint waits for a change.
#[derive(Debug, Default)]
pub struct StartSignal(Notify);

impl StartSignal {
    pub fn notify(&self) {
        self.0.notify_one();
    }
}

/// Runs until the lease has ended.
pub async fn run(control: &Path, silence: Duration, lease: &Lease, start_signal: &StartSignal) {
    // A short silence timeout needs more frequent changes.
    let interval = INTERVAL.min(silence / 5);
    let mut count: u64 = 0;
    let mut startup_until = Instant::now();
    while lease.is_valid() {
        count += 1;
        match write(control, count, lease).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => tracing::error!(%error, "could not write the liveness file; steps will be killed"),
        }
        let delay = if Instant::now() < startup_until { STARTUP_INTERVAL.min(interval) } else { interval };
        tokio::select! {
            () = tokio::time::sleep(delay) => {}
            () = start_signal.0.notified() => startup_until = Instant::now() + STARTUP_PERIOD,
        }
    }
}

/// Replaces the file by renaming, so that a reader never finds a partial number or no file. The lease is
/// checked right before the change becomes visible, because this process may have been paused until then.
/// Returns `false` if the lease has ended.
async fn write(control: &Path, count: u64, lease: &Lease) -> io::Result<bool> {
    let fresh = control.join("alive.new");
    tokio::fs::write(&fresh, count.to_string()).await?;
    if !lease.is_valid() {
        return Ok(false);
    }
    // Blocking on purpose: another thread could run later, after the lease has ended.
    fs::rename(fresh, control.join(LIVENESS_FILE)).map(|()| true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn no_change_becomes_visible_after_the_lease_has_ended() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(LIVENESS_FILE);
        fs::write(&file, "0").unwrap();
        let now = Instant::now();
        let lease = Lease::received(now, now, Duration::from_secs(60));
        assert!(write(folder.path(), 1, &lease).await.unwrap());
        lease.revoke();
        assert!(!write(folder.path(), 2, &lease).await.unwrap());
        assert_eq!(fs::read_to_string(file).unwrap(), "1");
    }
}
