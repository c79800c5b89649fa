//! `…/ephemeral-environments/{envName}/sessions` and `…/force-claim`

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use greenroom_api_types::envelope::Data;
use greenroom_api_types::session::{ClaimSession, DeployCommit, ForceClaim, Session, SessionDeployment};
use greenroom_domain::policy::action::{DeploymentRunOwn, EnvironmentRead, SessionEndAny, SessionHold};
use greenroom_domain::session::SessionStatus;

use crate::app::command::Interruption;
use crate::app::failure::Failure;
use crate::app::session::view::SessionView;
use crate::app::session::{ClaimMode, ClaimRequest, claim, hold, read, waiting};
use crate::http::environment::find;
use crate::http::rules::body::Body;
use crate::http::rules::command::HandlerResult;
use crate::http::rules::idempotency::IdempotencyKey;
use crate::http::rules::path::{EnvironmentPath, OrganizationPath, PathParams, SessionPath, parse_id};
use crate::http::rules::permit::Permit;
use crate::http::rules::prefer::Prefer;
use crate::http::rules::problem_responses::{BodyProblems, CommandProblems, ReadProblems};
use crate::http::rules::record_response::RecordResponse;
use crate::http::rules::request_slot::RequestSlot;
use crate::http::rules::response_examples as examples;
use crate::http::session_wire;

/// Claim an environment, or join its queue
#[utoipa::path(post, path = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/sessions",
    tag = "environments",
    params(OrganizationPath, EnvironmentPath, IdempotencyKey, Prefer),
    request_body(content = Option<ClaimSession>),
    responses((status = 201, description = "You hold the environment",
        body = Data<Session>, example = json!(examples::session())),
        (status = 202, description = "The session is in the queue. You hold the environment when `status` is `active`",
            body = Data<Session>, example = json!(examples::queued_session())),
        CommandProblems, BodyProblems))]
pub async fn claim_session(
    permit: Permit<SessionHold>,
    path: PathParams<EnvironmentPath>,
    key: IdempotencyKey,
    prefer: Prefer,
    request_slot: RequestSlot,
    body: Body<ClaimSession>,
) -> Result<Response, Interruption> {
    let ClaimSession { commit_id, branch, context, ttl_seconds, queue } = body.value;
    let mode = if queue == Some(true) { ClaimMode::Queue } else { ClaimMode::Plain };
    let request = ClaimRequest { commit_id, branch, context, ttl_seconds, mode };
    let (place, command) = (path.0.place()?, permit.command(key, &body.bytes));
    Ok(match prefer.wait {
        None => claim::claim(&command, &place, &request, respond_claimed).await?.into_response(),
        Some(wait) => {
            let claim = waiting::claim(&command, &place, &request, wait, respond_claimed);
            prefer.respond_after_wait(&request_slot, claim).await
        }
    })
}

/// Take an environment over by force
#[utoipa::path(post, path = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/force-claim",
    tag = "environments",
    params(OrganizationPath, EnvironmentPath, IdempotencyKey),
    request_body(content = Option<ForceClaim>),
    responses((status = 201, description = "You hold the environment; `displaced` is the session that held it before",
        body = Data<Session>, example = json!(examples::session())),
        CommandProblems, BodyProblems))]
pub async fn force_claim(
    permit: Permit<SessionHold>,
    path: PathParams<EnvironmentPath>,
    key: IdempotencyKey,
    body: Body<ForceClaim>,
) -> HandlerResult {
    let ForceClaim { commit_id, branch, context, ttl_seconds } = body.value;
    let request = ClaimRequest { commit_id, branch, context, ttl_seconds, mode: ClaimMode::Force };
    claim::claim(&permit.command(key, &body.bytes), &path.0.place()?, &request, respond_claimed).await
}

/// View a session with its lock and deployments, and whether it was overridden
#[utoipa::path(get,
    path = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/sessions/{sessionId}",
    tag = "environments",
    params(OrganizationPath, SessionPath),
    responses((status = 200, body = Data<Session>, example = json!(examples::session())), ReadProblems))]
