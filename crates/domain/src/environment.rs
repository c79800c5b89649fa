//! The state machine of an environment's lock and queue. Tests check that the SQL does the same.
//!
//! Every command first settles the state: it applies what time alone has changed (an expired lease, a waiter
//! whose turn has come). So the result does not depend on whether, and how often, a sweeper ran in between.

use jiff::{SignedDuration, Timestamp};

use crate::id::{PipelineId, SessionId};
use crate::lease::Lease;
use crate::lock::{Claim, Handover, Lock, LockHolder, OnSilence};
use crate::queue::{MAX_PLACES_PER_ENVIRONMENT, MAX_PLACES_PER_USER, Queue, Waiter, timeout_of};
use crate::rights::{Barred, Rights};
use crate::session::SessionEnd;
use crate::token::TokenKind;

/// Returns the subject of an environment's events: its path below the organization.
pub fn subject(pipeline: PipelineId, name: &str) -> String {
    format!("pipelines/{pipeline}/ephemeral-environments/{name}")
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct EnvironmentState {
    pub lock: Lock,
    pub queue: Queue,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LockCommand<'a> {
    Claim(Claim<'a>),
    /// Claims the environment, or joins the queue.
    Queue(Claim<'a>),
    /// Takes over the lock from its holder, if any. The queue stays unchanged.
    Force(Claim<'a>),
    /// Releases the lock, or leaves the queue.
    Release(SessionId),
    Renew(SessionId),
    /// A heartbeat: a waiting session keeps its place, and a granted one is confirmed.
    Heartbeat(SessionId),
    /// A heartbeat on behalf of an open stream: a waiting session keeps its place. It never confirms a grant.
    StreamHeartbeat(SessionId),
    /// The holder transfers its lock to another user, bypassing the queue.
    Transfer {
        from: SessionId,
        to: Claim<'a>,
    },
    /// Requests that the holder of a session releases it within `grace`, and joins the queue with the session
    /// `by`, unless the user waits already.
    RequestHandover {
        of: SessionId,
        by: Claim<'a>,
        grace: SignedDuration,
    },
    /// The holder accepts the request for hand-over and releases the lock.
    AcceptHandover(SessionId),
    /// The holder keeps the lock. The requester stays in the queue.
    DeclineHandover(SessionId),
    /// Only settles.
    Sweep,
}

impl LockCommand<'_> {
    /// Returns the session that the command affects, if it exists already.
    fn session(&self) -> Option<SessionId> {
        match *self {
            Self::Release(session)
            | Self::Renew(session)
            | Self::Heartbeat(session)
            | Self::StreamHeartbeat(session)
            | Self::AcceptHandover(session)
            | Self::DeclineHandover(session)
            | Self::Transfer { from: session, .. }
            | Self::RequestHandover { of: session, .. } => Some(session),
            Self::Claim(_) | Self::Queue(_) | Self::Force(_) | Self::Sweep => None,
        }
    }
}

impl EnvironmentState {
    /// Returns when time alone next changes the state, if no command comes before.
    pub fn next_due_at(&self) -> Option<Timestamp> {
        let lease = self.lock.held.iter().map(|held| held.lease.expires_at);
        let handover = self.lock.held.iter().filter_map(|held| held.handover).map(|handover| handover.due_at);
        lease.chain(handover).chain(self.queue.iter().map(Waiter::heartbeat_deadline)).min()
    }
}

/// A change that has to be stored and recorded as an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    Granted {
        session: SessionId,
        fence: i64,
    },
    Queued {
        session: SessionId,
    },
    Ended {
        session: SessionId,
        end: SessionEnd,
    },
    /// The waiter with the session `by` has requested a hand-over of `session`.
    HandoverRequested {
        session: SessionId,
        by: SessionId,
        due_at: Timestamp,
    },
    HandoverDeclined {
        session: SessionId,
        by: SessionId,
    },
    /// The request was not answered in time, which does not accept it. `by` stays in the queue.
    HandoverLapsed {
        session: SessionId,
        by: SessionId,
    },
    /// The turn of a waiting session came, but it may not hold the environment, so it was canceled.
    Skipped {
        session: SessionId,
        why: Barred,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// Held by another owner.
    Locked { session: SessionId },
    /// Held by the same owner, in this session.
    HeldByYou { session: SessionId },
    /// Free, but other sessions wait for it.
    OthersWait,
    /// The session no longer holds the lock or waits for it.
    NotActive,
    /// The waiter with this session has already requested a hand-over.
    HandoverPending { by: SessionId },
    /// There is no request for hand-over.
    NoHandover,
    /// The user already waits with this session.
    AlreadyQueued { session: SessionId, position: usize },
    /// All waiting places of the environment are taken.
    QueueFull,
    /// The user has as many waiting places as `ci` and `agent` tokens may have.
    PlacesUsedUp,
    /// The token, or one that it was made by, holds as many sessions as it may.
    SessionLimit,
}

pub type Applied = Result<Vec<Effect>, Refusal>;

/// Settles, then applies `command`. A refused command changes nothing beyond the settling.
pub fn apply(
    state: EnvironmentState,
    now: Timestamp,
    command: LockCommand<'_>,
) -> (EnvironmentState, Vec<Effect>, Applied) {
    let (state, settled) = settle_for(state, now, command.session());
    let (state, applied) = match command {
        LockCommand::Claim(claim) => match claim_refusal(&state, &claim, now) {
            None => granted(state, claim, Lease::claimed(now, claim.terms)),
            Some(refusal) => (state, Err(refusal)),
        },
        LockCommand::Queue(claim) => match claim_refusal(&state, &claim, now) {
            None => granted(state, claim, Lease::claimed(now, claim.terms)),
            Some(_) => queued(state, claim, now),
        },
        LockCommand::Force(claim) if claim.is_at_session_limit => (state, Err(Refusal::SessionLimit)),
        LockCommand::Force(claim) => taken_over(state, claim, now, SessionEnd::Overridden),
        LockCommand::Transfer { from, to } if state.lock.is_held_by(from, now) => {
            taken_over(state, to, now, SessionEnd::Released)
        }
        LockCommand::Transfer { .. } => (state, Err(Refusal::NotActive)),
        LockCommand::Release(session) => released(state, session, now),
        LockCommand::Renew(session) if state.lock.is_held_by(session, now) => {
            (EnvironmentState { lock: state.lock.renewed(now), ..state }, Ok(Vec::new()))
        }
        LockCommand::Renew(_) => (state, Err(Refusal::NotActive)),
        LockCommand::RequestHandover { of, by, grace } => requested(state, now, of, by, grace),
        LockCommand::AcceptHandover(session) => match pending_handover(&state, session, now) {
            Ok(_) => released(state, session, now),
            Err(refusal) => (state, Err(refusal)),
        },
        LockCommand::DeclineHandover(session) => match pending_handover(&state, session, now) {
            Ok(Handover { session: by, .. }) => {
                let declined = Effect::HandoverDeclined { session, by };
                (EnvironmentState { lock: state.lock.with_handover(None), ..state }, Ok(vec![declined]))
            }
            Err(refusal) => (state, Err(refusal)),
        },
        LockCommand::Heartbeat(session) => (with_heartbeat(state, session, now), Ok(Vec::new())),
        LockCommand::StreamHeartbeat(session) => {
            (EnvironmentState { queue: state.queue.with_heartbeat(session, now), ..state }, Ok(Vec::new()))
        }
        LockCommand::Sweep => (state, Ok(Vec::new())),
    };
    (state, settled, applied)
}

/// Applies what time alone has changed. An unanswered request for hand-over is accepted or lapses. The
/// session of an expired lease ends. Waiters whose heartbeat timed out leave the queue (a batch of them), and
/// with them their requests for hand-over. A free lock is granted to the first waiter that may hold it.
pub fn settle(state: EnvironmentState, now: Timestamp) -> (EnvironmentState, Vec<Effect>) {
    settle_for(state, now, None)
}

/// Settles before a command on the session `affected`. If that session has timed out in the queue, it leaves
/// the queue now, even if the batch is already full.
fn settle_for(
    state: EnvironmentState,
    now: Timestamp,
    affected: Option<SessionId>,
) -> (EnvironmentState, Vec<Effect>) {
    let EnvironmentState { mut lock, mut queue } = state;
    let mut effects = Vec::new();
    if let Some((session, handover)) = unanswered_handover(&lock, &queue, now) {
        if handover.is_accepted_by_silence() {
            effects.push(Effect::Ended { session, end: SessionEnd::Released });
            lock = lock.ended();
        } else {
            effects.push(Effect::HandoverLapsed { session, by: handover.session });
            lock = lock.with_handover(None);
        }
    }
    if let Some(held) = lock.held.clone().filter(|held| held.lease.is_over(now)) {
        let end = SessionEnd::of_expired_lease(held.lease.confirmed);
        effects.push(Effect::Ended { session: held.session, end });
        lock = lock.ended();
    }
    let (present, timed_out) = queue.without_timed_out(now, affected);
    queue = present;
    effects.extend(
        timed_out.iter().map(|waiter| Effect::Ended { session: waiter.session, end: SessionEnd::Canceled }),
    );
    let handover = lock.held.as_ref().and_then(|held| held.handover);
    let is_waiting =
        |handover: &Handover| queue.present(now).any(|waiter| waiter.session == handover.session);
    lock = lock.with_handover(handover.filter(is_waiting));
    while lock.held.is_none() {
        let (next, rest) = queue.next(now);
        queue = rest;
        let Some(Waiter { session, owner, terms, rights, .. }) = next else { break };
        if let Some(why) = rights.barred {
            effects.push(Effect::Skipped { session, why });
            continue;
        }
        lock = lock.granted(session, owner, Lease::from_queue(now, terms));
        effects.push(Effect::Granted { session, fence: lock.fence });
    }
    (EnvironmentState { lock, queue }, effects)
}

/// Returns the session of the holder and the request for hand-over that it has not answered, if the deadline
/// of the request passed before the lease ended and while the requester still waited.
fn unanswered_handover(lock: &Lock, queue: &Queue, now: Timestamp) -> Option<(SessionId, Handover)> {
    let LockHolder { session, lease, handover, .. } = lock.held.as_ref()?;
    let is_due = |handover: &Handover| handover.due_at <= now && handover.due_at < lease.expires_at;
    let handover = handover.filter(is_due)?;
    let waited = queue.find(handover.session).is_some_and(|waiter| waiter.is_present(handover.due_at));
    waited.then_some((*session, handover))
}

/// Returns why a plain claim can't be granted. The state must be settled: expired leases would count as held
/// otherwise.
fn claim_refusal(state: &EnvironmentState, claim: &Claim<'_>, now: Timestamp) -> Option<Refusal> {
    match &state.lock.held {
        Some(held) if claim.owns(held.owner) => Some(Refusal::HeldByYou { session: held.session }),
        Some(held) => Some(Refusal::Locked { session: held.session }),
        None if state.queue.present(now).next().is_some() => Some(Refusal::OthersWait),
        None => None,
    }
}

fn granted(state: EnvironmentState, claim: Claim<'_>, lease: Lease) -> (EnvironmentState, Applied) {
    if claim.is_at_session_limit {
        return (state, Err(Refusal::SessionLimit));
    }
    let lock = state.lock.granted(claim.session, claim.owner, lease);
    let effects = vec![Effect::Granted { session: claim.session, fence: lock.fence }];
    (EnvironmentState { lock, ..state }, Ok(effects))
}

fn queued(state: EnvironmentState, claim: Claim<'_>, now: Timestamp) -> (EnvironmentState, Applied) {
    if let Some(refusal) = queue_refusal(&state.queue, &claim, now) {
        return (state, Err(refusal));
    }
    let Claim { session, owner, kind, terms, max_stay, can_force, .. } = claim;
    let rights = Rights { barred: None, can_force };
    let timeout = timeout_of(kind, max_stay);
    let queue =
        state.queue.joined(Waiter { session, owner, kind, terms, heartbeat_at: now, timeout, rights });
    (EnvironmentState { queue, ..state }, Ok(vec![Effect::Queued { session }]))
}

/// Returns why this claim can't join the queue: a person has one place, the programs of a user share a number
/// of places, and a queue has a maximum length.
fn queue_refusal(queue: &Queue, claim: &Claim<'_>, now: Timestamp) -> Option<Refusal> {
    let is_person = claim.kind == TokenKind::User;
    let own = |waiter: &&Waiter| waiter.owner == claim.owner && waiter.kind == TokenKind::User;
    if let Some(waiter) = queue.present(now).find(own).filter(|_| is_person) {
        let position = queue.position(waiter.session).unwrap_or_default();
        return Some(Refusal::AlreadyQueued { session: waiter.session, position });
    }
    if !is_person && claim.places >= MAX_PLACES_PER_USER {
        return Some(Refusal::PlacesUsedUp);
    }
    (queue.present(now).count() >= MAX_PLACES_PER_ENVIRONMENT).then_some(Refusal::QueueFull)
}

fn requested(
    state: EnvironmentState,
    now: Timestamp,
    of: SessionId,
    by: Claim<'_>,
    grace: SignedDuration,
) -> (EnvironmentState, Applied) {
    let refusal = match state.lock.holder(now).filter(|held| held.session == of) {
        None => Some(Refusal::NotActive),
        Some(held) if by.owns(held.owner) => Some(Refusal::HeldByYou { session: of }),
        Some(held) => held.handover.map(|handover| Refusal::HandoverPending { by: handover.session }),
    };
    if let Some(refusal) = refusal {
        return (state, Err(refusal));
    }
    let waiting_session = state.queue.present(now).find(|waiter| by.owns(waiter.owner));
    let waiting_session = waiting_session.map(|waiter| waiter.session);
    let (state, mut effects) = match waiting_session {
        Some(session) => (with_heartbeat(state, session, now), Vec::new()),
        None => match queued(state, by, now) {
            (state, Ok(effects)) => (state, effects),
            refused => return refused,
        },
    };
    let requester = waiting_session.unwrap_or(by.session);
    let due_at = now.checked_add(grace).unwrap_or(Timestamp::MAX);
    effects.push(Effect::HandoverRequested { session: of, by: requester, due_at });
    let (on_silence, can_force) = (OnSilence::of(by.can_force), by.can_force);
    let lock = state.lock.with_handover(Some(Handover { session: requester, due_at, on_silence, can_force }));
    (EnvironmentState { lock, ..state }, Ok(effects))
}

/// Returns the request for hand-over that the holder of this session can answer.
fn pending_handover(
    state: &EnvironmentState,
    session: SessionId,
    now: Timestamp,
) -> Result<Handover, Refusal> {
    let held = state.lock.holder(now).filter(|held| held.session == session).ok_or(Refusal::NotActive)?;
    held.handover.ok_or(Refusal::NoHandover)
}

fn taken_over(
    state: EnvironmentState,
    claim: Claim<'_>,
    now: Timestamp,
    end: SessionEnd,
) -> (EnvironmentState, Applied) {
    let mut effects = Vec::new();
    if let Some(held) = &state.lock.held {
        effects.push(Effect::Ended { session: held.session, end });
    }
    let lock = state.lock.ended().granted(claim.session, claim.owner, Lease::claimed(now, claim.terms));
    effects.push(Effect::Granted { session: claim.session, fence: lock.fence });
    (EnvironmentState { lock, ..state }, Ok(effects))
}

/// Idempotent: releasing a session that has ended changes nothing.
fn released(state: EnvironmentState, session: SessionId, now: Timestamp) -> (EnvironmentState, Applied) {
    if state.queue.position(session).is_some() {
        let queue = state.queue.without(session);
        // The request for hand-over of a session ends when the session leaves the queue.
        let handover = state.lock.held.as_ref().and_then(|held| held.handover);
        let lock = state.lock.with_handover(handover.filter(|handover| handover.session != session));
        let left = Effect::Ended { session, end: SessionEnd::Canceled };
        return (EnvironmentState { lock, queue }, Ok(vec![left]));
    }
    if !state.lock.is_held_by(session, now) {
        return (state, Ok(Vec::new()));
    }
    let mut effects = vec![Effect::Ended { session, end: SessionEnd::Released }];
    let (state, next) = settle(EnvironmentState { lock: state.lock.ended(), ..state }, now);
    effects.extend(next);
    (state, Ok(effects))
}

fn with_heartbeat(state: EnvironmentState, session: SessionId, now: Timestamp) -> EnvironmentState {
    let confirms =
        state.lock.held.as_ref().is_some_and(|held| held.session == session && !held.lease.confirmed);
    let lock = if confirms { state.lock.renewed(now) } else { state.lock };
    EnvironmentState { lock, queue: state.queue.with_heartbeat(session, now) }
}
