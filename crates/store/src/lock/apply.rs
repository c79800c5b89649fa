//! Carries out a command on a locked environment: the domain's machine decides, each of its effects is written and told.

use greenroom_domain::environment::{self, Applied, Command, Effect, EnvironmentState};
use greenroom_domain::event::EventType;
use greenroom_domain::id::{DeploymentId, SessionId, TokenId};
use greenroom_domain::lock::Handover;
use greenroom_domain::queue::Queue;
use greenroom_domain::session::SessionEnd;
use jiff::Timestamp;

use crate::StoreError;
use crate::change::{Actor, Change};
use crate::lock::LockedEnvironment;
use crate::lock::depart::departure;
use crate::planted::{self, Bug};

/// What a new session brings with it.
#[derive(Clone, Debug, Default)]
pub struct NewSession {
    pub user_name: String,
    pub user_kind: String,
    pub context: Option<String>,
    pub commit_id: Option<String>,
    /// The token that it is claimed, queued or requested with.
    pub token_id: Option<TokenId>,
}

/// What is being done to an environment, and how it was before.
#[derive(Clone, Copy)]
pub(super) struct Doing<'a> {
    pub(super) before: &'a EnvironmentState,
    pub(super) command: Command,
    pub(super) new: &'a NewSession,
}

/// Too many departures for one transaction, if that bug was planted.
const LONG_QUEUE: usize = 60;

impl Change {
    /// Settles a locked environment, and carries out a command on it. A refusal changes nothing beyond the settling.
    pub async fn apply(
        &mut self,
        environment: &mut LockedEnvironment,
        command: Command,
        new: &NewSession,
    ) -> Result<Applied, StoreError> {
        let before = environment.state.clone();
        let (state, settled, applied) = planted_apply(before.clone(), environment.now, command);
        if planted::is(Bug::SettlingGivesUp) && settled.len() > LONG_QUEUE {
            return Err(StoreError::Unsettled);
        }
        environment.state = state;
        // Expired leases are recorded without the context of the command: it is not the reason why they ended.
        let settling = Doing { before: &before, command, new: &NewSession::default() };
        let doing = Doing { new, ..settling };
        let actor = self.actor().clone();
        self.write_effects(environment, &settling, &settled, &Actor::Clock).await?;
        self.write_effects(environment, &doing, applied.as_deref().unwrap_or_default(), &actor).await?;
        self.write_heard(environment, command).await?;
        if environment.state != before {
            self.write_lock(environment).await?;
        }
        self.deploy_granted(environment, &settled, &before, &Actor::Clock).await?;
        self.deploy_granted(environment, applied.as_deref().unwrap_or_default(), &before, &actor).await?;
        Ok(applied)
    }

    /// Writes effects in their order, consecutive departures from the queue together.
    async fn write_effects(
        &mut self,
        environment: &mut LockedEnvironment,
        doing: &Doing<'_>,
        effects: &[Effect],
        actor: &Actor,
    ) -> Result<(), StoreError> {
        let mut departures = Vec::new();
        for effect in effects {
            if let Some(departure) = departure(doing, *effect) {
                departures.push(departure);
                continue;
            }
            self.write_departures(environment, &std::mem::take(&mut departures)).await?;
            self.write_effect(environment, doing, *effect, actor).await?;
        }
        self.write_departures(environment, &departures).await
    }

