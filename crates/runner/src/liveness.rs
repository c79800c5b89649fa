//! Reports to the service manager and the container engine that this process works: a file that is written again and again,
//! and systemd's notifications. Without systemd these do nothing.

use std::path::Path;
use std::time::Duration;

use sd_notify::NotifyState;

/// Shorter than half of the unit's `WatchdogSec` and of the image's health check.
const INTERVAL: Duration = Duration::from_secs(10);
const FILE: &str = "alive";

/// Reports that the runner has started, and then that it is alive, until it is dropped.
pub async fn report(work_dir: &Path) {
    notify(&[NotifyState::Ready]);
    let file = work_dir.join(FILE);
    let mut interval = tokio::time::interval(INTERVAL);
    loop {
        interval.tick().await;
        if let Err(error) = std::fs::write(&file, "") {
            tracing::warn!(%error, file = %file.display(), "could not write the file for health checks");
        }
        notify(&[NotifyState::Watchdog]);
    }
}

/// Reports that the runner stops; its jobs may run on for the drain time.
pub fn report_stopping() {
    notify(&[NotifyState::Stopping]);
}

fn notify(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "could not notify systemd");
    }
}
