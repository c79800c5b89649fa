//! One timer, set to when the store is to be asked again.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use temporalio_workflow::WorkflowCancellationToken;

/// So that a store that always says "at once" can't make a workflow spin.
const SHORTEST: Duration = Duration::from_millis(100);

pub type Ring<'c> = Pin<Box<dyn Future<Output = ()> + 'c>>;

struct Set<'c> {
    due: SystemTime,
    ring: Ring<'c>,
    cancel: WorkflowCancellationToken,
}

/// A timer costs events in the workflow's history, to set and to cancel. So one that is set stays set unless it would
/// ring too late: ringing too early costs one question.
#[derive(Default)]
pub struct Alarm<'c>(Option<Set<'c>>);

impl<'c> Alarm<'c> {
    /// Sees to it that it rings at `due` at the latest.
    pub fn set(
        &mut self,
        due: SystemTime,
        now: SystemTime,
        start: impl FnOnce(Duration, WorkflowCancellationToken) -> Ring<'c>,
    ) {
        let due = due.max(now + SHORTEST);
        if let Some(set) = &self.0 {
            if set.due <= due {
                return;
            }
            set.cancel.cancel();
        }
        let cancel = WorkflowCancellationToken::new();
        let ring = start(due.duration_since(now).unwrap_or(SHORTEST), cancel.clone());
        self.0 = Some(Set { due, ring, cancel });
    }

    pub fn poll_rung(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(set) = &mut self.0 else { return Poll::Pending };
        let rung = set.ring.as_mut().poll(cx);
        if rung.is_ready() {
            self.0 = None;
        }
        rung
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};
    use std::task::Waker;

    use super::*;

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn is_set_anew_only_if_it_would_ring_too_late() {
        let (mut alarm, mut set) = (Alarm::default(), Vec::new());
        for due in [at(100), at(200), at(100), at(50), at(70)] {
            alarm.set(due, at(0), |wait, cancel| {
                set.push((wait.as_secs(), cancel));
                Box::pin(pending())
            });
        }
        let waits: Vec<_> = set.iter().map(|(wait, cancel)| (*wait, cancel.is_cancelled())).collect();
        assert_eq!(waits, [(100, true), (50, false)]);
    }

    #[test]
    fn what_is_due_already_waits_a_little_and_rings_once() {
        let (mut alarm, mut cx) = (Alarm::default(), Context::from_waker(Waker::noop()));
        alarm.set(at(1), at(2), |wait, _| {
            assert_eq!(wait, SHORTEST);
            Box::pin(ready(()))
        });
        assert!(alarm.poll_rung(&mut cx).is_ready());
        assert!(alarm.poll_rung(&mut cx).is_pending());
    }
}
