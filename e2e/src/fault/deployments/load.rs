//! How many deployments may be asked for by now. It is opened bit by bit, so that each fault finds work that has just begun.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

#[derive(Debug, Default)]
pub(crate) struct Load {
    open: AtomicU64,
    asked: AtomicU64,
    settled: AtomicU64,
    commits: AtomicUsize,
    closed: AtomicBool,
}

impl Load {
    /// So many may be asked for, all together.
    pub(crate) fn open(&self, count: u64) {
        self.open.store(count, Ordering::Relaxed);
    }

    /// Nobody is to begin anything new.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// A place for one deployment, and the number of the commit that only this request asks for.
    pub(crate) fn try_take(&self) -> Option<usize> {
        if self.is_closed() {
            return None;
        }
        let more = |asked: u64| (asked < self.open.load(Ordering::Relaxed)).then_some(asked + 1);
        self.asked.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(self.commits.fetch_add(1, Ordering::Relaxed))
    }

    /// The number of a commit for a request that is beside those which are counted.
    pub(crate) fn another_commit(&self) -> usize {
        self.commits.fetch_add(1, Ordering::Relaxed)
    }

    /// Waits for a place; none if there are to be no more.
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

    /// It was refused: the place is free again. The commit is not, because what fell into a black hole may still come.
    pub(crate) fn put_back(&self) {
        self.asked.fetch_sub(1, Ordering::Relaxed);
    }

    /// It was accepted, or nobody will know.
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
    fn no_more_are_asked_for_than_is_open_and_no_commit_twice() {
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
