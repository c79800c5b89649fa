//! Notifies systemd, if it has started this daemon: that it is ready, that it works, and that it stops.

use std::time::Duration;

use sd_notify::NotifyState;
use tokio_util::sync::CancellationToken;

/// Reports that the daemon has started, and then, twice as often as the unit requires it, that it works.
pub(crate) async fn report(stop: CancellationToken) {
    notify(&[NotifyState::Ready]);
    let Some(interval) = sd_notify::watchdog_enabled() else { return };
    let mut interval = tokio::time::interval((interval / 2).max(Duration::from_millis(100)));
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = interval.tick() => notify(&[NotifyState::Watchdog]),
        }
    }
}

pub(crate) fn report_stopping() {
    notify(&[NotifyState::Stopping]);
}

fn notify(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(error = &error as &dyn std::error::Error, "could not notify systemd");
    }
}
