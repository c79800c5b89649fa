//! Notices: what ended a person's session without them. They are read from the sessions; only the time until
//! which the person has read them is stored.

use jiff::SignedDuration;

use crate::session::SessionStatus;
use crate::text_enum::text_enum;

/// Notices are kept for this long, read or not.
pub const RETENTION: SignedDuration = SignedDuration::from_hours(7 * 24);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeKind {
    /// Another session took the environment over by force.
    Overridden,
    /// The session lost its place in the queue.
    PlaceLost,
    /// The session was granted from the queue, and the grant was not confirmed in time.
    TurnMissed,
}

text_enum!(NoticeKind { Overridden = "overridden", PlaceLost = "place_lost", TurnMissed = "turn_missed" });

impl NoticeKind {
    /// Returns what a session's end means to its user, who did not request it. `was_granted` is whether the
    /// session ever held the lock. A session that was released or has expired is no surprise to its holder.
    pub const fn of(status: SessionStatus, was_granted: bool) -> Option<Self> {
        match status {
            SessionStatus::Overridden => Some(Self::Overridden),
            SessionStatus::Canceled if was_granted => Some(Self::TurnMissed),
            SessionStatus::Canceled => Some(Self::PlaceLost),
            SessionStatus::Queued
            | SessionStatus::Active
            | SessionStatus::Released
            | SessionStatus::Expired => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_overridden_and_canceled_sessions_have_a_notice() {
        use SessionStatus::{Active, Canceled, Expired, Overridden, Queued, Released};
        for (status, was_granted, kind) in [
            (Queued, false, None),
            (Active, true, None),
            (Released, true, None),
            (Expired, true, None),
            (Overridden, true, Some(NoticeKind::Overridden)),
            (Canceled, false, Some(NoticeKind::PlaceLost)),
            (Canceled, true, Some(NoticeKind::TurnMissed)),
        ] {
            assert_eq!(NoticeKind::of(status, was_granted), kind, "{status} {was_granted}");
        }
    }
}
