//! What each party can have at most of something that is scarce, with an orderly wait for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits::Party;

type Table = Arc<Mutex<HashMap<Party, Arc<Semaphore>>>>;

#[derive(Debug)]
pub struct Shares {
    /// What one party can have; 0 is no limit.
    each: usize,
    table: Table,
}

/// A part of a party's share, until it is dropped.
#[derive(Debug)]
pub struct Share {
    _held: Option<Held>,
}

#[derive(Debug)]
struct Held {
    party: Party,
    table: Table,
    /// Always there until this is dropped.
    semaphore: Option<Arc<Semaphore>>,
    /// `None` while it is waited for.
    permit: Option<OwnedSemaphorePermit>,
}

impl Shares {
    pub fn new(each: usize) -> Self {
        Self { each, table: Table::default() }
    }

    /// Waits, in the order of arrival within the party. More than the whole share counts as the whole share.
    pub async fn acquire(&self, party: Party, count: usize) -> Share {
        let Some((mut held, semaphore)) = self.held(party) else { return Share { _held: None } };
        let count = u32::try_from(count.min(self.each)).unwrap_or(u32::MAX);
        // The semaphore is never closed.
        held.permit = semaphore.acquire_many_owned(count).await.ok();
        Share { _held: Some(held) }
    }

    /// One, if it can be had without waiting.
    pub fn try_acquire(&self, party: Party) -> Option<Share> {
        let Some((mut held, semaphore)) = self.held(party) else { return Some(Share { _held: None }) };
        held.permit = Some(semaphore.try_acquire_owned().ok()?);
        Some(Share { _held: Some(held) })
    }

    fn held(&self, party: Party) -> Option<(Held, Arc<Semaphore>)> {
        (self.each > 0).then(|| {
            let mut table = locked(&self.table);
            let semaphore = table.entry(party).or_insert_with(|| Arc::new(Semaphore::new(self.each)));
            let semaphore = Arc::clone(semaphore);
            let (own, to_wait_for) = (Arc::clone(&self.table), Arc::clone(&semaphore));
            (Held { party, table: own, semaphore: Some(semaphore), permit: None }, to_wait_for)
        })
    }
}

impl Drop for Held {
    /// The last user of a party's entry removes it, also one that gave up waiting.
    fn drop(&mut self) {
        drop(self.permit.take());
        let mut table = locked(&self.table);
        // Under the lock, so that of two that end at once the second one sees itself as the last.
        drop(self.semaphore.take());
        if table.get(&self.party).is_some_and(|semaphore| Arc::strong_count(semaphore) == 1) {
            table.remove(&self.party);
        }
    }
}

fn locked(table: &Table) -> MutexGuard<'_, HashMap<Party, Arc<Semaphore>>> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use uuid::Uuid;

    use super::*;

    #[tokio::test]
    async fn a_share_is_waited_for_and_nothing_stays() {
        let shares = Shares::new(2);
        let (one, other) = (Party::Token(Uuid::from_u128(1)), Party::Token(Uuid::from_u128(2)));
        let whole = shares.acquire(one, 100).await;
        assert!(shares.try_acquire(one).is_none());
        assert!(shares.try_acquire(other).is_some());
        let given_up = tokio::time::timeout(Duration::from_millis(10), shares.acquire(one, 1)).await;
        assert!(given_up.is_err());
        drop(whole);
        let part = shares.try_acquire(one).unwrap();
        let rest = shares.acquire(one, 1).await;
        drop((part, rest));
        assert!(locked(&shares.table).is_empty());
        assert!(Shares::new(0).try_acquire(one).is_some());
    }
}
