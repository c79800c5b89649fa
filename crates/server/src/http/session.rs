//! `…/ephemeral-environments/{envName}/sessions`, and taking over by force.

use axum::http::StatusCode;
use axum::response::IntoResponse;
use greenroom_api_types::envelope::Data;
use greenroom_api_types::session::{ClaimSession, DeployCommit, ForceClaim, Session, SessionDeployment};
use greenroom_domain::policy::Act;
use greenroom_domain::policy::action::{DeploymentRunOwn, EnvironmentRead, SessionEndAny, SessionHold};
use greenroom_domain::session::SessionStatus;
use greenroom_store::pipeline::PipelineName;
use greenroom_store::planted;

use crate::app::at_once;
use crate::app::failure::{Code, Failure};
use crate::app::session::{self, Ask, How, Place, Shown};
use crate::app::settled;
use crate::http::answer::Answer;
use crate::http::body::Body;
use crate::http::environment::find;
use crate::http::flight::Flight;
use crate::http::idempotency::IdempotencyKey;
use crate::http::mutation::Answered;
use crate::http::path::{At, EnvironmentPath, SessionPath, id};
use crate::http::permit::Permit;
use crate::http::prefer::Prefer;
use crate::http::session_wire;
use crate::http::waiting::{self, Keyed};

/// Claim the environment, or queue for it
#[utoipa::path(post, path = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/sessions",
    tag = "environments",
    params(("orgId" = String, Path, description = "Id or slug"), ("pipelineId" = String, Path, description = "Id or slug"),
        ("envName" = String, Path), IdempotencyKey, Prefer),
    request_body(content = Option<ClaimSession>),
    responses((status = 201, description = "Yours", body = Data<Session>),
        (status = 202, description = "Queued: it is yours when `status` is `active`", body = Data<Session>)))]
pub async fn claim_session(
    permit: Permit<SessionHold>,
    path: At<EnvironmentPath>,
    key: IdempotencyKey,
    (prefer, flight): (Prefer, Flight),
    body: Body<ClaimSession>,
) -> Answered {
    let how = if body.value.queue == Some(true) { How::Queue } else { How::Plain };
    let ask = Ask {
        commit_id: body.value.commit_id,
        branch: body.value.branch,
        context: body.value.context,
        ttl_seconds: body.value.ttl_seconds,
        how,
    };
    let Some(wait) = prefer.wait else {
        return claim(&permit, &path.0, key, &body.bytes, &ask).await;
    };
    let (place, keyed) =
        (place(&path.0.pipeline_id, &path.0.env_name)?, Keyed { key: &key, body: &body.bytes });
    let answered = waiting::claim(&permit, &place, keyed, &ask, (wait, &flight)).await;
    Ok(prefer.applied(answered.into_response()))
}

/// Take the environment over by force
#[utoipa::path(post, path = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/force-claim",
    tag = "environments",
    params(("orgId" = String, Path, description = "Id or slug"), ("pipelineId" = String, Path, description = "Id or slug"),
        ("envName" = String, Path), IdempotencyKey),
    request_body(content = Option<ForceClaim>),
    responses((status = 201, description = "Yours; `displaced` says who held it", body = Data<Session>)))]
pub async fn force_claim(
    permit: Permit<SessionHold>,
    path: At<EnvironmentPath>,
    key: IdempotencyKey,
    body: Body<ForceClaim>,
) -> Answered {
    let ForceClaim { commit_id, branch, context, ttl_seconds } = body.value;
    let ask = Ask { commit_id, branch, context, ttl_seconds, how: How::Force };
    claim(&permit, &path.0, key, &body.bytes, &ask).await
}

/// View a session: lock, deployments, and whether it was overridden
#[utoipa::path(get,
    path = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/sessions/{sessionId}",
    tag = "environments",
    params(("orgId" = String, Path, description = "Id or slug"), ("pipelineId" = String, Path, description = "Id or slug"),
        ("envName" = String, Path), ("sessionId" = String, Path)),
    responses((status = 200, body = Data<Session>)))]
pub async fn get_session(permit: Permit<EnvironmentRead>, path: At<SessionPath>) -> Answered {
    let session_id = id(&path.0.session_id)?;
    let (store, organization) = (permit.app.store.clone(), permit.organization());
    let environment = find(&permit, &path.0.pipeline_id, &path.0.env_name).await?;
    planted::read_confirms(&store, organization, session_id).await?;
    let record = settled::session(&store, organization, environment.id, session_id)
        .await?
        .ok_or_else(Failure::not_found)?;
    let deployments = store.deployments_of_session(organization, session_id).await?;
    let lock = (environment.name.as_str(), &environment.lock);
    Ok(Answer::ok(&session_wire::session(record, lock, deployments, None))?.tagged().into_response())
}

/// Deploy a commit; renews the lease
#[utoipa::path(post,
    path = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/sessions/{sessionId}/deploy",
    tag = "environments",
    params(("orgId" = String, Path, description = "Id or slug"), ("pipelineId" = String, Path, description = "Id or slug"),
        ("envName" = String, Path), ("sessionId" = String, Path), IdempotencyKey),
    request_body = DeployCommit,
    responses((status = 202, description = "Accepted", body = Data<SessionDeployment>)))]
pub async fn deploy_commit(
    permit: Permit<DeploymentRunOwn>,
    path: At<SessionPath>,
    key: IdempotencyKey,
    body: Body<DeployCommit>,
) -> Answered {
    let (place, session_id) = (place(&path.0.pipeline_id, &path.0.env_name)?, id(&path.0.session_id)?);
    let mut mutation = permit.open(key, &body.bytes).await?;
    let what = (body.value.commit_id.as_str(), body.value.branch.as_deref());
    let accepted = session::deploy(&mut mutation.command, &place, session_id, what).await?;
    mutation.finish(Answer::new(StatusCode::ACCEPTED, &session_wire::deployment(accepted))?).await
}

