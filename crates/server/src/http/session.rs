//! `…/ephemeral-environments/{envName}/sessions` and `…/force-claim`

use axum::http::StatusCode;
use axum::response::IntoResponse;
use greenroom_api_types::envelope::Data;
use greenroom_api_types::session::{ClaimSession, DeployCommit, ForceClaim, Session, SessionDeployment};
use greenroom_domain::policy::Act;
use greenroom_domain::policy::action::{DeploymentRunOwn, EnvironmentRead, SessionEndAny, SessionHold};
use greenroom_domain::session::SessionStatus;
use greenroom_store::pipeline::PipelineName;
use greenroom_store::planted;

use crate::app::consistent_read;
use crate::app::failure::{Code, Failure};
use crate::app::fast_path;
use crate::app::session::{self, ClaimMode, ClaimRequest, Place, SessionView};
use crate::http::body::Body;
use crate::http::environment::find;
use crate::http::idempotency::IdempotencyKey;
use crate::http::mutation::HandlerResult;
use crate::http::path::{EnvironmentPath, PathParams, SessionPath, parse_id};
use crate::http::permit::Permit;
use crate::http::prefer::Prefer;
use crate::http::record_response::RecordResponse;
use crate::http::request_slot::RequestSlot;
use crate::http::session_wire;
use crate::http::waiting::{self, KeyedRequest};

/// Claim an environment, or join its queue
#[utoipa::path(post, path = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/sessions",
    tag = "environments",
    params(("orgId" = String, Path, description = "Id or slug"), ("pipelineId" = String, Path, description = "Id or slug"),
        ("envName" = String, Path), IdempotencyKey, Prefer),
    request_body(content = Option<ClaimSession>),
    responses((status = 201, description = "You hold the environment", body = Data<Session>),
        (status = 202, description = "The session is in the queue. You hold the environment when `status` is `active`", body = Data<Session>)))]
pub async fn claim_session(
    permit: Permit<SessionHold>,
    path: PathParams<EnvironmentPath>,
    key: IdempotencyKey,
    (prefer, request_slot): (Prefer, RequestSlot),
    body: Body<ClaimSession>,
) -> HandlerResult {
    let mode = if body.value.queue == Some(true) { ClaimMode::Queue } else { ClaimMode::Plain };
    let request = ClaimRequest {
        commit_id: body.value.commit_id,
        branch: body.value.branch,
        context: body.value.context,
        ttl_seconds: body.value.ttl_seconds,
        mode,
    };
    let Some(wait) = prefer.wait else {
        return claim(&permit, &path.0, key, &body.bytes, &request).await;
    };
    let (place, keyed) =
        (parse_place(&path.0.pipeline_id, &path.0.env_name)?, KeyedRequest { key: &key, body: &body.bytes });
    let result = waiting::claim(&permit, &place, keyed, &request, (wait, &request_slot)).await;
    Ok(prefer.add_applied_header(result.into_response()))
}

/// Take an environment over by force
#[utoipa::path(post, path = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/force-claim",
    tag = "environments",
    params(("orgId" = String, Path, description = "Id or slug"), ("pipelineId" = String, Path, description = "Id or slug"),
        ("envName" = String, Path), IdempotencyKey),
    request_body(content = Option<ForceClaim>),
    responses((status = 201, description = "You hold the environment; `displaced` is the session that held it before", body = Data<Session>)))]
pub async fn force_claim(
    permit: Permit<SessionHold>,
    path: PathParams<EnvironmentPath>,
    key: IdempotencyKey,
    body: Body<ForceClaim>,
) -> HandlerResult {
    let ForceClaim { commit_id, branch, context, ttl_seconds } = body.value;
    let request = ClaimRequest { commit_id, branch, context, ttl_seconds, mode: ClaimMode::Force };
    claim(&permit, &path.0, key, &body.bytes, &request).await
}

