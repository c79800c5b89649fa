//! An environment of the model: the machine's state, and a record of the machine's effects on each session.

use greenroom_domain::environment::{self, Applied, Effect, EnvironmentState, LockCommand};
use greenroom_domain::event::EventType;
use greenroom_domain::id::SessionId;
use greenroom_domain::lease::{Lease, LeaseTerms};
use greenroom_domain::queue::Waiter;
use greenroom_domain::rights::Barred;
use greenroom_domain::session::{SessionEnd, SessionStatus};
use jiff::Timestamp;

use crate::expected_event::ExpectedEvent;
use crate::model::{Request, could_force, user_id, user_of};
use crate::step::PEOPLE;

/// The names of the users in the shared fixture.
const USER_NAMES: [&str; PEOPLE] = ["Ada", "Ben", "Cleo"];

#[derive(Clone, Debug, Default)]
pub struct Environment {
    pub state: EnvironmentState,
    /// In order of creation. A session's ordinal is its index here plus 1.
    pub sessions: Vec<Record>,
    pub used_at: Option<Timestamp>,
    pub free_since: Option<Timestamp>,
    /// The session whose deployment has the work slot.
    pub slot: Option<SessionId>,
    /// The context and the time of the pending hand-over request.
    pub handover_request: Option<(Option<String>, Timestamp)>,
}

#[derive(Clone, Debug)]
pub struct Record {
    pub id: SessionId,
    pub user: usize,
    pub status: SessionStatus,
    pub context: Option<String>,
    pub commit: Option<String>,
    pub terms: LeaseTerms,
    pub fence: Option<i64>,
    pub queued_at: Option<Timestamp>,
    pub heard_at: Option<Timestamp>,
    pub claimed_at: Option<Timestamp>,
    pub expires_at: Option<Timestamp>,
    pub max_expires_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub ended_by: Option<usize>,
    pub override_session: Option<SessionId>,
    pub override_reason: Option<String>,
    /// User, time and context.
    pub declined: Option<(usize, Timestamp, Option<String>)>,
}

impl Environment {
    /// Returns whether the fast path (`grant.rs`) handles the request: a claim of a free lock, or a release
    /// by the holder of a lock with an empty queue and without deployments.
    pub fn is_on_fast_path(&self, request: &Request, now: Timestamp) -> bool {
        let EnvironmentState { lock, queue } = &self.state;
        match request.command {
            LockCommand::Claim(_) => lock.held.is_none() && queue.is_empty(),
            LockCommand::Release(session) => {
                let own = lock.holder(now).is_some_and(|held| held.owner.user == user_id(request.by));
                own && lock.is_held_by(session, now) && queue.is_empty() && self.slot.is_none()
            }
            _ => false,
        }
    }

    pub fn is_due(&self, now: Timestamp) -> bool {
        !environment::settle(self.state.clone(), now).1.is_empty()
    }

    /// Updates the waiters' rights, as the store reads them from now on.
    pub fn update_rights(&mut self, demoted: [bool; PEOPLE]) {
        for waiting in self.state.queue.iter_mut() {
            waiting.rights.barred = demoted[user_of(waiting.owner.user)].then_some(Barred::Role);
        }
        let handover = self.state.lock.held.as_ref().and_then(|held| held.handover);
        let by =
            handover.and_then(|handover| self.sessions.iter().find(|record| record.id == handover.session));
        let can_force = by.is_some_and(|by| could_force(by.user) && !demoted[by.user]);
        if let Some(handover) = self.state.lock.held.as_mut().and_then(|held| held.handover.as_mut()) {
            handover.can_force = can_force;
        }
    }

    /// Executes a request. A refusal changes nothing: the command is rolled back, including its settling.
    pub fn execute(&mut self, request: &Request, now: Timestamp) -> (Applied, Vec<ExpectedEvent>) {
        let before = self.state.clone();
        let (between, _) = environment::settle(before.clone(), now);
        let (after, settled, applied) = environment::apply(before.clone(), now, request.command);
        let Ok(effects) = &applied else { return (applied, Vec::new()) };
        let by = (request.command != LockCommand::Sweep).then_some(request.by);
        let mut events = Vec::new();
        for effect in &settled {
            let effect_context = EffectContext { before: &before, after: &between, request, by: None, now };
            self.write(&effect_context, *effect, &mut events);
        }
        for effect in effects {
            let effect_context = EffectContext { before: &before, after: &after, request, by, now };
            self.write(&effect_context, *effect, &mut events);
        }
        for (effect, by_effect) in
            settled.iter().map(|effect| (effect, None)).chain(effects.iter().map(|effect| (effect, by)))
        {
            self.deploy(*effect, &after, by_effect, &mut events);
        }
        // A lease that has expired has freed the lock when it ended.
        self.free_since = match (&before.lock.held, &after.lock.held) {
            (_, Some(_)) => None,
            (Some(held), None) => Some(held.lease.expires_at.min(now)),
            (None, None) => self.free_since,
        };
        self.state = after;
        self.update_live_sessions();
        (applied, events)
    }

