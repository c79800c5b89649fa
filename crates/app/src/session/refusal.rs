//! Refusals of claims, with everything that a program or a person needs to continue: who holds the
//! environment, since when, until when, how many wait, and which requests are possible instead.

use greenroom_domain::environment::Refusal;
use greenroom_domain::policy::{Action, check};
use greenroom_domain::principal::Principal;
use greenroom_domain::queue::{MAX_PLACES_PER_ENVIRONMENT, MAX_PLACES_PER_USER};
use greenroom_domain::role::Role;
use greenroom_domain::session::SessionStatus;
use greenroom_store::environment::Environment;
use greenroom_store::pipeline::PipelineName;
use greenroom_store::session::Session;
use serde_json::{Value, json};

use crate::environment::lock;
use crate::failure::{Code, Failure};
use crate::next_action::{Base, body, commit};
use crate::session::ClaimRequest;

/// A claim that was refused, its sender, and the name that it used for the pipeline.
#[derive(Clone, Copy)]
pub struct RefusedRequest<'a> {
    pub principal: &'a Principal,
    /// The sender's role on the pipeline.
    pub role: Role,
    pub pipeline: &'a PipelineName,
    pub claim: &'a ClaimRequest,
}

/// Returns why a claim was refused. Free text of other users is never part of a `detail`, which callers trust
/// as the server's text: it has its own fields.
pub fn refused(request: RefusedRequest<'_>, environment: &Environment, refusal: Refusal) -> Failure {
    if let Some(failure) = no_place(environment, refusal) {
        return failure;
    }
    if refusal == Refusal::SessionLimit {
        return session_limit(request.principal, environment);
    }
    let yours = matches!(refusal, Refusal::HeldByYou { .. });
    let name = &environment.name;
    let help = match (may_force(request, environment), environment.lock.handover.is_some()) {
        (true, false) => "Queue for it, ask its holder to hand it over, or take it over by force",
        (false, false) => "Queue for it, or ask its holder to hand it over",
        (true, true) => "Its holder has been asked to hand it over. Queue for it, or take it over by force",
        (false, true) => "Its holder has been asked to hand it over. Queue for it",
    };
    let waiting = match environment.lock.queue_length {
        0 => "Nobody waits for it".to_owned(),
        1 => "One waits for it".to_owned(),
        more => format!("{more} wait for it"),
    };
    let detail = match &environment.lock.holder {
        Some(holder) if yours => format!(
            "You hold `{name}` already, since {} and until {}, in session {}. {waiting}. Go on with that session, release \
             it first, or queue behind it.",
            holder.claimed_at, holder.expires_at, holder.session_id
        ),
        Some(holder) => format!(
            "{} holds `{name}` since {} and until {}. {waiting}. {help}.",
            holder.name, holder.claimed_at, holder.expires_at
        ),
        None => format!("`{name}` is free, but others were there first. {waiting}. Queue for it."),
    };
    let code = if yours { Code::HeldByYou } else { Code::EnvironmentLocked };
    let session = environment.lock.holder.as_ref().map(|holder| holder.session_id.to_string());
    Failure::new(code, detail)
        .with("envName", name.as_str().into())
        .with("sessionId", session.into())
        .with("lock", serde_json::to_value(lock(&environment.lock)).unwrap_or_default())
        .with("queueLength", environment.lock.queue_length.into())
        .with("actions", actions(request, environment, yours))
}

/// Returns why there is no place in the queue, if that is the reason.
fn no_place(environment: &Environment, refusal: Refusal) -> Option<Failure> {
    let name = &environment.name;
    let (code, detail) = match refusal {
        Refusal::AlreadyQueued { position, .. } => (
            Code::AlreadyQueued,
            format!(
                "You wait for `{name}` already, at position {position}. Go on with that session: send heartbeats, and it is \
                 granted when its turn comes."
            ),
        ),
        Refusal::QueueFull => (
            Code::QueueFull,
            format!(
                "{MAX_PLACES_PER_ENVIRONMENT} sessions wait for `{name}`, and no more can. Try again later."
            ),
        ),
        Refusal::PlacesUsedUp => (
            Code::QueueFull,
            format!(
                "Your `ci` and `agent` tokens wait with {MAX_PLACES_PER_USER} sessions in this organization, and no more can. Let \
                 some of them leave the queue, or try again later."
            ),
        ),
        _ => return None,
    };
    let failure = Failure::new(code, detail)
        .with("envName", name.as_str().into())
        .with("lock", serde_json::to_value(lock(&environment.lock)).unwrap_or_default())
        .with("queueLength", environment.lock.queue_length.into());
    Some(match refusal {
        Refusal::AlreadyQueued { session, position } => {
            failure.with("sessionId", session.to_string().into()).with("position", position.into())
        }
        Refusal::QueueFull => {
            failure.with("limit", MAX_PLACES_PER_ENVIRONMENT.into()).with("limitedBy", "environment".into())
        }
        _ => failure.with("limit", MAX_PLACES_PER_USER.into()).with("limitedBy", "user".into()),
    })
}

