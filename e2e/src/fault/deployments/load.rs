//! The number of deployments that clients may request so far. It is increased step by step, so that each
//! fault hits work that has just started.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

#[derive(Debug, Default)]
pub(crate) struct Load {
    open: AtomicU64,
    requested: AtomicU64,
    settled: AtomicU64,
    commits: AtomicUsize,
    closed: AtomicBool,
}

impl Load {
    /// The total number that may be requested.
    pub(crate) fn open(&self, count: u64) {
        self.open.store(count, Ordering::Relaxed);
    }

    /// Nothing new may be started.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Returns a permit for one deployment: the number of a commit that no other request uses.
    pub(crate) fn try_take(&self) -> Option<usize> {
        if self.is_closed() {
            return None;
        }
        let more = |requested: u64| (requested < self.open.load(Ordering::Relaxed)).then_some(requested + 1);
        self.requested.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(self.commits.fetch_add(1, Ordering::Relaxed))
    }

    /// Returns the number of a commit for a request that does not count towards the load.
    pub(crate) fn next_commit(&self) -> usize {
        self.commits.fetch_add(1, Ordering::Relaxed)
    }

    /// Waits for a permit; returns `None` when no more deployments are to be requested.
    pub(crate) async fn take(&self) -> Option<usize> {
        loop {
            if let Some(commit) = self.try_take() {
                return Some(commit);
            }
            if self.is_closed() {
                return None;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// The request was rejected, so its permit is free again. The commit is not reused, because a request in
    /// a black hole may still be delivered.
    pub(crate) fn put_back(&self) {
        self.requested.fetch_sub(1, Ordering::Relaxed);
    }

    /// The request was accepted, or its outcome will stay unknown.
    pub(crate) fn settle(&self) {
        self.settled.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn settled(&self) -> u64 {
        self.settled.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_are_requested_than_is_open_and_no_commit_twice() {
        let load = Load::default();
        assert_eq!(load.try_take(), None);
        load.open(2);
        assert_eq!((load.try_take(), load.try_take(), load.try_take()), (Some(0), Some(1), None));
        load.put_back();
        assert_eq!((load.try_take(), load.try_take()), (Some(2), None));
        load.open(9);
        load.close();
        assert_eq!(load.try_take(), None);
    }
}
