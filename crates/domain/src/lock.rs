//! The lock of an environment: at most one holder at a time, and a fence that rises with every grant and
//! every end, so that an action for an earlier holder is recognized as stale.

use jiff::{SignedDuration, Timestamp};

use crate::id::{SessionId, TokenId};
use crate::lease::{Lease, LeaseTerms};
use crate::owner::Owner;
use crate::token::TokenKind;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Lock {
    pub fence: i64,
    pub held: Option<LockHolder>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LockHolder {
    pub session: SessionId,
    pub owner: Owner,
    pub lease: Lease,
    /// The pending request for hand-over, if any.
    pub handover: Option<Handover>,
}

/// A request for hand-over: a place in the queue, and a deadline for the answer of the holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Handover {
    /// The waiting session of the requester. The request ends when this session leaves the queue.
    pub session: SessionId,
    pub due_at: Timestamp,
    /// What happens without an answer, as the holder was notified when the request was made.
    pub on_silence: OnSilence,
    /// Whether the requester may take the environment by force now.
    pub can_force: bool,
}

/// What happens to a request for hand-over that is not answered in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OnSilence {
    /// The holder's session ends.
    Accept,
    /// The request ends, and its session stays in the queue.
    Lapse,
}

impl OnSilence {
    /// Without an answer, the requester gets only what it could have taken by force.
    pub const fn of(can_force: bool) -> Self {
        if can_force { Self::Accept } else { Self::Lapse }
    }
}

impl Handover {
    /// Checked again at the deadline: the requester may have lost the right to force since, and a request
    /// that was announced as lapsing never accepts.
    pub fn is_accepted_by_silence(&self) -> bool {
        self.on_silence == OnSilence::Accept && self.can_force
    }
}

impl Lock {
    /// Returns the holder at `now`. An expired lease does not hold the lock, even before a sweeper has ended
    /// its session.
    pub fn holder(&self, now: Timestamp) -> Option<&LockHolder> {
        self.held.as_ref().filter(|held| !held.lease.is_over(now))
    }

    pub fn is_held_by(&self, session: SessionId, now: Timestamp) -> bool {
        self.holder(now).is_some_and(|held| held.session == session)
    }

    /// Grants the lock to a new session. The lock must be free.
    #[must_use]
    pub fn granted(self, session: SessionId, owner: Owner, lease: Lease) -> Self {
        debug_assert!(self.held.is_none(), "a lock has one holder");
        Self { fence: self.fence + 1, held: Some(LockHolder { session, owner, lease, handover: None }) }
    }

    /// Frees the lock.
    #[must_use]
    pub fn ended(self) -> Self {
        Self { fence: self.fence + i64::from(self.held.is_some()), held: None }
    }

    /// Sets or clears the request for hand-over.
    #[must_use]
    pub fn with_handover(mut self, handover: Option<Handover>) -> Self {
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

/// A request for a lock: by whom, with which rights, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Claim<'a> {
    pub session: SessionId,
    pub owner: Owner,
    /// Of a service account: the tokens from which the caller's descends. Their sessions are the caller's own.
    pub lineage: &'a [TokenId],
    /// The kind of the token that sends the request.
    pub kind: TokenKind,
    pub terms: LeaseTerms,
    /// How long a person keeps a place in the environment's queue without a heartbeat.
    pub max_stay: SignedDuration,
    /// Whether this token may take the environment by force.
    pub can_force: bool,
    /// The waiting places that the user already has through `ci` and `agent` tokens, in all of the
    /// organization.
    pub places: i64,
    /// Whether the token, or one that it was made by, holds as many sessions as it may in other environments.
    pub is_at_session_limit: bool,
}

impl Claim<'_> {
    /// Returns whether a session with this owner is the caller's own.
    pub fn owns(&self, session: Owner) -> bool {
        self.owner.owns(session, self.lineage)
    }
}
