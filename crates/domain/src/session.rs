//! A session: the time for which one user waits for, and holds, one environment.

use crate::text_enum::text_enum;

/// The machine of the lock (`environment`) decides its changes: `queued` → `active`, `queued` → `canceled`, and
/// `active` → any [`SessionEnd`]. An end is final.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SessionStatus {
    Queued,
    Active,
    Released,
    Expired,
    Overridden,
    Canceled,
}

text_enum!(SessionStatus {
    Queued = "queued",
    Active = "active",
    Released = "released",
    Expired = "expired",
    Overridden = "overridden",
    Canceled = "canceled",
});

/// How a session ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SessionEnd {
    /// Released by its holder or a maintainer, or handed over.
    Released,
    /// Its lease expired.
    Expired,
    /// Taken over by force.
    Overridden,
    /// Left the queue, timed out in it, or did not confirm its turn.
    Canceled,
}

impl SessionStatus {
    pub const fn is_live(self) -> bool {
        matches!(self, Self::Queued | Self::Active)
    }
}

impl SessionEnd {
    /// Returns the end of a session whose lease has expired. One that never confirmed its turn is canceled:
    /// from the view of its user it held nothing that could expire.
    pub const fn of_expired_lease(confirmed: bool) -> Self {
        if confirmed { Self::Expired } else { Self::Canceled }
    }

    pub const fn status(self) -> SessionStatus {
        match self {
            Self::Released => SessionStatus::Released,
            Self::Expired => SessionStatus::Expired,
            Self::Overridden => SessionStatus::Overridden,
            Self::Canceled => SessionStatus::Canceled,
        }
    }
}
