//! Counts operations, measures their rate, and prints progress.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::fault::history::Outcome;
use crate::parts::output::print_progress;
use crate::parts::stalls::{StallDetector, Stalls};

#[derive(Debug, Default)]
pub(crate) struct Progress {
    numbers: AtomicU64,
    pub(crate) ok: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) unknown: AtomicU64,
    pub(crate) faults: AtomicU64,
    pub(crate) violations: AtomicU64,
    /// The number of successful requests of each server.
    pub(crate) ok_by_server: Vec<AtomicU64>,
    samples: Mutex<VecDeque<(Instant, u64)>>,
}

impl Progress {
    pub(crate) fn new(servers: usize) -> Self {
        Self { ok_by_server: (0..servers).map(|_| AtomicU64::new(0)).collect(), ..Self::default() }
    }

    /// Returns a number that no other operation of the campaign has.
    pub(crate) fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(crate) fn count(&self, server: usize, outcome: &Outcome) {
        let counter = match outcome {
            Outcome::Ok(_) => {
                self.ok_by_server[server].fetch_add(1, Ordering::Relaxed);
                &self.ok
            }
            Outcome::Refused(_) => &self.refused,
            Outcome::Unknown(_) => &self.unknown,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn ops(&self) -> u64 {
        self.responses() + self.unknown.load(Ordering::Relaxed)
    }

    fn responses(&self) -> u64 {
        self.ok.load(Ordering::Relaxed) + self.refused.load(Ordering::Relaxed)
    }

    /// Returns the responses per second in the most recent interval, without the time in which the machine stood
    /// still.
    pub(crate) fn rate(&self, window: Duration, stalls: &Stalls) -> f64 {
        let samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        let since = Instant::now().checked_sub(window);
        let first = samples.iter().find(|(at, _)| since.is_none_or(|since| *at >= since));
        let Some((at, before)) = first else { return 0.0 };
        let now = Instant::now();
        let seconds = (now - *at).saturating_sub(stalls.within(*at, now)).as_secs_f64();
        if seconds < 0.1 { 0.0 } else { (self.responses() - before) as f64 / seconds }
    }

    /// Resets the measured rate at the start of a round.
    pub(crate) fn reset_rate(&self) {
        self.samples.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Takes samples and prints a line every few seconds, until it is dropped.
    pub(crate) async fn report(&self, stalls: &StallDetector) {
        for turn in 1_u64.. {
            tokio::time::sleep(Duration::from_millis(250)).await;
            {
                let mut samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
                samples.push_back((Instant::now(), self.responses()));
                if samples.len() > 60 {
                    samples.pop_front();
                }
            }
            if turn.is_multiple_of(20) {
                let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
                print_progress(&format!(
                    "{} ops ({:.0}/s, {} unknown), {} faults, {} violations",
                    self.ops(),
                    self.rate(Duration::from_secs(5), &stalls.stalls()),
                    load(&self.unknown),
                    load(&self.faults),
                    load(&self.violations),
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stalled_time_does_not_lower_the_rate() {
        let progress = Progress::new(1);
        let began = Instant::now().checked_sub(Duration::from_secs(3)).unwrap();
        progress.samples.lock().unwrap().push_back((began, 0));
        progress.ok.store(300, Ordering::Relaxed);
        let rate = |stalls: &Stalls| progress.rate(Duration::from_secs(10), stalls).round();
        assert!((99.0..=100.0).contains(&rate(&Stalls::default())), "{}", rate(&Stalls::default()));
        let stalled = Stalls::at(&[(began, Duration::from_secs(2))]);
        assert!((290.0..=300.0).contains(&rate(&stalled)), "{}", rate(&stalled));
    }
}
