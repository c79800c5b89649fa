//! The harness's clock: microseconds since 1970, like the database's, and never going back within a run.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

pub(crate) type Micros = i64;

pub(crate) const SECOND: Micros = 1_000_000;

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

    pub(crate) fn now(&self) -> Micros {
        self.base + Micros::try_from(self.started.elapsed().as_micros()).unwrap_or(Micros::MAX)
    }
}
