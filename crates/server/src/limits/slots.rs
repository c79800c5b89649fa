//! The requests that one server works on at once. An organization can have half of the database connections, and a quarter
//! more if no other has that. What keeps locks and jobs alive has slots and connections of its own, of which an organization
//! can have half as well: so neither other requests nor another organization can fill them.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::app::failure::{Code, Failure};
use crate::limits::shares::{Share, Shares};
use crate::limits::{Bearer, LimitSettings, Party, Switch};

/// How long a request waits for others of its organization.
const WAIT: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub struct Slots {
    general: Pot,
    reserved: Pot,
    /// A quarter of the connections, for organizations that have their share already. The last quarter is always left for
    /// others.
    beyond_shares: Arc<Semaphore>,
}

#[derive(Debug)]
struct Pot {
    capacity: Capacity,
    slots: Arc<Semaphore>,
    /// What each organization can have of the connections.
    shares: Shares,
}

/// What a request works with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capacity {
    General,
    Reserved,
}

/// Until it is dropped, or the request gives it up to wait.
#[derive(Debug)]
pub struct Slot {
    pub capacity: Capacity,
    _permit: OwnedSemaphorePermit,
    _part: Option<Part>,
}

/// What a request has of the connections.
#[derive(Debug)]
enum Part {
    OfShare { _share: Share },
    BeyondShares { _permit: OwnedSemaphorePermit },
}

impl Slots {
    pub fn new(settings: &LimitSettings) -> Self {
        let pot = |capacity, slots: usize, connections: u32| {
            let share = match settings.limits {
                Switch::On => (connections / 2).max(1) as usize,
                Switch::Off => 0,
            };
            Pot { capacity, slots: Arc::new(Semaphore::new(slots)), shares: Shares::new(share) }
        };
        let reserved = settings.reserved_in_flight.max(1);
        Self {
            general: pot(Capacity::General, settings.max_in_flight, settings.database_connections),
            reserved: pot(Capacity::Reserved, reserved, settings.reserved_connections),
            beyond_shares: Arc::new(Semaphore::new(settings.database_connections as usize / 4)),
        }
    }

    /// One of the general slots. An organization that has its share of the connections, when there is nothing beyond the
    /// shares, waits for its own requests. Then there is a slot, or it is refused.
    pub async fn general(&self, bearer: Option<Bearer>) -> Result<Slot, Failure> {
        let busy = || Failure::new(Code::Overloaded, "The server is busy. Wait a second and try again.");
        let Some(organization) = bearer.map(organization) else {
            return self.general.try_slot(None).ok_or_else(busy);
        };
        let shares = &self.general.shares;
        let at_once = shares.try_acquire(organization).map(|share| Part::OfShare { _share: share });
        let part = match at_once.or_else(|| self.beyond_shares()) {
            Some(part) => part,
            None => {
                let share = tokio::time::timeout(WAIT, shares.acquire(organization, 1)).await;
                Part::OfShare { _share: share.map_err(|_| busy())? }
            }
        };
        self.general.try_slot(Some(part)).ok_or_else(busy)
    }

    /// One of the reserved slots. An organization that has its share takes a general one if the database `has_spare`
    /// connections, and waits for its share otherwise.
    pub async fn reserved(&self, bearer: Bearer, has_spare: impl Fn() -> bool) -> Option<Slot> {
        let organization = organization(bearer);
        if let Some(share) = self.reserved.shares.try_acquire(organization)
            && let Some(slot) = self.reserved.try_slot(Some(Part::OfShare { _share: share }))
        {
            return Some(slot);
        }
        if has_spare()
            && let Some(part) = self.beyond_shares()
            && let Some(slot) = self.general.try_slot(Some(part))
        {
            return Some(slot);
        }
        let share = self.reserved.shares.acquire(organization, 1).await;
        let permit = Arc::clone(&self.reserved.slots).acquire_owned().await.ok()?;
        let part = Part::OfShare { _share: share };
        Some(Slot { capacity: Capacity::Reserved, _permit: permit, _part: Some(part) })
    }

    fn beyond_shares(&self) -> Option<Part> {
        let permit = Arc::clone(&self.beyond_shares).try_acquire_owned().ok()?;
        Some(Part::BeyondShares { _permit: permit })
    }
}

impl Pot {
    fn try_slot(&self, part: Option<Part>) -> Option<Slot> {
        let permit = Arc::clone(&self.slots).try_acquire_owned().ok()?;
        Some(Slot { capacity: self.capacity, _permit: permit, _part: part })
    }
}

fn organization(bearer: Bearer) -> Party {
    Party::Organization(bearer.organization)
}
