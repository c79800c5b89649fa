//! Limits tenants' computations to a few concurrent ones in this process, and to one per organization, so
//! that an organization with many computations delays only itself.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use greenroom_boxed_futures::boxed_futures;
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

#[boxed_futures]
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

    /// Returns how many organizations have an entry.
    pub fn organization_count(&self) -> usize {
        self.organizations().len()
    }

    fn of(&self, organization: OrganizationId) -> Arc<Semaphore> {
        let mut organizations = self.organizations();
        if let Some(own) = organizations.get(&organization.uuid()).and_then(Weak::upgrade) {
            return own;
        }
        organizations.retain(|_, own| own.strong_count() > 0);
        let own = Arc::new(Semaphore::new(1));
        organizations.insert(organization.uuid(), Arc::downgrade(&own));
        own
    }

    fn organizations(&self) -> MutexGuard<'_, BTreeMap<Uuid, Weak<Semaphore>>> {
        self.organizations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