fn session_limit(principal: &Principal, environment: &Environment) -> Failure {
    let detail = "This token, or one that it was made by, holds as many sessions as it may at a time. Release one of them, \
                  or use another token.";
    Failure::new(Code::SessionLimit, detail)
        .with("envName", environment.name.as_str().into())
        .with("maxSessions", principal.max_sessions.into())
}

fn may_force(request: RefusedRequest<'_>, environment: &Environment) -> bool {
    request.role >= environment.force_role && request.principal.token_allow_force
}

/// Returns what the caller may do instead. `path` is relative to the environment's URL path.
fn actions(request: RefusedRequest<'_>, environment: &Environment, yours: bool) -> Value {
    let RefusedRequest { principal, role, pipeline, claim } = request;
    let base = Base::environment(principal, pipeline, &environment.name);
    let mut actions = vec![base.queue("sessions", claim)];
    if let Some(holder) = &environment.lock.holder {
        let session = format!("sessions/{}", holder.session_id);
        if yours {
            actions.push(base.action("continue", "GET", &session));
            actions.push(deploy(&base, &session, claim));
        } else if environment.lock.handover.is_none() {
            let path = format!("{session}/request-handover");
            actions.push(base.action_with("request_handover", "POST", &path, body(claim)));
        }
        let may_end_any = check(role, principal.scopes, Action::SessionEndAny).is_ok();
        if yours || (may_end_any && principal.token_allow_force) {
            actions.push(base.action("release", "DELETE", &session));
        }
    }
    if may_force(request, environment) {
        actions.push(base.action_with("force_claim", "POST", "force-claim", body(claim)));
    }
    actions.into()
}

/// Suggests to deploy. Without a commit in the refused request there is no body: the caller has to choose
/// one.
fn deploy(base: &Base, session: &str, claim: &ClaimRequest) -> Value {
    let path = format!("{session}/deploy");
    match claim.commit_id {
        Some(_) => base.action_with("deploy", "POST", &path, commit(claim)),
        None => base.action("deploy", "POST", &path),
    }
}

/// The failure of an action that only the session's own user may do; of a service account, only the token that the
/// session belongs to.
pub fn not_own() -> Failure {
    let detail =
        "Only the session's own user may do this. Claim the environment yourself, or ask its holder.";
    Failure::new(Code::Forbidden, detail)
}

/// Returns why a session is not active: it has ended, or it is still queued.
pub fn not_active(session: &Session, environment: &Environment) -> Failure {
    let by = session.ended_by_name.as_deref().unwrap_or("the system");
    let (code, detail) = match session.status {
        SessionStatus::Queued => (
            Code::SessionQueued,
            "It is not this session's turn yet. Send heartbeats to keep its place, and wait.".to_owned(),
        ),
        SessionStatus::Overridden => (
            Code::SessionOverridden,
            format!("{by} took the environment over; `override` says why. Claim it again when it is free."),
        ),
        SessionStatus::Expired => (
            Code::SessionExpired,
            "Its lease ran out. Claim the environment anew, and renew in time.".to_owned(),
        ),
        SessionStatus::Canceled => (
            Code::SessionCanceled,
            "It left the queue, lost its place, or did not confirm its turn. Claim again.".to_owned(),
        ),
        SessionStatus::Released | SessionStatus::Active => {
            (Code::SessionReleased, format!("It was released by {by}. Claim the environment anew."))
        }
    };
    let current = environment.lock.holder.as_ref().map(|holder| holder.session_id.to_string());
    let ended_by = json!(session.ended_by.map(|id| json!({ "id": id, "name": session.ended_by_name })));
    let failure = Failure::new(code, detail)
        .with("endedAt", serde_json::to_value(session.ended_at).unwrap_or_default())
        .with("endedBy", ended_by.clone())
        .with("currentSessionId", current.into());
    if session.status != SessionStatus::Overridden {
        return failure;
    }
    let overridden = json!({
        "by": ended_by,
        "at": session.ended_at,
        "reason": session.override_reason,
        "sessionId": session.override_session_id,
    });
    failure.with("override", overridden)
}
