//! The queue of an environment: first in, first out. A place is kept for a time after each heartbeat: a short one for
//! programs, whose silence means that they have ended, and a long one for people, who may close the page and come back.
//!
//! A waiter is gone from the moment its heartbeat times out, even if its end has not been stored yet. It is
//! neither granted a turn nor revived by a late heartbeat. Therefore its end can be stored later, in a batch
//! with others.

use std::collections::VecDeque;

use jiff::{SignedDuration, Timestamp};

use crate::id::SessionId;
use crate::lease::LeaseTerms;
use crate::owner::Owner;
use crate::rights::Rights;
use crate::token::TokenKind;

/// A program that sends no heartbeat for longer leaves the queue.
pub const HEARTBEAT_TIMEOUT: SignedDuration = SignedDuration::from_secs(120);
/// The maximum of waiting places in one environment.
pub const MAX_PLACES_PER_ENVIRONMENT: usize = 500;
/// The maximum of waiting places that one user has through `ci` and `agent` tokens, in all environments of an
/// organization.
pub const MAX_PLACES_PER_USER: i64 = 50;
/// How many timed-out waiters one settling ends, so that its transaction stays short however many time out
/// together.
pub const SETTLE_BATCH_SIZE: usize = 200;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Waiter {
    pub session: SessionId,
    pub owner: Owner,
    /// The kind of the token that it was queued with.
    pub kind: TokenKind,
    pub terms: LeaseTerms,
    pub heartbeat_at: Timestamp,
    /// How long it keeps its place after a heartbeat.
    pub timeout: SignedDuration,
    /// The current rights of its user.
    pub rights: Rights,
}

/// Returns how long a waiter keeps its place after a heartbeat: a person for the environment's `max_stay`, a program for
/// the time in which it has to send the next one.
pub const fn timeout_of(kind: TokenKind, max_stay: SignedDuration) -> SignedDuration {
    match kind {
        TokenKind::User => max_stay,
        TokenKind::Ci | TokenKind::Agent => HEARTBEAT_TIMEOUT,
    }
}

/// Returns until when a waiter keeps its place after a heartbeat.
pub fn heartbeat_deadline(heartbeat_at: Timestamp, timeout: SignedDuration) -> Timestamp {
    heartbeat_at.checked_add(timeout).unwrap_or(Timestamp::MAX)
}

impl Waiter {
    pub fn heartbeat_deadline(&self) -> Timestamp {
        heartbeat_deadline(self.heartbeat_at, self.timeout)
    }

    pub fn is_present(&self, now: Timestamp) -> bool {
        now.duration_since(self.heartbeat_at) <= self.timeout
    }

    /// Returns the event's reason for the end of its place by the timeout. There is none for a program, whose timeout is
    /// the same everywhere.
    pub fn timeout_reason(&self) -> Option<&'static str> {
        (self.kind == TokenKind::User).then_some("no heartbeat within `queue.maxStay`")
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Queue(VecDeque<Waiter>);

impl Queue {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Waiter> {
        self.0.iter()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Waiter> {
        self.0.iter_mut()
    }

    /// Returns the waiters whose heartbeat has not timed out.
    pub fn present(&self, now: Timestamp) -> impl Iterator<Item = &Waiter> {
        self.0.iter().filter(move |waiter| waiter.is_present(now))
    }

    pub fn find(&self, session: SessionId) -> Option<&Waiter> {
        self.0.iter().find(|waiter| waiter.session == session)
    }

    /// Returns the position of a session, starting at 1.
    pub fn position(&self, session: SessionId) -> Option<usize> {
        self.0.iter().position(|waiter| waiter.session == session).map(|index| index + 1)
    }

    #[must_use]
    pub fn joined(mut self, waiter: Waiter) -> Self {
        self.0.push_back(waiter);
        self
    }

    /// Removes the session, if it waits.
    #[must_use]
    pub fn without(mut self, session: SessionId) -> Self {
        self.0.retain(|waiter| waiter.session != session);
        self
    }

    #[must_use]
    pub fn with_heartbeat(mut self, session: SessionId, now: Timestamp) -> Self {
        for waiter in self.0.iter_mut().filter(|waiter| waiter.session == session && waiter.is_present(now)) {
            waiter.heartbeat_at = waiter.heartbeat_at.max(now);
        }
        self
    }

    /// Removes timed-out waiters: at most a batch of them, and always `affected` if it is one.
    pub fn without_timed_out(self, now: Timestamp, affected: Option<SessionId>) -> (Self, Vec<Waiter>) {
        let mut gone = Vec::new();
        let mut rest = VecDeque::with_capacity(self.0.len());
        for waiter in self.0 {
            let ends = gone.len() < SETTLE_BATCH_SIZE || affected == Some(waiter.session);
            if ends && !waiter.is_present(now) {
                gone.push(waiter);
            } else {
                rest.push_back(waiter);
            }
        }
        (Self(rest), gone)
    }

    /// Returns the first waiter whose heartbeat has not timed out, and the queue without it.
    pub fn next(mut self, now: Timestamp) -> (Option<Waiter>, Self) {
        let first = self.0.iter().position(|waiter| waiter.is_present(now));
        let first = first.and_then(|index| self.0.remove(index));
        (first, self)
    }
}
