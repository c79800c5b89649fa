//! Who waits for an environment: first in, first out, as long as they are heard from.
//!
//! A waiter that has been silent for too long is gone from that moment on, whether or not its end has been written. So it is
//! neither granted a turn nor revived by a late heartbeat, and its end can be written in batches.

use std::collections::VecDeque;

use jiff::{SignedDuration, Timestamp};

use crate::id::{SessionId, UserId};
use crate::lease::LeaseTerms;
use crate::rights::Rights;
use crate::token::TokenKind;

/// A waiter that has been silent for longer has gone home.
pub const SILENCE: SignedDuration = SignedDuration::from_secs(120);
/// Waiting places in one environment.
pub const PLACES_PER_ENVIRONMENT: usize = 500;
/// Waiting places that one user takes through `ci` and `agent` tokens, in all environments of an organization.
pub const PLACES_PER_USER: i64 = 50;
/// How many silent waiters one settling ends, so that a transaction stays short however many fell silent together.
pub const SETTLE_BATCH: usize = 200;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Waiting {
    pub session: SessionId,
    pub user: UserId,
    /// Of the token that it was queued with.
    pub kind: TokenKind,
    pub terms: LeaseTerms,
    pub heard_at: Timestamp,
    /// What its user may do now.
    pub rights: Rights,
}

/// Until when a waiter keeps its place after its last heartbeat.
pub fn silent_from(heartbeat_at: Timestamp) -> Timestamp {
    heartbeat_at.checked_add(SILENCE).unwrap_or(Timestamp::MAX)
}

impl Waiting {
    pub fn patience_ends(&self) -> Timestamp {
        silent_from(self.heard_at)
    }

    pub fn is_there(&self, now: Timestamp) -> bool {
        now.duration_since(self.heard_at) <= SILENCE
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Queue(VecDeque<Waiting>);

impl Queue {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Waiting> {
        self.0.iter()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Waiting> {
        self.0.iter_mut()
    }

    /// Those who are not gone.
    pub fn there(&self, now: Timestamp) -> impl Iterator<Item = &Waiting> {
        self.0.iter().filter(move |waiting| waiting.is_there(now))
    }

    pub fn find(&self, session: SessionId) -> Option<&Waiting> {
        self.0.iter().find(|waiting| waiting.session == session)
    }

    /// From 1: how many have to be granted until this one is.
    pub fn position(&self, session: SessionId) -> Option<usize> {
        self.0.iter().position(|waiting| waiting.session == session).map(|index| index + 1)
    }

    #[must_use]
    pub fn joined(mut self, waiting: Waiting) -> Self {
        self.0.push_back(waiting);
        self
    }

    /// Without the session; unchanged if it does not wait.
    #[must_use]
    pub fn without(mut self, session: SessionId) -> Self {
        self.0.retain(|waiting| waiting.session != session);
        self
    }

    #[must_use]
    pub fn heard(mut self, session: SessionId, now: Timestamp) -> Self {
        for waiting in self.0.iter_mut().filter(|waiting| waiting.session == session && waiting.is_there(now))
        {
            waiting.heard_at = waiting.heard_at.max(now);
        }
        self
    }

    /// Takes out silent waiters, a batch at most, and `about` in any case if it is one of them.
    pub fn present(self, now: Timestamp, about: Option<SessionId>) -> (Self, Vec<Waiting>) {
        let mut gone = Vec::new();
        let mut rest = VecDeque::with_capacity(self.0.len());
        for waiting in self.0 {
            let ends = gone.len() < SETTLE_BATCH || about == Some(waiting.session);
            if ends && !waiting.is_there(now) {
                gone.push(waiting);
            } else {
                rest.push_back(waiting);
            }
        }
        (Self(rest), gone)
    }

    /// The first who is there, and the others.
    pub fn next(mut self, now: Timestamp) -> (Option<Waiting>, Self) {
        let first = self.0.iter().position(|waiting| waiting.is_there(now));
        let first = first.and_then(|index| self.0.remove(index));
        (first, self)
    }
}
