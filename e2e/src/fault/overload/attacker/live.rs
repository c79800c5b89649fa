//! The counters of one attack, shared by its connections.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::fault::overload::sample::Tally;

#[derive(Debug, Default)]
pub(crate) struct Live {
    pub(crate) connecting: Gauge,
    pub(crate) open: Gauge,
    pub(crate) refused: Gauge,
    pub(crate) attempts: Counter,
    pub(crate) closed: Counter,
    pub(crate) failed: Counter,
    answers: Mutex<BTreeMap<u16, u64>>,
}

impl Live {
    pub(crate) fn count_response(&self, status: u16) {
        *self.answers.lock().unwrap_or_else(PoisonError::into_inner).entry(status).or_default() += 1;
    }

    pub(crate) fn tally(&self) -> Tally {
        Tally {
            connecting: self.connecting.0.load(Ordering::Relaxed),
            open: self.open.0.load(Ordering::Relaxed),
            refused: self.refused.0.load(Ordering::Relaxed),
            attempts: self.attempts.0.load(Ordering::Relaxed),
            answers: self.answers.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            closed: self.closed.0.load(Ordering::Relaxed),
            failed: self.failed.0.load(Ordering::Relaxed),
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add_one(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// The number of connections or requests that are in some state now.
#[derive(Debug, Default)]
pub(crate) struct Gauge(AtomicUsize);

/// One of them, until it is dropped.
pub(crate) struct Counted<'a>(&'a Gauge);

impl Gauge {
    pub(crate) fn enter(&self) -> Counted<'_> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Counted(self)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}
