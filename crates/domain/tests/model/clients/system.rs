//! The system under test and its invariants: the state machine applies the commands of the clients, and its
//! effects are stored as the database would store them.

use greenroom_domain::environment::{Effect, LockCommand, Refusal, apply, settle};
use greenroom_domain::id::SessionId;
use greenroom_domain::lease::LeaseTerms;
use greenroom_domain::lock::Claim;
use greenroom_domain::owner::Owner;
use greenroom_domain::rights::Barred;
use greenroom_domain::session::{SessionEnd, SessionStatus};
use greenroom_domain::token::TokenKind;
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use super::{Belief, Environment, MAX_STAY_TICKS, System, TICK};

impl System {
    pub(super) fn time(&self) -> Timestamp {
        Timestamp::from_second(i64::from(self.now) * TICK).unwrap()
    }

    pub(super) fn has(&self, status: SessionStatus) -> bool {
        self.environments.iter().any(|environment| environment.sessions.iter().any(|(_, own)| *own == status))
    }

    pub(super) fn claim(
        &mut self,
        client: u8,
        environment: u8,
        command: impl Fn(Claim<'static>) -> LockCommand<'static>,
    ) {
        let index = usize::from(client);
        let number = u128::from(client) * 16 + u128::from(self.session_counts[index]) + 1;
        let session = SessionId::from(Uuid::from_u128(number));
        let terms = LeaseTerms {
            length: SignedDuration::from_secs(2 * TICK),
            max_length: SignedDuration::from_secs(4 * TICK),
        };
        let claim = Claim {
            session,
            owner: user(client),
            lineage: &[],
            kind: kind(client),
            terms,
            max_stay: SignedDuration::from_secs(i64::from(MAX_STAY_TICKS) * TICK),
            can_force: can_force(client),
            places: 0,
            is_at_session_limit: false,
        };
        let command = command(claim);
        let waiting = self.environments[usize::from(environment)].waiting(self.time());
        match self.command(environment, command) {
            Ok(effects) => {
                self.session_counts[index] += 1;
                let fence = effects.iter().find_map(|effect| match effect {
                    Effect::Granted { session: granted, fence } if *granted == session => Some(*fence),
                    _ => None,
                });
                // A user that waits already requests the hand-over with the waiting session.
                let session = effects.iter().find_map(|effect| match effect {
                    Effect::HandoverRequested { by, .. } => Some(*by),
                    _ => None,
                });
                let session = session.unwrap_or(claim.session);
                if matches!(command, LockCommand::Claim(_)) && waiting > 0 && fence.is_some() {
                    self.broken = Some("a plain claim overtook a waiter");
                }
                self.beliefs[index] = Some(Belief { environment, session, fence });
            }
            Err(Refusal::HeldByYou { session })
                if !self.environments[usize::from(environment)].holds(session) =>
            {
                self.broken = Some("refused for a session that does not hold");
            }
            Err(_) => {}
        }
    }

    /// A client sends a heartbeat: a waiter learns whether it was granted its turn.
    pub(super) fn heartbeat(&mut self, client: u8) -> Option<()> {
        let belief = self.beliefs[usize::from(client)]?;
        self.command(belief.environment, LockCommand::Heartbeat(belief.session)).ok()?;
        let lock = &self.environments[usize::from(belief.environment)].state.lock;
        let fence = lock.is_held_by(belief.session, self.time()).then_some(lock.fence);
        self.beliefs[usize::from(client)] = Some(Belief { fence: fence.or(belief.fence), ..belief });
        Some(())
    }

    /// Revokes the rights of the client, as the database would return them from now on.
    pub(super) fn demote(&mut self, client: u8) {
        self.demoted[usize::from(client)] = true;
        for environment in &mut self.environments {
            for waiting in environment.state.queue.iter_mut().filter(|own| own.owner == user(client)) {
                waiting.rights.barred = Some(Barred::Role);
                waiting.rights.can_force = false;
            }
            let held = environment.state.lock.held.as_mut();
            if let Some(handover) = held.and_then(|held| held.handover.as_mut())
                && owner(handover.session) == client
            {
                handover.can_force = false;
            }
        }
    }

    /// Sends a heartbeat for an open stream, which keeps a place and never confirms a grant.
    pub(super) fn stream_heartbeat(&mut self, belief: Belief) -> Option<()> {
        let confirmed = |system: &Self| {
            let lock = &system.environments[usize::from(belief.environment)].state.lock;
            lock.held.as_ref().is_some_and(|held| held.session == belief.session && held.lease.confirmed)
        };
        let before = confirmed(self);
        self.command(belief.environment, LockCommand::StreamHeartbeat(belief.session)).ok()?;
        if !before && confirmed(self) {
            self.broken = Some("a stream confirmed a grant");
        }
        Some(())
    }

    /// The target rejects writes with a stale fence.
    pub(super) fn write(&mut self, client: u8) -> Option<()> {
        let belief = self.beliefs[usize::from(client)]?;
        let fence = belief.fence?;
        let environment = &mut self.environments[usize::from(belief.environment)];
        if fence < environment.target_fence {
            return None;
        }
        if fence == environment.target_fence {
            return None;
        }
        environment.target_fence = fence;
        if fence > environment.highest_fence {
            self.broken = Some("a fence that was never granted");
        }
        Some(())
    }

    pub(super) fn command(
        &mut self,
        environment: u8,
        command: LockCommand<'_>,
    ) -> Result<Vec<Effect>, Refusal> {
        let now = self.time();
        let environment = &mut self.environments[usize::from(environment)];
        let handover = environment.state.lock.held.as_ref().and_then(|held| held.handover);
        let order: Vec<SessionId> = environment.state.queue.iter().map(|waiting| waiting.session).collect();
        let (state, settled, applied) = apply(environment.state.clone(), now, command);
        environment.state = state;
        let handed_over =
            settled.iter().any(|effect| matches!(effect, Effect::Ended { end: SessionEnd::Released, .. }));
        environment.accepted_by_silence |= handed_over;
        if let Some(by) = handover.map(|handover| owner(handover.session)).filter(|_| handed_over)
            && (!can_force(by) || self.demoted[usize::from(by)])
        {
            self.broken = Some("silence accepted a request of a client that may not force");
        }
        let demoted = |session: SessionId| self.demoted[usize::from(owner(session))];
        let granted = settled.iter().chain(applied.iter().flatten()).any(|effect| {
            matches!(effect, Effect::Granted { session, .. } if order.contains(session) && demoted(*session))
        });
        if granted {
            self.broken = Some("a waiter was granted what it may not hold");
        }
        let effects: Vec<Effect> = settled.iter().chain(applied.iter().flatten()).copied().collect();
        if let Some(broken) = environment.record(&effects, &order) {
            self.broken = Some(broken);
        }
        applied
    }
}

impl Environment {
    pub(super) fn waiting(&self, now: Timestamp) -> usize {
        settle(self.state.clone(), now).0.queue.len()
    }

