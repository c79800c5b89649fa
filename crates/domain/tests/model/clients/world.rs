//! What happens to the environments, and what must never: the clients' commands carried out by the machine, its effects
//! written down as the database would.

use greenroom_domain::environment::{Command, Effect, Refusal, apply, settle};
use greenroom_domain::id::{SessionId, UserId};
use greenroom_domain::lease::LeaseTerms;
use greenroom_domain::lock::Claim;
use greenroom_domain::rights::Barred;
use greenroom_domain::session::{SessionEnd, SessionStatus};
use greenroom_domain::token::TokenKind;
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use super::{Belief, Environment, TICK, World};

impl World {
    pub(super) fn time(&self) -> Timestamp {
        Timestamp::from_second(i64::from(self.now) * TICK).unwrap()
    }

    pub(super) fn has(&self, status: SessionStatus) -> bool {
        self.environments.iter().any(|environment| environment.sessions.iter().any(|(_, own)| *own == status))
    }

    pub(super) fn ask(&mut self, client: u8, environment: u8, command: impl Fn(Claim) -> Command) {
        let index = usize::from(client);
        let number = u128::from(client) * 16 + u128::from(self.made[index]) + 1;
        let session = SessionId::from(Uuid::from_u128(number));
        let terms = LeaseTerms {
            length: SignedDuration::from_secs(2 * TICK),
            longest: SignedDuration::from_secs(4 * TICK),
        };
        let claim = Claim {
            session,
            user: user(client),
            kind: TokenKind::Agent,
            terms,
            can_force: can_force(client),
            places: 0,
        };
        let command = command(claim);
        let waiting = self.environments[usize::from(environment)].waiting(self.time());
        match self.command(environment, command) {
            Ok(effects) => {
                self.made[index] += 1;
                let fence = effects.iter().find_map(|effect| match effect {
                    Effect::Granted { session: granted, fence } if *granted == session => Some(*fence),
                    _ => None,
                });
                // Who waits already asks with what they wait with.
                let session = effects.iter().find_map(|effect| match effect {
                    Effect::HandoverRequested { by, .. } => Some(*by),
                    _ => None,
                });
                let session = session.unwrap_or(claim.session);
                if matches!(command, Command::Claim(_)) && waiting > 0 && fence.is_some() {
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

    /// A client looks after its session: a waiter learns that it was granted.
    pub(super) fn hear(&mut self, client: u8) -> Option<()> {
        let belief = self.beliefs[usize::from(client)]?;
        self.command(belief.environment, Command::Hear(belief.session)).ok()?;
        let lock = &self.environments[usize::from(belief.environment)].state.lock;
        let fence = lock.is_held_by(belief.session, self.time()).then_some(lock.fence);
        self.beliefs[usize::from(client)] = Some(Belief { fence: fence.or(belief.fence), ..belief });
        Some(())
    }

    /// What the database would show of the client's rights from now on.
    pub(super) fn demote(&mut self, client: u8) {
        self.demoted[usize::from(client)] = true;
        for environment in &mut self.environments {
            for waiting in environment.state.queue.iter_mut().filter(|own| own.user == user(client)) {
                waiting.rights.barred = Some(Barred::Role);
                waiting.rights.can_force = false;
            }
            let held = environment.state.lock.held.as_mut();
            if let Some(asked) = held.and_then(|held| held.handover.as_mut())
                && owner(asked.session) == client
            {
                asked.can_force = false;
            }
        }
    }

    /// An open stream keeps a place and never confirms a grant.
    pub(super) fn attend(&mut self, belief: Belief) -> Option<()> {
        let confirmed = |world: &Self| {
            let lock = &world.environments[usize::from(belief.environment)].state.lock;
            lock.held.as_ref().is_some_and(|held| held.session == belief.session && held.lease.confirmed)
        };
        let before = confirmed(self);
        self.command(belief.environment, Command::Attend(belief.session)).ok()?;
        if !before && confirmed(self) {
            self.broken = Some("a stream confirmed a grant");
        }
        Some(())
    }

    /// The target accepts what is not older than what it has accepted.
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
            self.broken = Some("a fence that was never given");
        }
        Some(())
    }

    pub(super) fn command(&mut self, environment: u8, command: Command) -> Result<Vec<Effect>, Refusal> {
        let now = self.time();
        let environment = &mut self.environments[usize::from(environment)];
        let asked = environment.state.lock.held.as_ref().and_then(|held| held.handover);
        let order: Vec<SessionId> = environment.state.queue.iter().map(|waiting| waiting.session).collect();
        let (state, settled, applied) = apply(environment.state.clone(), now, command);
        environment.state = state;
        let handed_over =
            settled.iter().any(|effect| matches!(effect, Effect::Ended { end: SessionEnd::Released, .. }));
        environment.fell_silent |= handed_over;
        if let Some(by) = asked.map(|asked| owner(asked.session)).filter(|_| handed_over)
            && (!can_force(by) || self.demoted[usize::from(by)])
        {
            self.broken = Some("silence gave what could not have been forced");
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

    /// Writes the effects down as the database would, and says what they break.
    pub(super) fn record(&mut self, effects: &[Effect], order: &[SessionId]) -> Option<&'static str> {
        let mut broken = None;
        let mut left = order.to_vec();
        for effect in effects {
            match *effect {
                Effect::Queued { session } => self.sessions.push((session, SessionStatus::Queued)),
                Effect::Granted { session, fence } => {
                    if fence <= self.highest_fence {
                        broken = Some("a fence was given twice, or fell");
                    }
                    self.highest_fence = fence;
                    let known = self.sessions.iter_mut().find(|(own, _)| *own == session);
                    match known {
                        None => self.sessions.push((session, SessionStatus::Active)),
                        Some((_, status)) => match status.granted() {
                            Ok(active) => *status = active,
                            Err(_) => broken = Some("a session was granted that had ended or was active"),
                        },
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
                        broken = Some("a hand-over of what is not held, or by who does not wait");
                    }
                }
                Effect::HandoverLapsed { session, by } => {
                    self.lapsed = true;
                    if !self.sessions.contains(&(session, SessionStatus::Active))
                        || !self.sessions.contains(&(by, SessionStatus::Queued))
                    {
                        broken = Some("a request lapsed of what is not held, or by who does not wait");
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
                        None => broken = Some("a session ended that never was"),
                        Some((_, status)) => match status.ended(end) {
                            Ok(ended) => *status = ended,
                            Err(_) => broken = Some("a session ended twice"),
                        },
                    }
                }
            }
        }
        broken
    }

    /// One active session, which is the lock's; the queued ones are the queue, in order.
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

/// The client that made a session.
pub(super) fn owner(session: SessionId) -> u8 {
    u8::try_from((session.uuid().as_u128() - 1) / 16).unwrap()
}

pub(super) fn can_force(client: u8) -> bool {
    client == 0
}

pub(super) fn user(client: u8) -> UserId {
    UserId::from(Uuid::from_u128(u128::from(client) + 1))
}
