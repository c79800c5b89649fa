//! An environment as the model has it: the machine's state, and what the machine said of each session, written down.

use greenroom_domain::environment::{self, Applied, Command, Effect, EnvironmentState};
use greenroom_domain::event::EventType;
use greenroom_domain::id::SessionId;
use greenroom_domain::lease::{Lease, LeaseTerms};
use greenroom_domain::rights::Barred;
use greenroom_domain::session::{SessionEnd, SessionStatus};
use jiff::Timestamp;

use crate::model::{Ask, could_force, user_id, user_of};
use crate::step::PEOPLE;
use crate::told::Told;

/// The people of the ground.
const CALLED: [&str; PEOPLE] = ["Ada", "Ben", "Cleo"];

#[derive(Clone, Debug, Default)]
pub struct Environment {
    pub state: EnvironmentState,
    /// In the order in which they came: a session's ordinal is its place here, from 1.
    pub sessions: Vec<Record>,
    pub used_at: Option<Timestamp>,
    /// Whose deployment has the work slot.
    pub slot: Option<SessionId>,
    /// What was given with the pending request for hand-over, and when.
    pub asked: Option<(Option<String>, Timestamp)>,
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
    /// By whom, when, and why.
    pub declined: Option<(usize, Timestamp, Option<String>)>,
}

impl Environment {
    /// What the statements of `grant.rs` are for: a claim of a lock that is free, and a release by the holder itself of one
    /// that nobody waits for and nothing is deployed into.
    pub fn is_done_at_once(&self, ask: &Ask, now: Timestamp) -> bool {
        let EnvironmentState { lock, queue } = &self.state;
        match ask.command {
            Command::Claim(_) => lock.held.is_none() && queue.is_empty(),
            Command::Release(session) => {
                let own = lock.holder(now).is_some_and(|held| held.user == user_id(ask.by));
                own && lock.is_held_by(session, now) && queue.is_empty() && self.slot.is_none()
            }
            _ => false,
        }
    }

    pub fn is_due(&self, now: Timestamp) -> bool {
        !environment::settle(self.state.clone(), now).1.is_empty()
    }

    /// What the database says of the waiters' rights from now on.
    pub fn judge(&mut self, demoted: [bool; PEOPLE]) {
        for waiting in self.state.queue.iter_mut() {
            waiting.rights.barred = demoted[user_of(waiting.user)].then_some(Barred::Role);
        }
        let asked = self.state.lock.held.as_ref().and_then(|held| held.handover);
        let by = asked.and_then(|asked| self.sessions.iter().find(|record| record.id == asked.session));
        let can_force = by.is_some_and(|by| could_force(by.user) && !demoted[by.user]);
        if let Some(asked) = self.state.lock.held.as_mut().and_then(|held| held.handover.as_mut()) {
            asked.can_force = can_force;
        }
    }

    /// A refusal changes nothing: the command is dropped, and what it had settled with it.
    pub fn carry_out(&mut self, ask: &Ask, now: Timestamp) -> (Applied, Vec<Told>) {
        let before = self.state.clone();
        let (between, _) = environment::settle(before.clone(), now);
        let (after, settled, applied) = environment::apply(before.clone(), now, ask.command);
        let Ok(effects) = &applied else { return (applied, Vec::new()) };
        let by = (ask.command != Command::Sweep).then_some(ask.by);
        let mut told = Vec::new();
        for effect in &settled {
            let writing = Writing { before: &before, after: &between, ask, by: None, now };
            self.write(&writing, *effect, &mut told);
        }
        for effect in effects {
            let writing = Writing { before: &before, after: &after, ask, by, now };
            self.write(&writing, *effect, &mut told);
        }
        for (effect, by_effect) in
            settled.iter().map(|effect| (effect, None)).chain(effects.iter().map(|effect| (effect, by)))
        {
            self.deploy(*effect, &after, by_effect, &mut told);
        }
        self.state = after;
        self.catch_up();
        (applied, told)
    }