    fn write(&mut self, effect_context: &EffectContext<'_>, effect: Effect, events: &mut Vec<ExpectedEvent>) {
        let EffectContext { before, after, request, by, now } = *effect_context;
        // The system skips waiters, even if a user has released the lock.
        let by = by.filter(|_| !matches!(effect, Effect::Skipped { .. }));
        let mut reason = None;
        match effect {
            Effect::Queued { session } => self.sessions.push(Record {
                queued_at: Some(now),
                heard_at: Some(now),
                ..Record::new(session, request, SessionStatus::Queued)
            }),
            Effect::Granted { session, fence } => {
                if before.queue.position(session).is_none() {
                    self.sessions.push(Record::new(session, request, SessionStatus::Active));
                }
                let lease =
                    after.lock.held.as_ref().filter(|held| held.session == session).map(|held| held.lease);
                let record = self.record(session);
                record.status = SessionStatus::Active;
                (record.fence, record.claimed_at) = (Some(fence), Some(now));
                record.hold(lease);
                if let (LockCommand::Transfer { to, .. }, Some(by)) = (request.command, by)
                    && to.session == session
                {
                    reason = Some(format!("transferred by {}", USER_NAMES[by]));
                }
            }
            Effect::HandoverRequested { .. } => {
                self.handover_request = Some((request.context.clone(), now));
                reason.clone_from(&request.context);
            }
            Effect::HandoverDeclined { by: requester, .. } => {
                self.record(requester).declined = by.map(|by| (by, now, request.context.clone()));
                reason.clone_from(&request.context);
            }
            Effect::HandoverLapsed { .. } => {}
            Effect::Skipped { session, why } => {
                let record = self.record(session);
                record.status = SessionStatus::Canceled;
                record.ended_at = Some(now);
                reason = Some(why.reason().to_owned());
            }
            Effect::Ended { session, end } => {
                if self.slot.take_if(|deploying| *deploying == session).is_some() {
                    events.push(ExpectedEvent::deployment(EventType::DeploymentCanceled, session, by));
                }
                let over = before.lock.held.as_ref().filter(|held| held.session == session);
                let handover = over.and_then(|held| held.handover).filter(|_| by.is_none());
                let over = over.filter(|held| held.lease.is_over(now)).map(|held| held.lease.expires_at);
                // A request that was accepted without a response ended the session when it was due.
                let over = match handover.filter(|_| end == SessionEnd::Released) {
                    Some(handover) => {
                        reason = Some("handed over: its holder did not answer in time".to_owned());
                        Some(handover.due_at)
                    }
                    None => over,
                };
                let record = self.record(session);
                record.status = end.status();
                let timed_out = before.queue.find(session).filter(|waiter| !waiter.is_present(now));
                reason = reason.or(timed_out.and_then(Waiter::timeout_reason).map(str::to_owned));
                // An expired lease ended at its expiry time, not when the expiry was recorded.
                (record.ended_at, record.ended_by) = (over.or(Some(now)), by);
                let command = request.command;
                if matches!(command, LockCommand::AcceptHandover(own) if own == session && by.is_some()) {
                    reason = Some("handed over".to_owned());
                }
                if matches!(command, LockCommand::Transfer { from, .. } if from == session && by.is_some()) {
                    reason = Some(format!("transferred to {}", USER_NAMES[request.user]));
                }
                if let (SessionEnd::Overridden, LockCommand::Force(claim)) = (end, request.command) {
                    record.override_session = Some(claim.session);
                    record.override_reason.clone_from(&request.context);
                    reason.clone_from(&request.context);
                }
            }
        }
        let waited =
            matches!(effect, Effect::Granted { session, .. } if before.queue.position(session).is_some());
        events.push(ExpectedEvent::effect(effect, by, waited, reason));
    }

    /// Deploys the commit of a session that was granted. For a waiter the store does this, for a claim the
    /// use case.
    fn deploy(
        &mut self,
        effect: Effect,
        after: &EnvironmentState,
        by: Option<usize>,
        events: &mut Vec<ExpectedEvent>,
    ) {
        if let Effect::Granted { session, .. } = effect
            && after.lock.held.as_ref().is_some_and(|held| held.session == session)
            && self.record(session).commit.is_some()
        {
            self.slot = Some(session);
            events.push(ExpectedEvent::deployment(EventType::DeploymentQueued, session, by));
        }
    }

    /// Copies the state of live sessions from the machine: the holder's lease, and the waiters' heartbeats.
    fn update_live_sessions(&mut self) {
        let EnvironmentState { lock, queue } = self.state.clone();
        if let Some(held) = lock.held {
            let record = self.record(held.session);
            record.hold(Some(held.lease));
            self.used_at = record.claimed_at;
        }
        if self.state.lock.held.as_ref().is_none_or(|held| held.handover.is_none()) {
            self.handover_request = None;
        }
        for waiting in queue.iter() {
            self.record(waiting.session).heard_at = Some(waiting.heartbeat_at);
        }
    }

    fn record(&mut self, id: SessionId) -> &mut Record {
        self.sessions.iter_mut().find(|record| record.id == id).unwrap()
    }
}

/// The context of an effect.
struct EffectContext<'a> {
    before: &'a EnvironmentState,
    /// The state with the lease of the granted session.
    after: &'a EnvironmentState,
    request: &'a Request,
    by: Option<usize>,
    now: Timestamp,
}

impl Record {
    fn new(id: SessionId, request: &Request, status: SessionStatus) -> Self {
        let (LockCommand::Claim(claim)
        | LockCommand::Queue(claim)
        | LockCommand::Force(claim)
        | LockCommand::RequestHandover { by: claim, .. }
        | LockCommand::Transfer { to: claim, .. }) = request.command
        else {
            unreachable!("only a claim creates a session")
        };
        Self {
            id,
            user: request.user,
            status,
            context: request.context.clone(),
            commit: request.commit.clone(),
            terms: claim.terms,
            fence: None,
            queued_at: None,
            heard_at: None,
            claimed_at: None,
            expires_at: None,
            max_expires_at: None,
            ended_at: None,
            ended_by: None,
            override_session: None,
            override_reason: None,
            declined: None,
        }
    }

    fn hold(&mut self, lease: Option<Lease>) {
        self.expires_at = lease.map(|lease| lease.expires_at);
        self.max_expires_at = lease.map(|lease| lease.max_expires_at);
    }
}