    async fn write_effect(
        &mut self,
        environment: &mut LockedEnvironment,
        doing: &Doing<'_>,
        effect: Effect,
        actor: &Actor,
    ) -> Result<(), StoreError> {
        match effect {
            Effect::Queued { session } => {
                self.insert_session(environment, doing, session, None).await?;
                let said = (doing.new.context.as_deref(), doing.new.commit_id.as_deref());
                let told = (actor, EventType::SessionQueued);
                self.tell_claim(environment, told, (session, None), said, None).await
            }
            Effect::Granted { session, fence } => {
                let waited = doing.before.queue.iter().find(|waiting| waiting.session == session);
                let (event_type, (context, commit_id)) = if let Some(waiting) = waited {
                    (EventType::SessionGranted, self.grant_waiter(environment, waiting, fence).await?)
                } else {
                    self.insert_session(environment, doing, session, Some(fence)).await?;
                    (EventType::SessionClaimed, (doing.new.context.clone(), doing.new.commit_id.clone()))
                };
                let passed_on =
                    matches!(doing.command, Command::Transfer { to, .. } if to.session == session);
                let reason = actor.name().filter(|_| passed_on).map(|name| format!("transferred by {name}"));
                let said = (context.as_deref(), commit_id.as_deref());
                self.tell_claim(environment, (actor, event_type), (session, Some(fence)), said, reason).await
            }
            Effect::HandoverRequested { session, by, .. } => {
                self.write_handover(environment, doing, by).await?;
                let told = (actor, EventType::SessionHandoverRequested);
                self.tell_session(environment, told, session, doing.new.context.as_deref()).await
            }
            Effect::HandoverLapsed { session, .. } => {
                let told = (&Actor::Clock, EventType::SessionHandoverLapsed);
                self.tell_session(environment, told, session, None).await
            }
            // It is a departure, which is written with the others.
            Effect::Skipped { .. } => Ok(()),
            Effect::HandoverDeclined { session, by } => {
                self.write_declined(environment, (actor, doing.new.context.as_deref()), by).await?;
                let told = (actor, EventType::SessionHandoverDeclined);
                self.tell_session(environment, told, session, doing.new.context.as_deref()).await
            }
            Effect::Ended { session, end } => {
                let by = match doing.command {
                    Command::Force(claim) if end == SessionEnd::Overridden => Some(claim.session),
                    _ => None,
                };
                let reason = doing.new.context.as_deref().filter(|_| by.is_some());
                self.end_session(environment, doing.before, session, end, (actor, by, reason)).await?;
                let held = doing.before.lock.held.as_ref().is_some_and(|held| held.session == session);
                let by_hand_over = end == SessionEnd::Released;
                let passed_on = passed_on(doing, environment.now, session, actor).filter(|_| by_hand_over);
                // Who takes it over goes on with what is there.
                if held && end != SessionEnd::Overridden && passed_on.is_none() {
                    self.clean_up_after(actor, environment, session).await?;
                }
                let event_type = match end {
                    SessionEnd::Released => EventType::SessionReleased,
                    SessionEnd::Expired => EventType::SessionExpired,
                    SessionEnd::Overridden => EventType::SessionOverridden,
                    SessionEnd::Canceled => EventType::SessionCanceled,
                };
                // Somebody other than its user may end a session for a reason.
                let given =
                    doing.new.context.as_deref().filter(|_| doing.command == Command::Release(session));
                let reason = passed_on.as_deref().or(reason).or(given);
                self.tell_session(environment, (actor, event_type), session, reason).await
            }
        }
    }

    /// A waiter that asked for a commit gets it deployed when its turn has come.
    async fn deploy_granted(
        &mut self,
        environment: &LockedEnvironment,
        effects: &[Effect],
        before: &EnvironmentState,
        actor: &Actor,
    ) -> Result<(), StoreError> {
        for effect in effects {
            if let Effect::Granted { session, .. } = *effect
                && before.queue.position(session).is_some()
                && environment.state.lock.held.as_ref().is_some_and(|held| held.session == session)
                && let Some(waited) = self.session(environment.id, session).await?
                && let Some(commit) = waited.commit_id
            {
                let id = DeploymentId::from(uuid::Uuid::now_v7());
                self.create_deployment_as(actor, environment, id, (session, waited.user_id), &commit).await?;
                self.take_session_branch(session, id).await?;
            }
        }
        Ok(())
    }
}

/// How a session ended that was given away.
fn passed_on(doing: &Doing<'_>, now: Timestamp, session: SessionId, actor: &Actor) -> Option<String> {
    let held = doing.before.lock.held.as_ref().filter(|held| held.session == session);
    let asked = held.and_then(|held| held.handover).filter(|asked| asked.due_at <= now);
    match (doing.command, actor) {
        (_, Actor::Clock) => asked
            .filter(Handover::is_accepted_by_silence)
            .map(|_| "handed over: its holder did not answer in time".to_owned()),
        (Command::Transfer { from, .. }, _) if from == session => {
            Some(format!("transferred to {}", doing.new.user_name))
        }
        (Command::AcceptHandover(own), _) if own == session => Some("handed over".to_owned()),
        _ => None,
    }
}

/// The machine as it is, unless a bug was planted.
fn planted_apply(
    mut state: EnvironmentState,
    now: Timestamp,
    command: Command,
) -> (EnvironmentState, Vec<Effect>, Applied) {
    let (queue, fence) = (state.queue.clone(), state.lock.fence);
    let overtakes = planted::is(Bug::ClaimOvertakesWaiter) && matches!(command, Command::Claim(_));
    if overtakes {
        state.queue = Queue::default();
    }
    let (mut state, settled, mut applied) = environment::apply(state, now, command);
    if overtakes {
        state.queue = queue;
    }
    if planted::is(Bug::FenceNotRaisedOnForce) && matches!(command, Command::Force(_)) {
        state.lock.fence = fence;
        for effect in applied.iter_mut().flatten() {
            if let Effect::Granted { fence: given, .. } = effect {
                *given = fence;
            }
        }
    }
    (state, settled, applied)
}
