//! An absence of the installation: a time in which no heartbeat could be received, because its database or its
//! workers could not be reached. Deadlines of presence don't run meanwhile: places in the queue, turns, and requests for
//! hand-over. A lease that its holder has confirmed is no deadline of presence, and ends by the clock.
//!
//! The sweeper measures it: from its last sweep to the next one, by the database's clock.

use jiff::{SignedDuration, Timestamp};

use crate::definition::HANDOVER_GRACE_SECONDS;
use crate::environment::EnvironmentState;
use crate::lease::FIRST_LEASE;

/// A longer time between two sweeps is an absence. It is several intervals of the sweeper, and longer than a query waits
/// for the database.
pub const MAX_SWEEP_GAP: SignedDuration = SignedDuration::from_secs(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Absence {
    from: Timestamp,
    to: Timestamp,
}

impl Absence {
    /// Returns the absence that ends now, if the last sweep was too long ago. `None` as the last sweep means that no
    /// sweeper has ever run.
    pub fn since(last_sweep: Option<Timestamp>, now: Timestamp) -> Option<Self> {
        let from = last_sweep.filter(|from| now.duration_since(*from) > MAX_SWEEP_GAP)?;
        Some(Self { from, to: now })
    }

    pub const fn from(self) -> Timestamp {
        self.from
    }

    pub const fn to(self) -> Timestamp {
        self.to
    }

    /// Returns a deadline without the time of the absence. One that had passed before stays. There is never more time left
    /// after the absence than `full`, the longest time that such a deadline has: so a deadline can be extended twice.
    pub fn extended(self, deadline: Timestamp, full: SignedDuration) -> Timestamp {
        if deadline <= self.from {
            return deadline;
        }
        let latest = later(self.to, full);
        later(deadline, self.to.duration_since(self.from)).min(latest).max(deadline)
    }

    /// Returns the longest time that a holder has for the answer to a request for hand-over.
    pub fn longest_handover() -> SignedDuration {
        SignedDuration::from_secs(i64::try_from(*HANDOVER_GRACE_SECONDS.end()).unwrap_or(i64::MAX))
    }
}

impl EnvironmentState {
    /// Returns the state with its deadlines of presence extended.
    #[must_use]
    pub fn after_absence(mut self, absence: Absence) -> Self {
        if let Some(held) = &mut self.lock.held {
            if !held.lease.confirmed {
                let full = held.lease.length.min(FIRST_LEASE);
                let expires_at = absence.extended(held.lease.expires_at, full);
                held.lease.expires_at = expires_at.min(held.lease.max_expires_at);
            }
            if let Some(handover) = &mut held.handover {
                handover.due_at = absence.extended(handover.due_at, Absence::longest_handover());
            }
        }
        for waiter in self.queue.iter_mut() {
            let deadline = absence.extended(waiter.heartbeat_deadline(), waiter.timeout);
            waiter.heartbeat_at = deadline.checked_sub(waiter.timeout).unwrap_or(waiter.heartbeat_at);
        }
        self
    }
}

fn later(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.checked_add(by).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
#[path = "absence_tests.rs"]
mod tests;