/// Keep the place in the queue, or confirm a granted turn
///
/// Safe to repeat at any time, so it takes no `Idempotency-Key`. Records no event.
#[utoipa::path(post,
    path = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/sessions/{sessionId}/heartbeat",
    tag = "environments",
    params(("orgId" = String, Path, description = "Id or slug"), ("pipelineId" = String, Path, description = "Id or slug"),
        ("envName" = String, Path), ("sessionId" = String, Path)),
    responses((status = 200, description = "Waiting, with its next `heartbeatBy`, or active", body = Data<Session>)))]
pub async fn heartbeat_session(permit: Permit<SessionHold>, path: At<SessionPath>) -> Answered {
    let (place, session_id) = (place(&path.0.pipeline_id, &path.0.env_name)?, id(&path.0.session_id)?);
    let mut mutation = permit.open(no_key(), &[]).await?;
    match session::heartbeat(&mut mutation.command, &place, session_id).await {
        Ok(shown) => mutation.finish(Answer::ok(&wire(shown))?).await,
        // The refusal shows what the clock has decided, so that is written first.
        Err(ended) if ended.code.is_session_end() => {
            mutation.commit().await?;
            Err(ended.into())
        }
        Err(failure) => Err(failure.into()),
    }
}

/// Renew the lease
#[utoipa::path(post,
    path = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/sessions/{sessionId}/renew",
    tag = "environments",
    params(("orgId" = String, Path, description = "Id or slug"), ("pipelineId" = String, Path, description = "Id or slug"),
        ("envName" = String, Path), ("sessionId" = String, Path), IdempotencyKey),
    responses((status = 200, body = Data<Session>)))]
pub async fn renew_session(
    permit: Permit<SessionHold>,
    path: At<SessionPath>,
    key: IdempotencyKey,
) -> Answered {
    let (place, session_id) = (place(&path.0.pipeline_id, &path.0.env_name)?, id(&path.0.session_id)?);
    let mut mutation = permit.open(key, &[]).await?;
    let renewed = session::renew(&mut mutation.command, &place, session_id).await?;
    mutation.finish(Answer::ok(&wire(renewed))?).await
}

/// Release the session, or leave the queue
#[utoipa::path(delete,
    path = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/sessions/{sessionId}",
    tag = "environments",
    params(("orgId" = String, Path, description = "Id or slug"), ("pipelineId" = String, Path, description = "Id or slug"),
        ("envName" = String, Path), ("sessionId" = String, Path), IdempotencyKey),
    responses((status = 200, body = Data<Session>)))]
pub async fn release_session(
    permit: Permit<(SessionHold, SessionEndAny)>,
    path: At<SessionPath>,
    key: IdempotencyKey,
) -> Answered {
    let (place, session_id) = (place(&path.0.pipeline_id, &path.0.env_name)?, id(&path.0.session_id)?);
    if key.key.is_none()
        && let Some(shown) = at_once::release(&permit.app.store, permit.asker(), &place, session_id).await?
    {
        permit.app.bell.ring();
        return Ok(Answer::ok(&wire(shown))?.into_response());
    }
    let mut mutation = permit.open(key, &[]).await?;
    let released = session::release(&mut mutation.command, &place, session_id).await?;
    mutation.finish(Answer::ok(&wire(released))?).await
}

async fn claim<A: Act>(
    permit: &Permit<A>,
    path: &EnvironmentPath,
    key: IdempotencyKey,
    body: &[u8],
    ask: &Ask,
) -> Answered {
    let place = place(&path.pipeline_id, &path.env_name)?;
    let keyed = key.key.is_some();
    if !keyed && let Some(shown) = at_once::claim(&permit.app.store, permit.asker(), &place, ask).await? {
        permit.app.bell.ring();
        return Ok(Answer::new(StatusCode::CREATED, &wire(shown))?.into_response());
    }
    let mut mutation = permit.open(key, body).await?;
    let command = &mut mutation.command;
    let granted = if keyed { at_once::claim_in(command, permit.asker(), &place, ask).await? } else { None };
    let shown = match granted {
        Some(shown) => shown,
        None => match session::claim(command, &place, ask).await {
            Ok(shown) => shown,
            // The refusal tells how the lock is after what the clock has decided: that is written down before it is told.
            Err(refused) if writes_settled(refused.code) => {
                mutation.commit().await?;
                return Err(refused.into());
            }
            Err(failure) => return Err(failure.into()),
        },
    };
    let queued = shown.session.status == SessionStatus::Queued;
    let status = if queued { StatusCode::ACCEPTED } else { StatusCode::CREATED };
    mutation.finish(Answer::new(status, &wire(shown))?).await
}

pub fn wire(shown: Shown) -> Session {
    let lock = (shown.env_name.as_str(), &shown.lock);
    session_wire::session(shown.session, lock, shown.deployments, shown.displaced)
}

pub fn place(pipeline: &str, environment: &str) -> Result<Place, Failure> {
    let pipeline = PipelineName::parse(pipeline).ok_or_else(Failure::not_found)?;
    Ok(Place { pipeline, environment: environment.to_owned() })
}

/// Refusals that show the lock or the queue, and so what the clock has decided.
fn writes_settled(code: Code) -> bool {
    matches!(code, Code::EnvironmentLocked | Code::HeldByYou | Code::AlreadyQueued | Code::QueueFull)
}

fn no_key() -> IdempotencyKey {
    IdempotencyKey { method: String::new(), path: String::new(), also: None, key: None }
}
