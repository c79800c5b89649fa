//! The runner's slots: as many as jobs may run at once, each with a number, so that what belongs to a slot (its network)
//! never belongs to two jobs.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

type Free = Arc<Mutex<BTreeSet<u32>>>;

#[derive(Clone, Debug)]
pub struct Slots {
    room: Arc<Semaphore>,
    free: Free,
}

/// Free again when it is dropped.
#[derive(Debug)]
pub struct Slot {
    number: u32,
    free: Free,
    _permit: OwnedSemaphorePermit,
}

impl Slots {
    pub fn new(count: u32) -> Self {
        Slots {
            room: Arc::new(Semaphore::new(count as usize)),
            free: Arc::new(Mutex::new((0..count).collect())),
        }
    }

    /// Waits for a free slot. `None` only if the slots were closed, which nothing does.
    pub async fn take(&self) -> Option<Slot> {
        let permit = Arc::clone(&self.room).acquire_owned().await.ok()?;
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
    /// Runs before the permit is given back, so that whoever gets the permit finds a number.
    fn drop(&mut self) {
        self.free.lock().unwrap_or_else(PoisonError::into_inner).insert(self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn a_slot_is_one_jobs_until_it_is_free_again() {
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
