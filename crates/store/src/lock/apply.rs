//! Applies a command to a locked environment. The domain's machine decides; each of its effects is written
//! and recorded as an event.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::environment::{self, Applied, Effect, EnvironmentState, LockCommand};
use greenroom_domain::event::EventType;
use greenroom_domain::id::{DeploymentId, SessionId};
use greenroom_domain::lock::Handover;
use greenroom_domain::session::SessionEnd;
use jiff::Timestamp;
use serde_json::Value;

use crate::StoreError;
use crate::deployment::new_deployment::NewSessionDeployment;
use crate::lock::LockedEnvironment;
use crate::lock::context::{LockCommandContext, NewSession};
use crate::lock::departure::departure;
use crate::lock::write::{ClaimEvent, SessionEnding};
use crate::transaction::{Actor, OrgTransaction};

#[boxed_futures]
impl OrgTransaction {
    /// Settles a locked environment, which means that expired leases are recorded, and applies a command to
    /// it. A refused command changes nothing beyond the settling.
    pub async fn apply(
        &mut self,
        environment: &mut LockedEnvironment,
        command: LockCommand<'_>,
        new: &NewSession,
    ) -> Result<Applied, StoreError> {
        let before = environment.state.clone();
        let (state, settled, applied) = environment::apply(before.clone(), environment.now, command);
        environment.state = state;
        // Expired leases are recorded without the context of the command: it is not the reason why they
        // ended.
        let settling = LockCommandContext { before: &before, command, new: &NewSession::default() };
        let command_context = LockCommandContext { new, ..settling };
        let actor = self.actor().clone();
        // Events of sessions contain the lock after the command, which is known once its row is written.
        self.begin_event_batch();
        self.write_effects(environment, &settling, &settled, &Actor::System).await?;
        self.write_effects(environment, &command_context, applied.as_deref().unwrap_or_default(), &actor)
            .await?;
        self.write_heartbeat(environment, command).await?;
        let mut lock = Value::Null;
        if environment.state != before {
            lock = self.write_lock(environment).await?.event_payload();
        }
        self.record_event_batch(|event| {
            if event.event_type.is_of_session()
                && let Some(after) = &mut event.after
            {
                after["lock"] = lock.clone();
            }
        })
        .await?;
        self.deploy_granted(environment, &settled, &before, &Actor::System).await?;
        self.deploy_granted(environment, applied.as_deref().unwrap_or_default(), &before, &actor).await?;
        Ok(applied)
    }

    /// Writes effects in order. Consecutive departures from the queue are written together.
    async fn write_effects(
        &mut self,
        environment: &mut LockedEnvironment,
        command_context: &LockCommandContext<'_>,
        effects: &[Effect],
        actor: &Actor,
    ) -> Result<(), StoreError> {
        let mut departures = Vec::new();
        for effect in effects {
            if let Some(departure) = departure(command_context, *effect, environment.now) {
                departures.push(departure);
                continue;
            }
            self.write_departures(environment, &std::mem::take(&mut departures)).await?;
            self.write_effect(environment, command_context, *effect, actor).await?;
        }
        self.write_departures(environment, &departures).await
    }

