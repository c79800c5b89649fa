//! The lease: how long a session holds its lock without being heard from, and when it ends at the latest.

use jiff::{SignedDuration, Timestamp};

/// A session that is granted from the queue has this long to show that somebody is there.
pub const FIRST_LEASE: SignedDuration = SignedDuration::from_secs(60);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lease {
    pub expires_at: Timestamp,
    /// Renewing never goes past this.
    pub max_expires_at: Timestamp,
    /// What each renewal gives.
    pub length: SignedDuration,
    /// The holder has been heard from since a grant from the queue.
    pub confirmed: bool,
}

/// What a session asks for: a lease of `length`, and to be over after `longest` whatever is renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LeaseTerms {
    pub length: SignedDuration,
    pub longest: SignedDuration,
}

impl Lease {
    /// The lease of whoever claims and so is there.
    pub fn claimed(now: Timestamp, terms: LeaseTerms) -> Self {
        let max_expires_at = later(now, terms.longest);
        Self {
            expires_at: later(now, terms.length).min(max_expires_at),
            max_expires_at,
            length: terms.length,
            confirmed: true,
        }
    }

    /// The lease of who waited, and may have gone home.
    pub fn from_queue(now: Timestamp, terms: LeaseTerms) -> Self {
        let full = Self::claimed(now, terms);
        Self { expires_at: full.expires_at.min(later(now, FIRST_LEASE)), confirmed: false, ..full }
    }

    pub fn is_over(&self, now: Timestamp) -> bool {
        self.expires_at <= now
    }

    /// Slides forward, never back and never past the end.
    #[must_use]
    pub fn renewed(&self, now: Timestamp) -> Self {
        let expires_at = later(now, self.length).min(self.max_expires_at).max(self.expires_at);
        Self { expires_at, confirmed: true, ..*self }
    }
}

fn later(now: Timestamp, by: SignedDuration) -> Timestamp {
    now.checked_add(by).unwrap_or(Timestamp::MAX)
}