    pub(super) fn holds(&self, session: SessionId) -> bool {
        self.state.lock.held.as_ref().is_some_and(|held| held.session == session)
    }

    /// Stores the effects as the database would, and returns the invariant that they violate.
    pub(super) fn record(&mut self, effects: &[Effect], order: &[SessionId]) -> Option<&'static str> {
        let mut broken = None;
        let mut left = order.to_vec();
        for effect in effects {
            match *effect {
                Effect::Queued { session } => self.sessions.push((session, SessionStatus::Queued)),
                Effect::Granted { session, fence } => {
                    if fence <= self.highest_fence {
                        broken = Some("a fence was granted twice, or decreased");
                    }
                    self.highest_fence = fence;
                    let known = self.sessions.iter_mut().find(|(own, _)| *own == session);
                    match known {
                        None => self.sessions.push((session, SessionStatus::Active)),
                        Some((_, status @ SessionStatus::Queued)) => *status = SessionStatus::Active,
                        Some(_) => broken = Some("a session was granted that had ended or was active"),
                    }
                    if left.contains(&session) && left.first() != Some(&session) {
                        broken = Some("a waiter was overtaken by a later one");
                    }
                    left.retain(|own| *own != session);
                }
                Effect::HandoverRequested { session, by, .. } | Effect::HandoverDeclined { session, by } => {
                    let is =
                        |wanted: SessionId, status: SessionStatus| self.sessions.contains(&(wanted, status));
                    if !is(session, SessionStatus::Active) || !is(by, SessionStatus::Queued) {
                        broken =
                            Some("a hand-over of a session that is not active, or by one that does not wait");
                    }
                }
                Effect::HandoverLapsed { session, by } => {
                    self.lapsed = true;
                    if !self.sessions.contains(&(session, SessionStatus::Active))
                        || !self.sessions.contains(&(by, SessionStatus::Queued))
                    {
                        broken = Some(
                            "a request lapsed of a session that is not active, or by one that does not wait",
                        );
                    }
                }
                Effect::Skipped { session, .. } => {
                    self.skipped = true;
                    left.retain(|own| *own != session);
                    match self.sessions.iter_mut().find(|(own, _)| *own == session) {
                        Some((_, status @ SessionStatus::Queued)) => *status = SessionStatus::Canceled,
                        _ => broken = Some("a session was skipped that does not wait"),
                    }
                }
                Effect::Ended { session, end } => {
                    left.retain(|own| *own != session);
                    match self.sessions.iter_mut().find(|(own, _)| *own == session) {
                        None => broken = Some("a session ended that never existed"),
                        Some((_, status @ SessionStatus::Active)) => *status = end.status(),
                        Some((_, status @ SessionStatus::Queued)) if end == SessionEnd::Canceled => {
                            *status = SessionStatus::Canceled;
                        }
                        Some(_) => {
                            broken = Some("a session ended twice, or a waiting one not by being canceled");
                        }
                    }
                }
            }
        }
        broken
    }

    /// Returns whether the only active session is that of the lock, and the queued ones are the queue, in
    /// order.
    pub(super) fn agrees(&self) -> bool {
        let of = |wanted: SessionStatus| -> Vec<SessionId> {
            self.sessions
                .iter()
                .filter(|(_, status)| *status == wanted)
                .map(|(session, _)| *session)
                .collect()
        };
        let held: Vec<SessionId> = self.state.lock.held.iter().map(|held| held.session).collect();
        let waiting: Vec<SessionId> = self.state.queue.iter().map(|waiting| waiting.session).collect();
        of(SessionStatus::Active) == held && of(SessionStatus::Queued) == waiting
    }
}

/// Returns the client that created a session.
pub(super) fn owner(session: SessionId) -> u8 {
    u8::try_from((session.uuid().as_u128() - 1) / 16).unwrap()
}

pub(super) fn can_force(client: u8) -> bool {
    client == 0
}

/// One client is a person, so that waiters with different timeouts wait for each other.
fn kind(client: u8) -> TokenKind {
    if client == 1 { TokenKind::User } else { TokenKind::Agent }
}

pub(super) fn user(client: u8) -> Owner {
    Owner::person(Uuid::from_u128(u128::from(client) + 1).into())
}
