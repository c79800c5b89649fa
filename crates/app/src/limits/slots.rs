//! The requests that one server handles concurrently. An organization can use half of the database
//! connections, and a further quarter if no other organization uses that; its members can use a part of that
//! (`organization_shares.rs`). Requests that keep locks and jobs
//! alive have reserved slots and connections, of which an organization can use half as well: so neither other
//! requests nor another organization can exhaust them.

use std::sync::Arc;
use std::time::Duration;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::principal::Principal;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::failure::{Code, Failure};
use crate::limits::organization_shares::{OrganizationShares, PartOfShares};
use crate::limits::{Bearer, LimitSettings, Switch};

/// How long a request waits for other requests of its organization.
const SHARE_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub struct Slots {
    general: SlotPool,
    reserved: SlotPool,
    /// A quarter of the connections, for organizations that have used up their share. The last quarter is
    /// always left for other organizations.
    beyond_shares: Arc<Semaphore>,
}

#[derive(Debug)]
struct SlotPool {
    capacity: Capacity,
    slots: Arc<Semaphore>,
    /// Each organization's share of the connections.
    shares: OrganizationShares,
}

/// Which slots and database connections a request uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capacity {
    General,
    Reserved,
}

/// A slot that a request occupies until this is dropped. A request that waits gives up its slot.
#[derive(Debug)]
pub struct Slot {
    pub capacity: Capacity,
    _permit: OwnedSemaphorePermit,
    _connection: Option<ConnectionPermit>,
}

/// The right to use one of the connections.
#[derive(Debug)]
pub enum ConnectionPermit {
    OfShare { _share: PartOfShares },
    BeyondShares { _permit: OwnedSemaphorePermit },
}

#[boxed_futures]
impl Slots {
    pub fn new(settings: &LimitSettings) -> Self {
        let slot_pool = |capacity, slots: usize, connections: u32| {
            let share = match settings.limits {
                Switch::On => (connections / 2).max(1) as usize,
                Switch::Off => 0,
            };
            SlotPool {
                capacity,
                slots: Arc::new(Semaphore::new(slots)),
                shares: OrganizationShares::new(share),
            }
        };
        let reserved = settings.reserved_in_flight.max(1);
        Self {
            general: slot_pool(Capacity::General, settings.max_in_flight, settings.database_connections),
            reserved: slot_pool(Capacity::Reserved, reserved, settings.reserved_connections),
            beyond_shares: Arc::new(Semaphore::new(settings.database_connections as usize / 4)),
        }
    }

    /// Acquires a general slot. If the organization has used up its share of the connections, and the
    /// connections beyond the shares are in use, this waits for other requests of the organization. Fails if
    /// no slot is free after that.
    pub async fn general(&self, bearer: Option<Bearer>) -> Result<Slot, Failure> {
        let Some(bearer) = bearer else {
            return self.general.try_slot(None).ok_or_else(busy);
        };
        let connection = self.connection_of(bearer).await?;
        self.general.try_slot(Some(connection)).ok_or_else(busy)
    }

    /// Acquires a permit for one database connection, for a request that has released its slot.
    pub async fn connection(&self, principal: &Principal) -> Result<ConnectionPermit, Failure> {
        self.connection_of(principal.into()).await
    }

    async fn connection_of(&self, bearer: Bearer) -> Result<ConnectionPermit, Failure> {
        let shares = &self.general.shares;
        let immediate = shares.try_acquire(bearer, bearer.person());
        let immediate = immediate.map(|share| ConnectionPermit::OfShare { _share: share });
        match immediate.or_else(|| self.beyond_shares()) {
            Some(connection) => Ok(connection),
            None => {
                let share = shares.acquire(bearer, bearer.person(), 1);
                let share = tokio::time::timeout(SHARE_TIMEOUT, share).await;
                Ok(ConnectionPermit::OfShare { _share: share.map_err(|_| busy())? })
            }
        }
    }

    /// Acquires a reserved slot. An organization that has used up its share gets a general slot if the
    /// database `has_spare` connections, and waits for its share otherwise.
    pub async fn reserved(&self, bearer: Bearer, has_spare: impl Fn() -> bool) -> Option<Slot> {
        if let Some(share) = self.reserved.shares.try_acquire(bearer, bearer.person())
            && let Some(slot) = self.reserved.try_slot(Some(ConnectionPermit::OfShare { _share: share }))
        {
            return Some(slot);
        }
        if has_spare()
            && let Some(connection) = self.beyond_shares()
            && let Some(slot) = self.general.try_slot(Some(connection))
        {
            return Some(slot);
        }
        let share = self.reserved.shares.acquire(bearer, bearer.person(), 1).await;
        let permit = Arc::clone(&self.reserved.slots).acquire_owned().await.ok()?;
        let connection = ConnectionPermit::OfShare { _share: share };
        Some(Slot { capacity: Capacity::Reserved, _permit: permit, _connection: Some(connection) })
    }

    fn beyond_shares(&self) -> Option<ConnectionPermit> {
        let permit = Arc::clone(&self.beyond_shares).try_acquire_owned().ok()?;
        Some(ConnectionPermit::BeyondShares { _permit: permit })
    }
}

impl SlotPool {
    fn try_slot(&self, connection: Option<ConnectionPermit>) -> Option<Slot> {
        let permit = Arc::clone(&self.slots).try_acquire_owned().ok()?;
        Some(Slot { capacity: self.capacity, _permit: permit, _connection: connection })
    }
}

fn busy() -> Failure {
    Failure::new(Code::Overloaded, "The server is busy. Wait a second and try again.")
}
