//! The timer for the next call of the store.

use std::future::{pending, ready};
use std::task::{Context, Waker};
use std::time::{Duration, SystemTime};

use greenroom_workflows::internals::{MIN_DELAY, WakeTimer};

fn at(seconds: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

#[test]
fn it_is_replaced_only_if_it_would_fire_too_late() {
    let (mut wake_timer, mut set) = (WakeTimer::default(), Vec::new());
    for due in [at(100), at(200), at(100), at(50), at(70)] {
        wake_timer.set(due, at(0), |wait, cancel| {
            set.push((wait.as_secs(), cancel));
            Box::pin(pending())
        });
    }
    let waits: Vec<_> = set.iter().map(|(wait, cancel)| (*wait, cancel.is_cancelled())).collect();
    assert_eq!(waits, [(100, true), (50, false)]);
}

#[test]
fn a_time_that_has_passed_waits_the_minimum_and_fires_once() {
    let (mut wake_timer, mut cx) = (WakeTimer::default(), Context::from_waker(Waker::noop()));
    wake_timer.set(at(1), at(2), |wait, _| {
        assert_eq!(wait, MIN_DELAY);
        Box::pin(ready(()))
    });
    assert!(wake_timer.poll_fired(&mut cx).is_ready());
    assert!(wake_timer.poll_fired(&mut cx).is_pending());
}
