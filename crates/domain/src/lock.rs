//! The lock of an environment: at most one holder at a time, and a fence that rises with every grant and every end, so
//! that whatever acts for an earlier holder can be told from what acts for this one.

use jiff::Timestamp;

use crate::id::{SessionId, UserId};
use crate::lease::{Lease, LeaseTerms};
use crate::token::TokenKind;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Lock {
    pub fence: i64,
    pub held: Option<Held>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Held {
    pub session: SessionId,
    pub user: UserId,
    pub lease: Lease,
    /// Somebody has asked the holder to let go.
    pub handover: Option<Handover>,
}

/// A request for hand-over: a place in the queue, and a moment by which the holder answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Handover {
    /// The waiting session of who asks. When it waits no more, nothing is asked.
    pub session: SessionId,
    pub due_at: Timestamp,
    /// What the holder was told when it was asked.
    pub on_silence: OnSilence,
    /// The requester could take the environment by force now.
    pub can_force: bool,
}

/// What comes of a request for hand-over that is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OnSilence {
    /// The holder's session ends.
    Accept,
    /// The request ends, and its session stays in the queue.
    Lapse,
}

impl OnSilence {
    /// Silence gives only what force could have taken.
    pub const fn of(can_force: bool) -> Self {
        if can_force { Self::Accept } else { Self::Lapse }
    }
}

impl Handover {
    /// Judged again when its time is up: the right to force may have been lost since, and what was shown to lapse does.
    pub fn is_accepted_by_silence(&self) -> bool {
        self.on_silence == OnSilence::Accept && self.can_force
    }
}

impl Lock {
    /// Who holds it now. A lease that has run out holds nothing, whether or not anybody has noticed.
    pub fn holder(&self, now: Timestamp) -> Option<&Held> {
        self.held.as_ref().filter(|held| !held.lease.is_over(now))
    }

    pub fn is_held_by(&self, session: SessionId, now: Timestamp) -> bool {
        self.holder(now).is_some_and(|held| held.session == session)
    }

    /// Given to a new session. The lock must have been let go of first.
    #[must_use]
    pub fn granted(self, session: SessionId, user: UserId, lease: Lease) -> Self {
        debug_assert!(self.held.is_none(), "a lock has one holder");
        Self { fence: self.fence + 1, held: Some(Held { session, user, lease, handover: None }) }
    }

    /// Let go of, in whatever way.
    #[must_use]
    pub fn ended(self) -> Self {
        Self { fence: self.fence + i64::from(self.held.is_some()), held: None }
    }

    /// With this request to its holder, or with none.
    #[must_use]
    pub fn asked(mut self, handover: Option<Handover>) -> Self {
        if let Some(held) = &mut self.held {
            held.handover = handover;
        }
        self
    }

    #[must_use]
    pub fn renewed(mut self, now: Timestamp) -> Self {
        if let Some(held) = &mut self.held {
            held.lease = held.lease.renewed(now);
        }
        self
    }
}

/// Who asks for a lock, with which rights, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Claim {
    pub session: SessionId,
    pub user: UserId,
    /// Of the token that sends the request.
    pub kind: TokenKind,
    pub terms: LeaseTerms,
    /// The environment could be taken by force with this token.
    pub can_force: bool,
    /// Waiting places that the user has already taken through `ci` and `agent` tokens, in all of the organization.
    pub places: i64,
}
