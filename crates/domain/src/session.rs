//! A session: the time for which one user waits for, and holds, one environment.

use crate::text_enum::text_enum;

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

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a session that is {from} can't become {to}")]
pub struct InvalidTransition {
    pub from: SessionStatus,
    pub to: SessionStatus,
}

impl SessionStatus {
    pub const fn is_live(self) -> bool {
        matches!(self, Self::Queued | Self::Active)
    }

    /// Grants a waiting session its turn.
    pub fn granted(self) -> Result<Self, InvalidTransition> {
        match self {
            Self::Queued => Ok(Self::Active),
            from => Err(InvalidTransition { from, to: Self::Active }),
        }
    }

    /// Ends the session. An end is final: a session that has ended never changes its status.
    pub fn ended(self, end: SessionEnd) -> Result<Self, InvalidTransition> {
        let to = end.status();
        match (self, end) {
            (Self::Active, _) | (Self::Queued, SessionEnd::Canceled) => Ok(to),
            (from, _) => Err(InvalidTransition { from, to }),
        }
    }
}

impl SessionEnd {
    pub const fn status(self) -> SessionStatus {
        match self {
            Self::Released => SessionStatus::Released,
            Self::Expired => SessionStatus::Expired,
            Self::Overridden => SessionStatus::Overridden,
            Self::Canceled => SessionStatus::Canceled,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_of_every_status() {
        use SessionEnd as E;
        for end in [E::Released, E::Expired, E::Overridden, E::Canceled] {
            assert_eq!(SessionStatus::Active.ended(end), Ok(end.status()));
            assert_eq!(SessionStatus::Queued.ended(end).is_ok(), end == E::Canceled);
            for over in [
                SessionStatus::Released,
                SessionStatus::Expired,
                SessionStatus::Overridden,
                SessionStatus::Canceled,
            ] {
                assert!(over.ended(end).is_err());
                assert!(over.granted().is_err());
            }
        }
        assert_eq!(SessionStatus::Queued.granted(), Ok(SessionStatus::Active));
        assert!(SessionStatus::Active.granted().is_err());
    }
}