/// View a session with its lock and deployments, and whether it was overridden
#[utoipa::path(get,
    path = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/sessions/{sessionId}",
    tag = "environments",
    params(("orgId" = String, Path, description = "Id or slug"), ("pipelineId" = String, Path, description = "Id or slug"),
        ("envName" = String, Path), ("sessionId" = String, Path)),
    responses((status = 200, body = Data<Session>)))]
pub async fn get_session(permit: Permit<EnvironmentRead>, path: PathParams<SessionPath>) -> HandlerResult {
    let session_id = parse_id(&path.0.session_id)?;
    let (store, organization) = (permit.app.store.clone(), permit.organization());
    let environment = find(&permit, &path.0.pipeline_id, &path.0.env_name).await?;
    planted::read_confirms(&store, organization, session_id).await?;
    let record = consistent_read::session(&store, organization, environment.id, session_id)
        .await?
        .ok_or_else(Failure::not_found)?;
    let deployments = store.deployments_of_session(organization, session_id).await?;
    let lock = (environment.name.as_str(), &environment.lock);
    Ok(RecordResponse::ok(&session_wire::session(record, lock, deployments, None))?
        .with_content_etag()
        .into_response())
}

/// Deploy a commit to the session's environment, and renew the session
#[utoipa::path(post,
    path = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/sessions/{sessionId}/deploy",
    tag = "environments",
    params(("orgId" = String, Path, description = "Id or slug"), ("pipelineId" = String, Path, description = "Id or slug"),
        ("envName" = String, Path), ("sessionId" = String, Path), IdempotencyKey),
    request_body = DeployCommit,
    responses((status = 202, description = "The deployment was accepted", body = Data<SessionDeployment>)))]
pub async fn deploy_commit(
    permit: Permit<DeploymentRunOwn>,
    path: PathParams<SessionPath>,
    key: IdempotencyKey,
    body: Body<DeployCommit>,
) -> HandlerResult {
    let (place, session_id) =
        (parse_place(&path.0.pipeline_id, &path.0.env_name)?, parse_id(&path.0.session_id)?);
    let mut mutation = permit.open(key, &body.bytes).await?;
    let commit = (body.value.commit_id.as_str(), body.value.branch.as_deref());
    let accepted = session::deploy(&mut mutation.command, &place, session_id, commit).await?;
    mutation.finish(RecordResponse::new(StatusCode::ACCEPTED, &session_wire::deployment(accepted))?).await
}

/// Keep a session's place in the queue, or confirm a grant from the queue
///
/// The request can be repeated safely at any time, so it takes no `Idempotency-Key`. It records no event.
#[utoipa::path(post,
    path = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/sessions/{sessionId}/heartbeat",
    tag = "environments",
    params(("orgId" = String, Path, description = "Id or slug"), ("pipelineId" = String, Path, description = "Id or slug"),
        ("envName" = String, Path), ("sessionId" = String, Path)),
    responses((status = 200, description = "The session: `queued` with its next `heartbeatBy`, or `active`", body = Data<Session>)))]
pub async fn heartbeat_session(permit: Permit<SessionHold>, path: PathParams<SessionPath>) -> HandlerResult {
    let (place, session_id) =
        (parse_place(&path.0.pipeline_id, &path.0.env_name)?, parse_id(&path.0.session_id)?);
    let mut mutation = permit.open(no_key(), &[]).await?;
    match session::heartbeat(&mut mutation.command, &place, session_id).await {
        Ok(view) => mutation.finish(RecordResponse::ok(&to_wire(view))?).await,
        // The refusal reports the settled state (`domain::environment`), so that is committed first.
        Err(ended) if ended.code.is_session_end() => {
            mutation.commit().await?;
            Err(ended.into())
        }
        Err(failure) => Err(failure.into()),
    }
}

/// Renew a session, so that it expires later
#[utoipa::path(post,
    path = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/sessions/{sessionId}/renew",
    tag = "environments",
    params(("orgId" = String, Path, description = "Id or slug"), ("pipelineId" = String, Path, description = "Id or slug"),
        ("envName" = String, Path), ("sessionId" = String, Path), IdempotencyKey),
    responses((status = 200, body = Data<Session>)))]
