//! Requests for hand-over: a place in the queue, and a deadline for the holder's response.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::definition::{DEFAULT_HANDOVER_GRACE_SECONDS, HANDOVER_GRACE_SECONDS};
use greenroom_domain::environment::{Effect, LockCommand, Refusal};
use greenroom_domain::id::SessionId;
use greenroom_domain::policy::Action;
use greenroom_domain::session::SessionStatus;
use greenroom_domain::text::Reason;
use greenroom_store::Command;
use greenroom_store::environment::Environment;
use greenroom_store::lock::{LockedEnvironment, NewSession};
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::environment::lock;
use crate::failure::{Code, Failure};
use crate::next_action::Base;
use crate::pipeline_role;
use crate::session::claim::{lease_terms, lock_places, new_claim, new_session};
use crate::session::locked::{live_pipeline, lock_held, lock_place, not_active, refused};
use crate::session::view::{SessionView, read_view};
use crate::session::{ClaimRequest, Place, ValidatedClaim};

/// Requests the hand-over of a session from its holder. Returns the requester's own session, which is queued.
/// A session of the requester that is queued already is used unchanged.
#[boxed_futures]
pub async fn request(
    command: &mut Command,
    place: &Place,
    of: SessionId,
    claim: &ClaimRequest,
    grace: Option<i64>,
) -> Result<SessionView, Failure> {
    let ValidatedClaim { commit_id, branch, context } = ValidatedClaim::new(claim)?;
    let pipeline = live_pipeline(command, &place.pipeline).await?;
    if commit_id.is_some() {
        pipeline_role::require(command, pipeline.id, Action::DeploymentRunOwn).await?;
    }
    let places = lock_places(command).await?;
    let mut locked = lock_place(command, place).await?;
    let grace = grace_of(&locked, grace)?;
    let held = command.session(locked.id, of).await?.ok_or_else(Failure::not_found)?;
    if held.status != SessionStatus::Active && !held.unsettled {
        return Err(not_active(command, &locked, of).await?);
    }
    let lineage = command.principal().lineage.clone();
    let terms = lease_terms(&locked, claim.ttl_seconds)?;
    let by = new_claim(command, &lineage, &locked, terms, places).await?;
    let new = NewSession {
        context: context.map(Reason::into_string),
        commit_id: commit_id.map(|commit| commit.as_str().to_owned()),
        ..new_session(command.principal())
    };
    let lock_command = LockCommand::RequestHandover { of, by, grace };
    match command.apply(&mut locked, lock_command, &new).await? {
        Ok(effects) => {
            let requester = effects.iter().find_map(|effect| match effect {
                Effect::HandoverRequested { by, .. } => Some(*by),
                _ => None,
            });
            let requester = requester.unwrap_or(by.session);
            if let Some(branch) = branch.filter(|_| requester == by.session) {
                command.set_session_branch(requester, branch.as_str()).await?;
            }
            read_view(command, &locked, requester).await
        }
        Err(refusal) => Err(failure_of(command, &locked, refusal, of, place, claim).await?),
    }
}

/// Returns the grace period of a request. The definition's grace period is the default and the minimum;
/// without one, the built-in values are.
fn grace_of(locked: &LockedEnvironment, requested: Option<i64>) -> Result<SignedDuration, Failure> {
    let seconds = |seconds: u64| i64::try_from(seconds).map_err(Failure::internal);
    let least = locked.handover_grace_seconds.unwrap_or(seconds(*HANDOVER_GRACE_SECONDS.start())?);
    let longest = seconds(*HANDOVER_GRACE_SECONDS.end())?;
    let default = locked.handover_grace_seconds.unwrap_or(seconds(DEFAULT_HANDOVER_GRACE_SECONDS)?);
    let grace = requested.unwrap_or(default);
    if !(least..=longest).contains(&grace) {
        return Err(Failure::field("/graceSeconds", format!("must be between {least} and {longest}")));
    }
    Ok(SignedDuration::from_secs(grace))
}

/// Accepts a request and releases the environment. It is granted to the first in the queue, which need not be
/// the requester.
#[boxed_futures]
pub async fn accept(command: &mut Command, place: &Place, id: SessionId) -> Result<SessionView, Failure> {
    respond(command, place, LockCommand::AcceptHandover(id), id, None).await
}

/// Declines a request. The requester stays in the queue.
#[boxed_futures]
pub async fn decline(
    command: &mut Command,
    place: &Place,
    id: SessionId,
    context: Option<&str>,
) -> Result<SessionView, Failure> {
    respond(command, place, LockCommand::DeclineHandover(id), id, text(context)?).await
}

async fn respond(
    command: &mut Command,
    place: &Place,
    lock_command: LockCommand<'_>,
    id: SessionId,
    context: Option<String>,
) -> Result<SessionView, Failure> {
    let mut locked = lock_held(command, place, id).await?;
    let response = NewSession { context, ..NewSession::default() };
    match command.apply(&mut locked, lock_command, &response).await? {
        Ok(_) => read_view(command, &locked, id).await,
        Err(refusal) => {
            Err(failure_of(command, &locked, refusal, id, place, &ClaimRequest::default()).await?)
        }
    }
}

fn text(context: Option<&str>) -> Result<Option<String>, Failure> {
    let reason = context.map(Reason::new).transpose();
    Ok(reason.map_err(|error| Failure::field("/context", error))?.map(Reason::into_string))
}

async fn failure_of(
    command: &mut Command,
    locked: &LockedEnvironment,
    refusal: Refusal,
    id: SessionId,
    place: &Place,
    claim: &ClaimRequest,
) -> Result<Failure, Failure> {
    match refusal {
        Refusal::NotActive => not_active(command, locked, id).await,
        Refusal::HandoverPending { .. } => {
            let environment = command.environment(locked.id).await?.ok_or_else(Failure::not_found)?;
            let base = Base::environment(command.principal(), &place.pipeline, &environment.name);
            Ok(pending(&environment, &base.queue("sessions", claim)))
        }
        Refusal::NoHandover => {
            let detail =
                "Nobody asks for this session, or who asked has left the queue. There is nothing to answer.";
            Ok(Failure::new(Code::HandoverNotRequested, detail))
        }
        other => refused(command, locked, other, &place.pipeline, claim).await,
    }
}

fn pending(environment: &Environment, queue: &Value) -> Failure {
    let (name, handover) = (&environment.name, environment.lock.handover.as_ref());
    let who = handover.map_or("Another user", |handover| handover.name.as_str());
    let until = handover.map_or_else(String::new, |handover| format!(" by {}", handover.due_at));
    let detail = format!(
        "{who} has asked for `{name}` already, and its holder has to answer{until}. Queue for it instead, or ask again after that."
    );
    Failure::new(Code::HandoverPending, detail)
        .with("envName", name.as_str().into())
        .with("handover", json!(lock(&environment.lock).handover))
        .with("queueLength", environment.lock.queue_length.into())
        .with("actions", json!([queue]))
}