pub async fn get_session(permit: Permit<EnvironmentRead>, path: PathParams<SessionPath>) -> HandlerResult {
    let session_id = parse_id(&path.0.session_id)?;
    let environment = find(&permit, &path.0.pipeline_id, &path.0.env_name).await?;
    let found = read::session(&permit.app.store, permit.organization(), environment, session_id).await?;
    Ok(respond(found)?.with_content_etag())
}

/// Deploy a commit to the session's environment, and renew the session
#[utoipa::path(post,
    path = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/sessions/{sessionId}/deploy",
    tag = "environments",
    params(OrganizationPath, SessionPath, IdempotencyKey),
    request_body = DeployCommit,
    responses((status = 202, description = "The deployment was accepted",
        body = Data<SessionDeployment>, example = json!(examples::session_deployment())),
        CommandProblems, BodyProblems))]
pub async fn deploy_commit(
    permit: Permit<DeploymentRunOwn>,
    path: PathParams<SessionPath>,
    key: IdempotencyKey,
    body: Body<DeployCommit>,
) -> HandlerResult {
    let (place, session_id) = path.0.parse()?;
    let mut command = permit.open(key, &body.bytes).await?;
    let DeployCommit { commit_id, branch } = &body.value;
    let accepted = hold::deploy(&mut command, &place, session_id, commit_id, branch.as_deref()).await?;
    command.finish(RecordResponse::new(StatusCode::ACCEPTED, &session_wire::deployment(accepted))?).await
}

/// Keep a session's place in the queue, or confirm a grant from the queue
///
/// The request can be repeated safely at any time, so it takes no `Idempotency-Key`. It records no event.
#[utoipa::path(post,
    path = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/sessions/{sessionId}/heartbeat",
    tag = "environments",
    params(OrganizationPath, SessionPath),
    responses((status = 200, description = "The session: `queued` with its next `heartbeatBy`, or `active`",
        body = Data<Session>, example = json!(examples::session())),
        CommandProblems))]
pub async fn heartbeat_session(permit: Permit<SessionHold>, path: PathParams<SessionPath>) -> HandlerResult {
    let (place, session_id) = path.0.parse()?;
    hold::heartbeat(&permit.command_without_key(), &place, session_id, respond).await
}

/// Renew a session, so that it expires later
#[utoipa::path(post,
    path = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/sessions/{sessionId}/renew",
    tag = "environments",
    params(OrganizationPath, SessionPath, IdempotencyKey),
    responses((status = 200, body = Data<Session>, example = json!(examples::session())), CommandProblems))]
pub async fn renew_session(
    permit: Permit<SessionHold>,
    path: PathParams<SessionPath>,
    key: IdempotencyKey,
) -> HandlerResult {
    let (place, session_id) = path.0.parse()?;
    let mut command = permit.open(key, &[]).await?;
    let renewed = hold::renew(&mut command, &place, session_id).await?;
    command.finish(respond(renewed)?).await
}

/// Release an active session, or leave the queue
#[utoipa::path(delete,
    path = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/sessions/{sessionId}",
    tag = "environments",
    params(OrganizationPath, SessionPath, IdempotencyKey),
    responses((status = 200, body = Data<Session>, example = json!(examples::released_session())), CommandProblems))]
pub async fn release_session(
    permit: Permit<(SessionHold, SessionEndAny)>,
    path: PathParams<SessionPath>,
    key: IdempotencyKey,
) -> HandlerResult {
    let (place, session_id) = path.0.parse()?;
    hold::release(&permit.command(key, &[]), &place, session_id, respond).await
}

/// A claim's response: the session is active, or queued.
pub fn respond_claimed(view: SessionView) -> Result<RecordResponse, Failure> {
    let is_queued = view.session.status == SessionStatus::Queued;
    let status = if is_queued { StatusCode::ACCEPTED } else { StatusCode::CREATED };
    RecordResponse::new(status, &session_wire::view(view))
}

fn respond(view: SessionView) -> Result<RecordResponse, Failure> {
    RecordResponse::ok(&session_wire::view(view))
}
