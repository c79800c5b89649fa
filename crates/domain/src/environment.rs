//! An environment's lock and queue together: the specification that the SQL is held to.
//!
//! Every command first settles what the clock has decided (a lease that ran out, a waiter whose turn has come), so that it
//! does not matter whether, and how often, a sweeper ran in between.

use jiff::{SignedDuration, Timestamp};

use crate::id::{PipelineId, SessionId, UserId};
use crate::lease::Lease;
use crate::lock::{Claim, Handover, Held, Lock, OnSilence};
use crate::queue::{PLACES_PER_ENVIRONMENT, PLACES_PER_USER, Queue, Waiting};
use crate::rights::{Barred, Rights};
use crate::session::SessionEnd;
use crate::token::TokenKind;

/// What an environment's events are about: its path below the organization.
pub fn subject(pipeline: PipelineId, name: &str) -> String {
    format!("pipelines/{pipeline}/ephemeral-environments/{name}")
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct EnvironmentState {
    pub lock: Lock,
    pub queue: Queue,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    Claim(Claim),
    /// Claims, or waits for the turn.
    Queue(Claim),
    /// Takes over whatever is held. The queue stays as it is.
    Force(Claim),
    /// Lets go, or leaves the queue.
    Release(SessionId),
    Renew(SessionId),
    /// A heartbeat: a waiting session keeps its place, a granted one is confirmed.
    Hear(SessionId),
    /// A stream of this session is open: a waiting session keeps its place. It never confirms a grant.
    Attend(SessionId),
    /// The holder gives its lock to somebody else, past the queue.
    Transfer {
        from: SessionId,
        to: Claim,
    },
    /// Asks the holder of a session to let go within `grace`, and waits for the turn. `by` is the session to wait with, unless
    /// the user waits already.
    RequestHandover {
        of: SessionId,
        by: Claim,
        grace: SignedDuration,
    },
    /// The holder lets go, as it was asked to.
    AcceptHandover(SessionId),
    /// The holder keeps it. Who asked stays in the queue.
    DeclineHandover(SessionId),
    /// Nobody asks for anything; time has passed.
    Sweep,
}

impl Command {
    /// The session that it is about, if that exists already.
    fn session(&self) -> Option<SessionId> {
        match *self {
            Self::Release(session)
            | Self::Renew(session)
            | Self::Hear(session)
            | Self::Attend(session)
            | Self::AcceptHandover(session)
            | Self::DeclineHandover(session)
            | Self::Transfer { from: session, .. }
            | Self::RequestHandover { of: session, .. } => Some(session),
            Self::Claim(_) | Self::Queue(_) | Self::Force(_) | Self::Sweep => None,
        }
    }
}

impl EnvironmentState {
    /// When the clock next has something to decide here, if nothing happens before.
    pub fn due(&self) -> Option<Timestamp> {
        let lease = self.lock.held.iter().map(|held| held.lease.expires_at);
        let asked = self.lock.held.iter().filter_map(|held| held.handover).map(|asked| asked.due_at);
        lease.chain(asked).chain(self.queue.iter().map(Waiting::patience_ends)).min()
    }
}

/// What has to be written down, and told.
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
    /// The holder of `session` has been asked to let go, by who waits with `by`.
    HandoverRequested {
        session: SessionId,
        by: SessionId,
        due_at: Timestamp,
    },
    HandoverDeclined {
        session: SessionId,
        by: SessionId,
    },
    /// Nobody answered, and silence does not accept this request. `by` stays in the queue.
    HandoverLapsed {
        session: SessionId,
        by: SessionId,
    },
    /// The turn of a waiting session came, and it may not hold the environment: it has ended as canceled.
    Skipped {
        session: SessionId,
        why: Barred,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// Held by another user.
    Locked { session: SessionId },
    /// Held by the user who asks, in this session.
    HeldByYou { session: SessionId },
    /// Free, but others were there first.
    OthersWait,
    /// The session neither holds nor waits any more.
    NotActive,
    /// The holder has been asked already, by who waits with this session.
    HandoverPending { by: SessionId },
    /// Nobody has asked the holder to let go.
    NoHandover,
    /// The user waits already, with this session.
    AlreadyQueued { session: SessionId, position: usize },
    /// The environment has no waiting place left.
    QueueFull,
    /// The user has taken all waiting places that `ci` and `agent` tokens may.
    PlacesUsedUp,
}

pub type Applied = Result<Vec<Effect>, Refusal>;

/// Settles, then carries out `command`. A refusal changes nothing beyond the settling.
pub fn apply(
    state: EnvironmentState,
    now: Timestamp,
    command: Command,
) -> (EnvironmentState, Vec<Effect>, Applied) {
    let (state, settled) = settle_about(state, now, command.session());
    let (state, applied) = match command {
        Command::Claim(claim) => match obstacle(&state, claim.user, now) {
            None => granted(state, claim, Lease::claimed(now, claim.terms)),
            Some(refusal) => (state, Err(refusal)),
        },
        Command::Queue(claim) => match obstacle(&state, claim.user, now) {
            None => granted(state, claim, Lease::claimed(now, claim.terms)),
            Some(_) => queued(state, claim, now),
        },
        Command::Force(claim) => taken_over(state, claim, now, SessionEnd::Overridden),
        Command::Transfer { from, to } if state.lock.is_held_by(from, now) => {
            taken_over(state, to, now, SessionEnd::Released)
        }
        Command::Transfer { .. } => (state, Err(Refusal::NotActive)),
        Command::Release(session) => released(state, session, now),
        Command::Renew(session) if state.lock.is_held_by(session, now) => {
            (EnvironmentState { lock: state.lock.renewed(now), ..state }, Ok(Vec::new()))
        }
        Command::Renew(_) => (state, Err(Refusal::NotActive)),
        Command::RequestHandover { of, by, grace } => requested(state, now, of, by, grace),
        Command::AcceptHandover(session) => match answered(&state, session, now) {
            Ok(_) => released(state, session, now),
            Err(refusal) => (state, Err(refusal)),
        },
        Command::DeclineHandover(session) => match answered(&state, session, now) {
            Ok(Handover { session: by, .. }) => {
                let declined = Effect::HandoverDeclined { session, by };
                (EnvironmentState { lock: state.lock.asked(None), ..state }, Ok(vec![declined]))
            }
            Err(refusal) => (state, Err(refusal)),
        },
        Command::Hear(session) => (heard(state, session, now), Ok(Vec::new())),
        Command::Attend(session) => {
            (EnvironmentState { queue: state.queue.heard(session, now), ..state }, Ok(Vec::new()))
        }
        Command::Sweep => (state, Ok(Vec::new())),
    };
    (state, settled, applied)
}

/// What the clock alone decides: a request for hand-over that nobody answered is accepted or lapses, a lease that is over has
/// ended, silent waiters have left (a batch of them; whoever has left requests nothing any more), and a free lock goes to the
/// first in the queue who may hold it.
pub fn settle(state: EnvironmentState, now: Timestamp) -> (EnvironmentState, Vec<Effect>) {
    settle_about(state, now, None)
}

/// Settles before a command on a session, whose own silence is settled however many others fell silent.
fn settle_about(
    state: EnvironmentState,
    now: Timestamp,
    about: Option<SessionId>,
) -> (EnvironmentState, Vec<Effect>) {
    let EnvironmentState { mut lock, mut queue } = state;
    let mut effects = Vec::new();
    if let Some((session, asked)) = unanswered(&lock, &queue, now) {
        if asked.is_accepted_by_silence() {
            effects.push(Effect::Ended { session, end: SessionEnd::Released });
            lock = lock.ended();
        } else {
            effects.push(Effect::HandoverLapsed { session, by: asked.session });
            lock = lock.asked(None);
        }
    }
    if let Some(held) = lock.held.clone().filter(|held| held.lease.is_over(now)) {
        // Whoever never showed up for the turn it was given did not hold anything that could expire.
        let end = if held.lease.confirmed { SessionEnd::Expired } else { SessionEnd::Canceled };
        effects.push(Effect::Ended { session: held.session, end });
        lock = lock.ended();
    }
    let (there, gone) = queue.present(now, about);
    queue = there;
    effects
        .extend(gone.iter().map(|gone| Effect::Ended { session: gone.session, end: SessionEnd::Canceled }));
    let asked = lock.held.as_ref().and_then(|held| held.handover);
    let waits = |asked: &Handover| queue.there(now).any(|waiting| waiting.session == asked.session);
    lock = lock.asked(asked.filter(waits));
    while lock.held.is_none() {
        let (next, rest) = queue.next(now);
        queue = rest;
        let Some(Waiting { session, user, terms, rights, .. }) = next else { break };
        if let Some(why) = rights.barred {
            effects.push(Effect::Skipped { session, why });
            continue;
        }
        lock = lock.granted(session, user, Lease::from_queue(now, terms));
        effects.push(Effect::Granted { session, fence: lock.fence });
    }
    (EnvironmentState { lock, queue }, effects)
}

/// The held session, and a request for it whose time is up: by who still waited at that moment, and before the lease ended.
fn unanswered(lock: &Lock, queue: &Queue, now: Timestamp) -> Option<(SessionId, Handover)> {
    let Held { session, lease, handover, .. } = lock.held.as_ref()?;
    let is_due = |asked: &Handover| asked.due_at <= now && asked.due_at < lease.expires_at;
    let asked = handover.filter(is_due)?;
    let waited = queue.find(asked.session).is_some_and(|waiting| waiting.is_there(asked.due_at));
    waited.then_some((*session, asked))
}

/// Why a plain claim can't be granted. The state must be settled, so a free lock has nobody waiting for it.
fn obstacle(state: &EnvironmentState, user: UserId, now: Timestamp) -> Option<Refusal> {
    match &state.lock.held {
        Some(held) if held.user == user => Some(Refusal::HeldByYou { session: held.session }),
        Some(held) => Some(Refusal::Locked { session: held.session }),
        None if state.queue.there(now).next().is_some() => Some(Refusal::OthersWait),
        None => None,
    }
}

fn granted(state: EnvironmentState, claim: Claim, lease: Lease) -> (EnvironmentState, Applied) {
    let lock = state.lock.granted(claim.session, claim.user, lease);
    let effects = vec![Effect::Granted { session: claim.session, fence: lock.fence }];
    (EnvironmentState { lock, ..state }, Ok(effects))
}

fn queued(state: EnvironmentState, claim: Claim, now: Timestamp) -> (EnvironmentState, Applied) {
    if let Some(refusal) = no_place(&state.queue, &claim, now) {
        return (state, Err(refusal));
    }
    let Claim { session, user, kind, terms, can_force, .. } = claim;
    let rights = Rights { barred: None, can_force };
    let queue = state.queue.joined(Waiting { session, user, kind, terms, heard_at: now, rights });
    (EnvironmentState { queue, ..state }, Ok(vec![Effect::Queued { session }]))
}

/// Why nobody can join the queue with this claim: a person has one place, programs share their user's, and a queue has an end.
fn no_place(queue: &Queue, claim: &Claim, now: Timestamp) -> Option<Refusal> {
    let is_person = claim.kind == TokenKind::User;
    let own = |waiting: &&Waiting| waiting.user == claim.user && waiting.kind == TokenKind::User;
    if let Some(waiting) = queue.there(now).find(own).filter(|_| is_person) {
        let position = queue.position(waiting.session).unwrap_or_default();
        return Some(Refusal::AlreadyQueued { session: waiting.session, position });
    }
    if !is_person && claim.places >= PLACES_PER_USER {
        return Some(Refusal::PlacesUsedUp);
    }
    (queue.there(now).count() >= PLACES_PER_ENVIRONMENT).then_some(Refusal::QueueFull)
}

fn requested(
    state: EnvironmentState,
    now: Timestamp,
    of: SessionId,
    by: Claim,
    grace: SignedDuration,
) -> (EnvironmentState, Applied) {
    let refusal = match state.lock.holder(now).filter(|held| held.session == of) {
        None => Some(Refusal::NotActive),
        Some(held) if held.user == by.user => Some(Refusal::HeldByYou { session: of }),
        Some(held) => held.handover.map(|asked| Refusal::HandoverPending { by: asked.session }),
    };
    if let Some(refusal) = refusal {
        return (state, Err(refusal));
    }
    let waits = state.queue.there(now).find(|waiting| waiting.user == by.user);
    let waits = waits.map(|waiting| waiting.session);
    let (state, mut effects) = match waits {
        Some(session) => (heard(state, session, now), Vec::new()),
        None => match queued(state, by, now) {
            (state, Ok(effects)) => (state, effects),
            refused => return refused,
        },
    };
    let asks = waits.unwrap_or(by.session);
    let due_at = now.checked_add(grace).unwrap_or(Timestamp::MAX);
    effects.push(Effect::HandoverRequested { session: of, by: asks, due_at });
    let (on_silence, can_force) = (OnSilence::of(by.can_force), by.can_force);
    let lock = state.lock.asked(Some(Handover { session: asks, due_at, on_silence, can_force }));
    (EnvironmentState { lock, ..state }, Ok(effects))
}

/// What the holder of this session has been asked.
fn answered(state: &EnvironmentState, session: SessionId, now: Timestamp) -> Result<Handover, Refusal> {
    let held = state.lock.holder(now).filter(|held| held.session == session).ok_or(Refusal::NotActive)?;
    held.handover.ok_or(Refusal::NoHandover)
}

fn taken_over(
    state: EnvironmentState,
    claim: Claim,
    now: Timestamp,
    end: SessionEnd,
) -> (EnvironmentState, Applied) {
    let mut effects = Vec::new();
    if let Some(held) = &state.lock.held {
        effects.push(Effect::Ended { session: held.session, end });
    }
    let lock = state.lock.ended().granted(claim.session, claim.user, Lease::claimed(now, claim.terms));
    effects.push(Effect::Granted { session: claim.session, fence: lock.fence });
    (EnvironmentState { lock, ..state }, Ok(effects))
}

/// Releasing what has ended already changes nothing, so that it can be repeated safely.
fn released(state: EnvironmentState, session: SessionId, now: Timestamp) -> (EnvironmentState, Applied) {
    if state.queue.position(session).is_some() {
        let queue = state.queue.without(session);
        // Who has left asks for nothing any more.
        let asked = state.lock.held.as_ref().and_then(|held| held.handover);
        let lock = state.lock.asked(asked.filter(|asked| asked.session != session));
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

fn heard(state: EnvironmentState, session: SessionId, now: Timestamp) -> EnvironmentState {
    let takes_up =
        state.lock.held.as_ref().is_some_and(|held| held.session == session && !held.lease.confirmed);
    let lock = if takes_up { state.lock.renewed(now) } else { state.lock };
    EnvironmentState { lock, queue: state.queue.heard(session, now) }
}
