//! Finds the moments at which the machine stood still. A thread sleeps for 5 ms again and again, and records whenever
//! it was woken more than 20 ms too late. What is measured at such a moment is a property of the machine, not of the
//! product, so measurements of seconds leave it out.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde::Serialize;

const SLEEP_TIME: Duration = Duration::from_millis(5);
/// Several times what the scheduler of a machine with more work than processors adds to a sleep.
const MIN_STALL: Duration = Duration::from_millis(20);

/// A time in which this process did not run although it was due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stall {
    from: Instant,
    to: Instant,
}

/// The stalls until some moment, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stalls(Vec<Stall>);

/// All stalls of a run, as they appear in its report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StallFigures {
    pub(crate) stalls: usize,
    pub(crate) stalled_millis: u64,
    pub(crate) longest_stall_millis: u64,
}

impl Stalls {
    /// Returns whether something that lasted from one moment to another overlaps a stall.
    pub(crate) fn overlap(&self, from: Instant, to: Instant) -> bool {
        self.0.iter().any(|stall| stall.from <= to && from <= stall.to)
    }

    /// Returns how much of the time between two moments was stalled.
    pub(crate) fn within(&self, from: Instant, to: Instant) -> Duration {
        self.0.iter().map(|stall| stall.to.min(to).saturating_duration_since(stall.from.max(from))).sum()
    }

    pub(crate) fn longest(&self) -> Duration {
        self.0.iter().map(|stall| stall.to - stall.from).max().unwrap_or_default()
    }

    pub(crate) fn figures(&self) -> StallFigures {
        StallFigures {
            stalls: self.0.len(),
            stalled_millis: millis(self.0.iter().map(|stall| stall.to - stall.from).sum()),
            longest_stall_millis: millis(self.longest()),
        }
    }

    /// Records a sleep that began at one moment and ended at another.
    fn record(&mut self, began: Instant, woken: Instant) {
        let due = began + SLEEP_TIME;
        if woken.saturating_duration_since(due) > MIN_STALL {
            self.0.push(Stall { from: due, to: woken });
        }
    }
}

/// Watches for stalls from its start until it is dropped.
#[derive(Debug)]
pub(crate) struct StallDetector {
    recorded: Arc<Mutex<Stalls>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl StallDetector {
    pub(crate) fn start() -> anyhow::Result<Self> {
        let (recorded, stop) = (Arc::<Mutex<Stalls>>::default(), Arc::<AtomicBool>::default());
        let (own_recorded, own_stop) = (Arc::clone(&recorded), Arc::clone(&stop));
        let thread = std::thread::Builder::new().name("stalls".to_owned());
        let thread = thread.spawn(move || {
            while !own_stop.load(Ordering::Relaxed) {
                let began = Instant::now();
                std::thread::park_timeout(SLEEP_TIME);
                own_recorded.lock().unwrap_or_else(PoisonError::into_inner).record(began, Instant::now());
            }
        });
        let thread = thread.context("the thread that watches for stalls can't be started")?;
        Ok(Self { recorded, stop, thread: Some(thread) })
    }

    /// Returns the stalls until now.
    pub(crate) fn stalls(&self) -> Stalls {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns how much time has passed since a moment in which the machine did not stand still. Timeouts that are
    /// judged are compared with it.
    pub(crate) fn running_since(&self, from: Instant) -> Duration {
        let now = Instant::now();
        (now - from).saturating_sub(self.stalls().within(from, now))
    }
}

impl Drop for StallDetector {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
impl Stalls {
    /// Stalls of known times.
    pub(crate) fn at(stalls: &[(Instant, Duration)]) -> Self {
        Self(stalls.iter().map(|(from, length)| Stall { from: *from, to: *from + *length }).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLI: Duration = Duration::from_millis(1);

    #[test]
    fn only_a_late_wake_up_is_a_stall() {
        let (began, mut stalls) = (Instant::now(), Stalls::default());
        stalls.record(began, began + 5 * MILLI);
        stalls.record(began, began + 25 * MILLI);
        assert_eq!(stalls.figures(), StallFigures::default());
        stalls.record(began, began + 26 * MILLI);
        stalls.record(began + 100 * MILLI, began + 405 * MILLI);
        let figures = StallFigures { stalls: 2, stalled_millis: 321, longest_stall_millis: 300 };
        assert_eq!(stalls.figures(), figures);
    }

    #[test]
    fn what_overlaps_a_stall_is_found() {
        let began = Instant::now();
        let stalls = Stalls::at(&[(began + 100 * MILLI, 50 * MILLI)]);
        let overlap = |from: u32, to: u32| stalls.overlap(began + from * MILLI, began + to * MILLI);
        assert!(!overlap(0, 99) && !overlap(151, 200));
        assert!(overlap(90, 110) && overlap(110, 120) && overlap(140, 300) && overlap(0, 500));
    }

    #[test]
    fn only_the_stalled_part_of_a_time_is_left_out() {
        let began = Instant::now();
        let stalls = Stalls::at(&[(began + 100 * MILLI, 50 * MILLI), (began + 200 * MILLI, 50 * MILLI)]);
        let within = |from: u32, to: u32| stalls.within(began + from * MILLI, began + to * MILLI);
        assert_eq!(within(0, 100), Duration::ZERO);
        assert_eq!((within(0, 300), within(120, 220)), (100 * MILLI, 50 * MILLI));
    }

    /// The thread has recorded nothing that lasts longer than it has run, and ends when it is dropped.
    #[test]
    fn the_detector_runs_until_it_is_dropped() {
        let began = Instant::now();
        let detector = StallDetector::start().unwrap();
        let recorded = Arc::clone(&detector.recorded);
        assert!(detector.running_since(began) <= began.elapsed());
        drop(detector);
        assert_eq!(Arc::strong_count(&recorded), 1);
    }
}
