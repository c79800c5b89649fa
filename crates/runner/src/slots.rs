//! The runner's slots: one per concurrent job, each with a number, so that a resource of a slot (its network)
//! never belongs to two jobs.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

type Free = Arc<Mutex<BTreeSet<u32>>>;

#[derive(Clone, Debug)]
pub struct Slots {
    permits: Arc<Semaphore>,
    free: Free,
}

/// Released on drop.
#[derive(Debug)]
pub struct Slot {
    number: u32,
    free: Free,
    _permit: OwnedSemaphorePermit,
}

impl Slots {
    pub fn new(count: u32) -> Self {
        Slots {
            permits: Arc::new(Semaphore::new(count as usize)),
            free: Arc::new(Mutex::new((0..count).collect())),
        }
    }

    /// Waits for a free slot. Returns `None` only if the semaphore is closed, which never happens.
    pub async fn take(&self) -> Option<Slot> {
        let permit = Arc::clone(&self.permits).acquire_owned().await.ok()?;
        let number = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop_first()?;
        Some(Slot { number, free: Arc::clone(&self.free), _permit: permit })
    }
}

impl Slot {
    pub fn number(&self) -> u32 {
        self.number
    }
}

impl Drop for Slot {
    /// Runs before the permit is released, so that there is always a free number for the next owner of the
    /// permit.
    fn drop(&mut self) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).insert(self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn a_slot_is_exclusive_until_it_is_dropped() {
        let slots = Slots::new(2);
        let (first, second) = (slots.take().await.unwrap(), slots.take().await.unwrap());
        assert_ne!(first.number(), second.number());
        assert!(tokio::time::timeout(Duration::from_millis(20), slots.take()).await.is_err());
        let number = second.number();
        drop(second);
        assert_eq!(slots.take().await.unwrap().number(), number);
        assert_eq!(first.number(), 0);
    }
}
