//! The harness's clock: microseconds since 1970, like the database's, and never going back within a run.

use std::fmt;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

pub(crate) type Micros = i64;

pub(crate) const SECOND: Micros = 1_000_000;

/// NTP slews the system clock by less than this in a run of some minutes.
const TOLERATED_STEP: Micros = SECOND / 10;

/// A step of the system clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    micros: Micros,
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the system clock was stepped by {} ms during the run", self.micros / 1_000)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    base: Micros,
    started: Instant,
}

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "PostgreSQL runs on this machine, by this very clock")]
    pub(crate) fn start() -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { base: Micros::try_from(since.as_micros()).unwrap_or(Micros::MAX), started: Instant::now() }
    }

    /// Returns how far the system clock was stepped since the start, if it was. Histories are compared with
    /// PostgreSQL's times, which are those of the system clock, so nothing can be concluded from such a run.
    pub(crate) fn step(&self) -> Option<Step> {
        let micros = Self::start().base - self.now();
        (micros.abs() > TOLERATED_STEP).then_some(Step { micros })
    }

    pub(crate) fn now(&self) -> Micros {
        self.base + Micros::try_from(self.started.elapsed().as_micros()).unwrap_or(Micros::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_of_the_system_clock_is_noticed() {
        let clock = Clock::start();
        assert_eq!(clock.step(), None);
        let behind = Clock { base: clock.base - 66 * SECOND, ..clock };
        let step = behind.step().unwrap().to_string();
        assert!(step.starts_with("the system clock was stepped by 66"), "{step}");
    }
}