    async fn write_effect(
        &mut self,
        environment: &mut LockedEnvironment,
        command_context: &LockCommandContext<'_>,
        effect: Effect,
        actor: &Actor,
    ) -> Result<(), StoreError> {
        match effect {
            Effect::Queued { session } => {
                self.insert_session(environment, command_context, session, None).await?;
                let event = ClaimEvent {
                    event_type: EventType::SessionQueued,
                    session,
                    fence: None,
                    details: command_context.new.details(),
                    reason: None,
                };
                self.record_claim_event(environment, actor, event).await
            }
            Effect::Granted { session, fence } => {
                let waiter = command_context.before.queue.iter().find(|waiter| waiter.session == session);
                let (event_type, details) = if let Some(waiter) = waiter {
                    (EventType::SessionGranted, self.grant_waiter(environment, waiter, fence).await?)
                } else {
                    self.insert_session(environment, command_context, session, Some(fence)).await?;
                    (EventType::SessionClaimed, command_context.new.details())
                };
                let command = command_context.command;
                let is_transferred =
                    matches!(command, LockCommand::Transfer { to, .. } if to.session == session);
                let reason =
                    actor.name().filter(|_| is_transferred).map(|name| format!("transferred by {name}"));
                let event = ClaimEvent { event_type, session, fence: Some(fence), details, reason };
                self.record_claim_event(environment, actor, event).await
            }
            Effect::HandoverRequested { session, by, .. } => {
                self.write_handover(environment, command_context, by).await?;
                let context = command_context.new.context.as_deref();
                let event_type = EventType::SessionHandoverRequested;
                self.record_session_event(environment, actor, event_type, session, context).await
            }
            Effect::HandoverLapsed { session, .. } => {
                let event_type = EventType::SessionHandoverLapsed;
                self.record_session_event(environment, &Actor::System, event_type, session, None).await
            }
            // This is a departure, which is written together with the others.
            Effect::Skipped { .. } => Ok(()),
            Effect::HandoverDeclined { session, by } => {
                let context = command_context.new.context.as_deref();
                self.write_handover_declined(environment, actor, context, by).await?;
                let event_type = EventType::SessionHandoverDeclined;
                self.record_session_event(environment, actor, event_type, session, context).await
            }
            Effect::Ended { session, end } => {
                let overridden_by = match command_context.command {
                    LockCommand::Force(claim) if end == SessionEnd::Overridden => Some(claim.session),
                    _ => None,
                };
                let reason = command_context.new.context.as_deref().filter(|_| overridden_by.is_some());
                let ending = SessionEnding { session, end, overridden_by, reason };
                self.end_session(environment, command_context.before, actor, ending).await?;
                let was_holder =
                    command_context.before.lock.held.as_ref().is_some_and(|held| held.session == session);
                let is_released = end == SessionEnd::Released;
                let handover_reason =
                    handover_reason(command_context, environment.now, session, actor).filter(|_| is_released);
                // A session that takes the environment over continues with what is deployed there.
                if was_holder && end != SessionEnd::Overridden && handover_reason.is_none() {
                    self.queue_teardown(actor, environment, session).await?;
                }
                let event_type = match end {
                    SessionEnd::Released => EventType::SessionReleased,
                    SessionEnd::Expired => EventType::SessionExpired,
                    SessionEnd::Overridden => EventType::SessionOverridden,
                    SessionEnd::Canceled => EventType::SessionCanceled,
                };
                // A user other than its owner may end a session and give a reason.
                let given = command_context
                    .new
                    .context
                    .as_deref()
                    .filter(|_| command_context.command == LockCommand::Release(session));
                let reason = handover_reason.as_deref().or(reason).or(given);
                self.record_session_event(environment, actor, event_type, session, reason).await
            }
        }
    }

    /// Deploys the requested commits of waiters that have just been granted.
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
                let new = NewSessionDeployment { session, created_by: waited.user_id, commit_id: &commit };
                self.create_deployment_as(actor, environment, id, new).await?;
                self.copy_session_branch(session, id).await?;
            }
        }
        Ok(())
    }
}

/// Returns the event's reason for a session that ended because it was handed over or transferred.
fn handover_reason(
    command_context: &LockCommandContext<'_>,
    now: Timestamp,
    session: SessionId,
    actor: &Actor,
) -> Option<String> {
    let held = command_context.before.lock.held.as_ref().filter(|held| held.session == session);
    let handover = held.and_then(|held| held.handover).filter(|handover| handover.due_at <= now);
    match (command_context.command, actor) {
        (_, Actor::System) => handover
            .filter(Handover::is_accepted_by_silence)
            .map(|_| "handed over: its holder did not answer in time".to_owned()),
        (LockCommand::Transfer { from, .. }, _) if from == session => {
            Some(format!("transferred to {}", command_context.new.user_name))
        }
        (LockCommand::AcceptHandover(own), _) if own == session => Some("handed over".to_owned()),
        _ => None,
    }
}