    fn write(&mut self, writing: &Writing<'_>, effect: Effect, told: &mut Vec<Told>) {
        let Writing { before, after, ask, by, now } = *writing;
        // It is the clock that skips, whoever let go of the lock.
        let by = by.filter(|_| !matches!(effect, Effect::Skipped { .. }));
        let mut reason = None;
        match effect {
            Effect::Queued { session } => self.sessions.push(Record {
                queued_at: Some(now),
                heard_at: Some(now),
                ..Record::new(session, ask, SessionStatus::Queued)
            }),
            Effect::Granted { session, fence } => {
                if before.queue.position(session).is_none() {
                    self.sessions.push(Record::new(session, ask, SessionStatus::Active));
                }
                let lease =
                    after.lock.held.as_ref().filter(|held| held.session == session).map(|held| held.lease);
                let record = self.record(session);
                record.status = SessionStatus::Active;
                (record.fence, record.claimed_at) = (Some(fence), Some(now));
                record.hold(lease);
                if let (Command::Transfer { to, .. }, Some(by)) = (ask.command, by)
                    && to.session == session
                {
                    reason = Some(format!("transferred by {}", CALLED[by]));
                }
            }
            Effect::HandoverRequested { .. } => {
                self.asked = Some((ask.context.clone(), now));
                reason.clone_from(&ask.context);
            }
            Effect::HandoverDeclined { by: requester, .. } => {
                self.record(requester).declined = by.map(|by| (by, now, ask.context.clone()));
                reason.clone_from(&ask.context);
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
                    told.push(Told::deployment(EventType::DeploymentCanceled, session, by));
                }
                let over = before.lock.held.as_ref().filter(|held| held.session == session);
                let asked = over.and_then(|held| held.handover).filter(|_| by.is_none());
                let over = over.filter(|held| held.lease.is_over(now)).map(|held| held.lease.expires_at);
                // A request that silence accepted ended it when the time was up.
                let over = match asked.filter(|_| end == SessionEnd::Released) {
                    Some(asked) => {
                        reason = Some("handed over: its holder did not answer in time".to_owned());
                        Some(asked.due_at)
                    }
                    None => over,
                };
                let record = self.record(session);
                record.status = end.status();
                // A lease that ran out ended then, not when somebody noticed.
                (record.ended_at, record.ended_by) = (over.or(Some(now)), by);
                if matches!(ask.command, Command::AcceptHandover(own) if own == session && by.is_some()) {
                    reason = Some("handed over".to_owned());
                }
                if matches!(ask.command, Command::Transfer { from, .. } if from == session && by.is_some()) {
                    reason = Some(format!("transferred to {}", CALLED[ask.user]));
                }
                if let (SessionEnd::Overridden, Command::Force(claim)) = (end, ask.command) {
                    record.override_session = Some(claim.session);
                    record.override_reason.clone_from(&ask.context);
                    reason.clone_from(&ask.context);
                }
            }
        }
        let waited =
            matches!(effect, Effect::Granted { session, .. } if before.queue.position(session).is_some());
        told.push(Told::effect(effect, by, waited, reason));
    }

    /// Who has the lock now and brought a commit gets it deployed: a waiter by the store, one who claims by the use case.
    fn deploy(&mut self, effect: Effect, after: &EnvironmentState, by: Option<usize>, told: &mut Vec<Told>) {
        if let Effect::Granted { session, .. } = effect
            && after.lock.held.as_ref().is_some_and(|held| held.session == session)
            && self.record(session).commit.is_some()
        {
            self.slot = Some(session);
            told.push(Told::deployment(EventType::DeploymentQueued, session, by));
        }
    }

    /// What the machine's state says of live sessions: the lease of who holds, when waiters were heard.
    fn catch_up(&mut self) {
        let EnvironmentState { lock, queue } = self.state.clone();
        if let Some(held) = lock.held {
            let record = self.record(held.session);
            record.hold(Some(held.lease));
            self.used_at = record.claimed_at;
        }
        if self.state.lock.held.as_ref().is_none_or(|held| held.handover.is_none()) {
            self.asked = None;
        }
        for waiting in queue.iter() {
            self.record(waiting.session).heard_at = Some(waiting.heard_at);
        }
    }

    fn record(&mut self, id: SessionId) -> &mut Record {
        self.sessions.iter_mut().find(|record| record.id == id).unwrap()
    }
}

/// An effect's circumstances.
struct Writing<'a> {
    before: &'a EnvironmentState,
    /// The state that has the lease of who is granted.
    after: &'a EnvironmentState,
    ask: &'a Ask,
    by: Option<usize>,
    now: Timestamp,
}

impl Record {
    fn new(id: SessionId, ask: &Ask, status: SessionStatus) -> Self {
        let (Command::Claim(claim)
        | Command::Queue(claim)
        | Command::Force(claim)
        | Command::RequestHandover { by: claim, .. }
        | Command::Transfer { to: claim, .. }) = ask.command
        else {
            unreachable!("only a claim makes a session")
        };
        Self {
            id,
            user: ask.user,
            status,
            context: ask.context.clone(),
            commit: ask.commit.clone(),
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
