//! Limits tenants' computations to a few concurrent ones in this process, and to one per organization, so
//! that an organization with many computations delays only itself.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use greenroom_domain::id::OrganizationId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use uuid::Uuid;

pub struct ComputeLimiter {
    slots: Semaphore,
    organizations: Mutex<BTreeMap<Uuid, Weak<Semaphore>>>,
}

/// Held while the computation runs. It has to be moved to the computation's thread, which continues if the
/// caller stops waiting.
pub struct ComputePermit {
    _own: Option<OwnedSemaphorePermit>,
    _slot: Option<SemaphorePermit<'static>>,
}

impl ComputeLimiter {
    pub const fn new(concurrent: usize) -> Self {
        Self { slots: Semaphore::const_new(concurrent), organizations: Mutex::new(BTreeMap::new()) }
    }

    /// Waits for a permit, first among the computations of the organization, then among those of all
    /// organizations.
    pub async fn acquire(&'static self, organization: OrganizationId) -> ComputePermit {
        // Neither semaphore is ever closed.
        let own = self.of(organization).acquire_owned().await.ok();
        ComputePermit { _own: own, _slot: self.slots.acquire().await.ok() }
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
    async fn an_organization_has_one_concurrent_computation() {
        static COMPUTE_LIMIT: ComputeLimiter = ComputeLimiter::new(2);
        let soon = |permit| tokio::time::timeout(Duration::from_millis(50), permit);
        let [one, two, three] = [1, 2, 3].map(|n| OrganizationId::from(Uuid::from_u128(n)));
        let first = COMPUTE_LIMIT.acquire(one).await;
        assert!(soon(COMPUTE_LIMIT.acquire(one)).await.is_err(), "the organization already has a permit");
        let second = soon(COMPUTE_LIMIT.acquire(two)).await.expect("a permit for another organization");
        assert!(soon(COMPUTE_LIMIT.acquire(three)).await.is_err(), "all permits are taken");
        drop((first, second));
        assert!(soon(COMPUTE_LIMIT.acquire(one)).await.is_ok());
        assert_eq!(COMPUTE_LIMIT.organizations.lock().unwrap().len(), 1, "unused entries are removed");
    }
}