pub async fn renew_session(
    permit: Permit<SessionHold>,
    path: PathParams<SessionPath>,
    key: IdempotencyKey,
) -> HandlerResult {
    let (place, session_id) =
        (parse_place(&path.0.pipeline_id, &path.0.env_name)?, parse_id(&path.0.session_id)?);
    let mut mutation = permit.open(key, &[]).await?;
    let renewed = session::renew(&mut mutation.command, &place, session_id).await?;
    mutation.finish(RecordResponse::ok(&to_wire(renewed))?).await
}

/// Release an active session, or leave the queue
#[utoipa::path(delete,
    path = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/sessions/{sessionId}",
    tag = "environments",
    params(("orgId" = String, Path, description = "Id or slug"), ("pipelineId" = String, Path, description = "Id or slug"),
        ("envName" = String, Path), ("sessionId" = String, Path), IdempotencyKey),
    responses((status = 200, body = Data<Session>)))]
pub async fn release_session(
    permit: Permit<(SessionHold, SessionEndAny)>,
    path: PathParams<SessionPath>,
    key: IdempotencyKey,
) -> HandlerResult {
    let (place, session_id) =
        (parse_place(&path.0.pipeline_id, &path.0.env_name)?, parse_id(&path.0.session_id)?);
    if key.key.is_none()
        && let Some(view) = fast_path::release(&permit.app.store, permit.caller(), &place, session_id).await?
    {
        permit.app.bell.ring();
        return Ok(RecordResponse::ok(&to_wire(view))?.into_response());
    }
    let mut mutation = permit.open(key, &[]).await?;
    let released = session::release(&mut mutation.command, &place, session_id).await?;
    mutation.finish(RecordResponse::ok(&to_wire(released))?).await
}

async fn claim<A: Act>(
    permit: &Permit<A>,
    path: &EnvironmentPath,
    key: IdempotencyKey,
    body: &[u8],
    request: &ClaimRequest,
) -> HandlerResult {
    let place = parse_place(&path.pipeline_id, &path.env_name)?;
    let has_key = key.key.is_some();
    if !has_key
        && let Some(view) = fast_path::claim(&permit.app.store, permit.caller(), &place, request).await?
    {
        permit.app.bell.ring();
        return Ok(RecordResponse::new(StatusCode::CREATED, &to_wire(view))?.into_response());
    }
    let mut mutation = permit.open(key, body).await?;
    let command = &mut mutation.command;
    let granted =
        if has_key { fast_path::claim_in(command, permit.caller(), &place, request).await? } else { None };
    let view = match granted {
        Some(view) => view,
        None => match session::claim(command, &place, request).await {
            Ok(view) => view,
            // The refusal reports the settled state, so that is committed first.
            Err(refused) if reports_lock(refused.code) => {
                mutation.commit().await?;
                return Err(refused.into());
            }
            Err(failure) => return Err(failure.into()),
        },
    };
    let is_queued = view.session.status == SessionStatus::Queued;
    let status = if is_queued { StatusCode::ACCEPTED } else { StatusCode::CREATED };
    mutation.finish(RecordResponse::new(status, &to_wire(view))?).await
}

pub fn to_wire(view: SessionView) -> Session {
    let lock = (view.env_name.as_str(), &view.lock);
    session_wire::session(view.session, lock, view.deployments, view.displaced)
}

pub fn parse_place(pipeline: &str, environment: &str) -> Result<Place, Failure> {
    let pipeline = PipelineName::parse(pipeline).ok_or_else(Failure::not_found)?;
    Ok(Place { pipeline, environment: environment.to_owned() })
}

/// Refusals that report the settled lock or queue.
fn reports_lock(code: Code) -> bool {
    matches!(code, Code::EnvironmentLocked | Code::HeldByYou | Code::AlreadyQueued | Code::QueueFull)
}

fn no_key() -> IdempotencyKey {
    IdempotencyKey { method: String::new(), path: String::new(), alias_path: None, key: None }
}
