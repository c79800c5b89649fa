//! Requests for hand-over: a place in the queue, and a moment by which the holder answers.

use greenroom_domain::definition::{DEFAULT_HANDOVER_GRACE_SECONDS, HANDOVER_GRACE_SECONDS};
use greenroom_domain::environment::{Command as Change, Effect, Refusal};
use greenroom_domain::id::SessionId;
use greenroom_domain::policy::Action;
use greenroom_domain::session::SessionStatus;
use greenroom_domain::text::Reason;
use greenroom_store::Command;
use greenroom_store::environment::Environment;
use greenroom_store::lock::{LockedEnvironment, NewSession};
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::app::environment::lock;
use crate::app::failure::{Code, Failure};
use crate::app::next_action::Base;
use crate::app::session::{
    Ask, Place, Shown, Texts, hold, live_pipeline, lock_place, new_claim, new_session, not_active, places,
    refused, show, terms,
};

/// Asks the holder of a session; answers the asker's own, which waits. A session of the asker that waits already goes on
/// waiting as it is.
pub async fn request(
    command: &mut Command,
    place: &Place,
    of: SessionId,
    (ask, grace): (&Ask, Option<i64>),
) -> Result<Shown, Failure> {
    let Texts { commit_id, branch, context } = Texts::of(ask)?;
    if commit_id.is_some() {
        command.principal().require(Action::DeploymentRunOwn)?;
    }
    live_pipeline(command, &place.pipeline).await?;
    let places = places(command).await?;
    let mut locked = lock_place(command, place).await?;
    let grace = grace_of(&locked, grace)?;
    let held = command.session(locked.id, of).await?.ok_or_else(Failure::not_found)?;
    if held.status != SessionStatus::Active {
        return Err(not_active(command, &locked, of).await?);
    }
    let by = new_claim(command.principal(), &locked, terms(&locked, ask.ttl_seconds)?, places);
    let new = NewSession {
        context: context.map(Reason::into_string),
        commit_id: commit_id.map(|commit| commit.as_str().to_owned()),
        ..new_session(command.principal())
    };
    let change = Change::RequestHandover { of, by, grace };
    match command.apply(&mut locked, change, &new).await? {
        Ok(effects) => {
            let asks = effects.iter().find_map(|effect| match effect {
                Effect::HandoverRequested { by, .. } => Some(*by),
                _ => None,
            });
            let asks = asks.unwrap_or(by.session);
            if let Some(branch) = branch.filter(|_| asks == by.session) {
                command.name_session_branch(asks, branch.as_str()).await?;
            }
            show(command, &locked, asks).await
        }
        Err(refusal) => Err(why(command, &locked, (refusal, of), (place, ask)).await?),
    }
}

/// The definition's grace time is the default and the least; without one, the product's are.
fn grace_of(locked: &LockedEnvironment, asked: Option<i64>) -> Result<SignedDuration, Failure> {
    let seconds = |seconds: u64| i64::try_from(seconds).unwrap_or(i64::MAX);
    let least = locked.handover_grace_seconds.unwrap_or(seconds(*HANDOVER_GRACE_SECONDS.start()));
    let longest = seconds(*HANDOVER_GRACE_SECONDS.end());
    let default = locked.handover_grace_seconds.unwrap_or(seconds(DEFAULT_HANDOVER_GRACE_SECONDS));
    let grace = asked.unwrap_or(default);
    if !(least..=longest).contains(&grace) {
        return Err(Failure::field("/graceSeconds", format!("must be between {least} and {longest}")));
    }
    Ok(SignedDuration::from_secs(grace))
}

/// Lets go. The first in the queue is granted, who need not be the one who asked.
pub async fn accept(command: &mut Command, place: &Place, id: SessionId) -> Result<Shown, Failure> {
    answer(command, place, Change::AcceptHandover(id), id, None).await
}

/// Keeps it. Who asked stays in the queue.
pub async fn decline(
    command: &mut Command,
    place: &Place,
    id: SessionId,
    context: Option<&str>,
) -> Result<Shown, Failure> {
    answer(command, place, Change::DeclineHandover(id), id, text(context)?).await
}

async fn answer(
    command: &mut Command,
    place: &Place,
    change: Change,
    id: SessionId,
    context: Option<String>,
) -> Result<Shown, Failure> {
    let mut locked = hold(command, place, id).await?;
    let said = NewSession { context, ..NewSession::default() };
    match command.apply(&mut locked, change, &said).await? {
        Ok(_) => show(command, &locked, id).await,
        Err(refusal) => Err(why(command, &locked, (refusal, id), (place, &Ask::default())).await?),
    }
}

fn text(context: Option<&str>) -> Result<Option<String>, Failure> {
    let reason = context.map(Reason::new).transpose();
    Ok(reason.map_err(|error| Failure::field("/context", error))?.map(Reason::into_string))
}

async fn why(
    command: &mut Command,
    locked: &LockedEnvironment,
    (refusal, id): (Refusal, SessionId),
    (place, ask): (&Place, &Ask),
) -> Result<Failure, Failure> {
    match refusal {
        Refusal::NotActive => not_active(command, locked, id).await,
        Refusal::HandoverPending { .. } => {
            let environment = command.environment(locked.id).await?.ok_or_else(Failure::not_found)?;
            let base = Base::environment(command.principal(), &place.pipeline, &environment.name);
            Ok(pending(&environment, &base.queue("sessions", ask)))
        }
        Refusal::NoHandover => {
            let detail =
                "Nobody asks for this session, or who asked has left the queue. There is nothing to answer.";
            Ok(Failure::new(Code::HandoverNotRequested, detail))
        }
        other => refused(command, locked, other, (&place.pipeline, ask)).await,
    }
}

fn pending(environment: &Environment, queue: &Value) -> Failure {
    let (name, asked) = (&environment.name, environment.lock.handover.as_ref());
    let who = asked.map_or("Somebody", |asked| asked.name.as_str());
    let until = asked.map_or_else(String::new, |asked| format!(" by {}", asked.due_at));
    let detail = format!(
        "{who} has asked for `{name}` already, and its holder has to answer{until}. Queue for it instead, or ask again after that."
    );
    Failure::new(Code::HandoverPending, detail)
        .with("envName", name.as_str().into())
        .with("handover", json!(lock(&environment.lock).handover))
        .with("queueLength", environment.lock.queue_length.into())
        .with("actions", json!([queue]))
}
