//! Who waits for an environment: first in, first out, as long as they are heard from.

use std::collections::VecDeque;

use jiff::{SignedDuration, Timestamp};

use crate::id::{SessionId, UserId};
use crate::lease::LeaseTerms;

/// A waiter that has been silent for longer has gone home.
pub const SILENCE: SignedDuration = SignedDuration::from_secs(120);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Waiting {
    pub session: SessionId,
    pub user: UserId,
    pub terms: LeaseTerms,
    pub heard_at: Timestamp,
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
        for waiting in self.0.iter_mut().filter(|waiting| waiting.session == session) {
            waiting.heard_at = waiting.heard_at.max(now);
        }
        self
    }

    /// Those who are still there, in order, and those who are not.
    pub fn present(self, now: Timestamp) -> (Self, Vec<Waiting>) {
        let (there, gone): (VecDeque<_>, VecDeque<_>) =
            self.0.into_iter().partition(|waiting| waiting.is_there(now));
        (Self(there), gone.into())
    }

    /// The first, and the rest behind them.
    pub fn next(mut self) -> (Option<Waiting>, Self) {
        let first = self.0.pop_front();
        (first, self)
    }
}
