//! The timer of a workflow for its next call of the store.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use temporalio_workflow::WorkflowCancellationToken;

/// The minimum delay, so that a workflow does not loop even if the store always returns a time that has
/// passed.
pub const MIN_DELAY: Duration = Duration::from_millis(100);

pub type TimerFuture<'c> = Pin<Box<dyn Future<Output = ()> + 'c>>;

struct ActiveTimer<'c> {
    due: SystemTime,
    timer: TimerFuture<'c>,
    cancel: WorkflowCancellationToken,
}

/// Starting and canceling a timer adds events to the workflow's history. Therefore a running timer is only
/// replaced if it would fire too late: firing too early only costs one call of the store.
#[derive(Default)]
pub struct WakeTimer<'c>(Option<ActiveTimer<'c>>);

impl<'c> WakeTimer<'c> {
    /// Makes sure that the timer fires at `due` at the latest.
    pub fn set(
        &mut self,
        due: SystemTime,
        now: SystemTime,
        start: impl FnOnce(Duration, WorkflowCancellationToken) -> TimerFuture<'c>,
    ) {
        let due = due.max(now + MIN_DELAY);
        if let Some(set) = &self.0 {
            if set.due <= due {
                return;
            }
            set.cancel.cancel();
        }
        let cancel = WorkflowCancellationToken::new();
        let timer = start(due.duration_since(now).unwrap_or(MIN_DELAY), cancel.clone());
        self.0 = Some(ActiveTimer { due, timer, cancel });
    }

    pub fn poll_fired(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(set) = &mut self.0 else { return Poll::Pending };
        let fired = set.timer.as_mut().poll(cx);
        if fired.is_ready() {
            self.0 = None;
        }
        fired
    }
}
