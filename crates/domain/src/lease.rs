//! The lease: how long a session holds its lock without a renewal, and when it ends at the latest.

use jiff::{SignedDuration, Timestamp};

/// A session that is granted its turn from the queue has to confirm it within this time.
pub const FIRST_LEASE: SignedDuration = SignedDuration::from_secs(60);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lease {
    pub expires_at: Timestamp,
    /// A renewal never extends the lease beyond this.
    pub max_expires_at: Timestamp,
    /// How far each renewal extends the lease.
    pub length: SignedDuration,
    /// False from a grant from the queue until the first heartbeat or renewal of the holder.
    pub confirmed: bool,
}

/// The lease that a session requests: `length` with each renewal, and `max_length` in total.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LeaseTerms {
    pub length: SignedDuration,
    pub max_length: SignedDuration,
}

impl Lease {
    /// Returns the lease of a claim that is granted within its request. It needs no further confirmation.
    pub fn claimed(now: Timestamp, terms: LeaseTerms) -> Self {
        let max_expires_at = later(now, terms.max_length);
        Self {
            expires_at: later(now, terms.length).min(max_expires_at),
            max_expires_at,
            length: terms.length,
            confirmed: true,
        }
    }

    /// Returns the lease of a waiter whose turn has come. Its client may be gone, so this lease is short
    /// until the client confirms it.
    pub fn from_queue(now: Timestamp, terms: LeaseTerms) -> Self {
        let full = Self::claimed(now, terms);
        Self { expires_at: full.expires_at.min(later(now, FIRST_LEASE)), confirmed: false, ..full }
    }

    pub fn is_over(&self, now: Timestamp) -> bool {
        self.expires_at <= now
    }

    /// Extends the lease. It never becomes shorter and never exceeds `max_expires_at`.
    #[must_use]
    pub fn renewed(&self, now: Timestamp) -> Self {
        let expires_at = later(now, self.length).min(self.max_expires_at).max(self.expires_at);
        Self { expires_at, confirmed: true, ..*self }
    }
}

fn later(now: Timestamp, by: SignedDuration) -> Timestamp {
    now.checked_add(by).unwrap_or(Timestamp::MAX)
}
