//! Each party's share of a scarce resource. A party that has used up its share waits in order of arrival.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use greenroom_boxed_futures::boxed_futures;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits::Party;

type Table = Arc<Mutex<HashMap<Party, Arc<Semaphore>>>>;

#[derive(Debug)]
pub struct Shares {
    /// The share of one party; 0 means no limit.
    each: usize,
    table: Table,
}

/// A part of a party's share, released when it is dropped.
#[derive(Debug)]
pub struct Share {
    _entry: Option<ShareEntry>,
}

#[derive(Debug)]
struct ShareEntry {
    party: Party,
    table: Table,
    /// `Some` until this is dropped.
    semaphore: Option<Arc<Semaphore>>,
    /// `None` while waiting for it.
    permit: Option<OwnedSemaphorePermit>,
}

#[boxed_futures]
impl Shares {
    pub fn new(each: usize) -> Self {
        Self { each, table: Table::default() }
    }

    /// Acquires `count` units, waiting in order of arrival within the party. More than the whole share counts
    /// as the whole share.
    pub async fn acquire(&self, party: Party, count: usize) -> Share {
        let Some((mut entry, semaphore)) = self.entry(party) else { return Share { _entry: None } };
        // The semaphore is never closed.
        entry.permit = semaphore.acquire_many_owned(permits(count.min(self.each))).await.ok();
        Share { _entry: Some(entry) }
    }

    /// Acquires one unit, if that is possible without waiting.
    pub fn try_acquire(&self, party: Party) -> Option<Share> {
        let Some((mut entry, semaphore)) = self.entry(party) else { return Some(Share { _entry: None }) };
        entry.permit = Some(semaphore.try_acquire_owned().ok()?);
        Some(Share { _entry: Some(entry) })
    }

    /// Returns how many parties have an entry.
    pub fn entry_count(&self) -> usize {
        locked(&self.table).len()
    }

    fn entry(&self, party: Party) -> Option<(ShareEntry, Arc<Semaphore>)> {
        (self.each > 0).then(|| {
            let mut table = locked(&self.table);
            let semaphore = table.entry(party).or_insert_with(|| Arc::new(Semaphore::new(self.each)));
            let semaphore = Arc::clone(semaphore);
            let (own, to_wait_for) = (Arc::clone(&self.table), Arc::clone(&semaphore));
            (ShareEntry { party, table: own, semaphore: Some(semaphore), permit: None }, to_wait_for)
        })
    }
}

impl Drop for ShareEntry {
    /// The last user of a party's semaphore removes it, also after a wait that was given up.
    fn drop(&mut self) {
        drop(self.permit.take());
        let mut table = locked(&self.table);
        // Under the lock, so that of two concurrent drops the second one finds that it is the last.
        drop(self.semaphore.take());
        if table.get(&self.party).is_some_and(|semaphore| Arc::strong_count(semaphore) == 1) {
            table.remove(&self.party);
        }
    }
}

/// Returns a number of permits to acquire. One call acquires 2³² − 1 at most, which is more than any limit
/// has.
pub(super) fn permits(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn locked(table: &Table) -> MutexGuard<'_, HashMap<Party, Arc<Semaphore>>> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}
