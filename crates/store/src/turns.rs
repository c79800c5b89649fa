//! Limits tenants' computations: a few at the same time in this process, and of each organization only one, so that an
//! organization with much to compute delays nobody but itself.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use greenroom_domain::id::OrganizationId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use uuid::Uuid;

pub struct Turns {
    slots: Semaphore,
    organizations: Mutex<BTreeMap<Uuid, Weak<Semaphore>>>,
}

/// Held while the computation runs; to be moved to its thread, which goes on if the caller gives up waiting.
pub struct Turn {
    _own: Option<OwnedSemaphorePermit>,
    _slot: Option<SemaphorePermit<'static>>,
}

impl Turns {
    pub const fn new(concurrent: usize) -> Self {
        Self { slots: Semaphore::const_new(concurrent), organizations: Mutex::new(BTreeMap::new()) }
    }

    /// Waits for a turn, first among the organization's own, then among those of all.
    pub async fn take(&'static self, organization: OrganizationId) -> Turn {
        // Neither semaphore is ever closed.
        let own = self.of(organization).acquire_owned().await.ok();
        Turn { _own: own, _slot: self.slots.acquire().await.ok() }
    }

    fn of(&self, organization: OrganizationId) -> Arc<Semaphore> {
        let mut organizations = self.organizations.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = organizations.get(&organization.uuid()).and_then(Weak::upgrade) {
            return own;
        }
        organizations.retain(|_, own| own.strong_count() > 0);
        let own = Arc::new(Semaphore::new(1));
        organizations.insert(organization.uuid(), Arc::downgrade(&own));
        own
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn an_organization_has_one_turn_at_a_time() {
        static TURNS: Turns = Turns::new(2);
        let soon = |turn| tokio::time::timeout(Duration::from_millis(50), turn);
        let [one, two, three] = [1, 2, 3].map(|n| OrganizationId::from(Uuid::from_u128(n)));
        let first = TURNS.take(one).await;
        assert!(soon(TURNS.take(one)).await.is_err(), "its own is not over");
        let second = soon(TURNS.take(two)).await.expect("another one's turn");
        assert!(soon(TURNS.take(three)).await.is_err(), "two are computing");
        drop((first, second));
        assert!(soon(TURNS.take(one)).await.is_ok());
        assert_eq!(TURNS.organizations.lock().unwrap().len(), 1, "what nobody uses is forgotten");
    }
}
