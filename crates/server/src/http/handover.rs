//! `…/sessions/{sessionId}/request-handover` and `…/handover/accept|decline`

use axum::http::StatusCode;
use greenroom_api_types::envelope::Data;
use greenroom_api_types::handover::{DeclineHandover, RequestHandover};
use greenroom_api_types::session::Session;
use greenroom_app::session::{ClaimMode, ClaimRequest, handover};
use greenroom_domain::policy::action::SessionHold;

use crate::http::rules::body::Body;
use crate::http::rules::command::HandlerResult;
use crate::http::rules::idempotency::IdempotencyKey;
use crate::http::rules::path::{OrganizationPath, PathParams, SessionPath};
use crate::http::rules::permit::Permit;
use crate::http::rules::problem_responses::{BodyProblems, CommandProblems};
use crate::http::rules::response_examples as examples;
use crate::http::{session_replay, session_wire};

/// Ask the holder to release the environment, and wait for it in the queue
///
/// The holder has `graceSeconds` to accept or decline: 60 to 3,600, and 300 if neither the request nor the
/// definition states it. If the holder does neither, `handover.onSilence` decides: with `accept` the holder's
/// session ends, provided that the requester may still take the environment over by force at that time; with
/// `lapse` the request ends. There is one request at a time, and it also ends when its requester leaves the
/// queue or the holder changes. The requester's session keeps its place in the queue by heartbeats, as any
/// other.
#[utoipa::path(post,
    path = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/sessions/{sessionId}/request-handover",
    tag = "environments",
    params(OrganizationPath, SessionPath, IdempotencyKey),
    request_body(content = Option<RequestHandover>),
    responses((status = 202, description = "The hand-over was requested. The response is your own session, which waits in the queue", body = Data<Session>),
        CommandProblems, BodyProblems))]
pub async fn request_handover(
    permit: Permit<SessionHold>,
    path: PathParams<SessionPath>,
    key: IdempotencyKey,
    body: Body<RequestHandover>,
) -> HandlerResult {
    let (place, session_id) = path.0.parse()?;
    let mut command = session_replay::open(&permit, &path.0.pipeline_id, key, &body.bytes).await?;
    let RequestHandover { context, grace_seconds, commit_id, branch, ttl_seconds } = body.value;
    let request = ClaimRequest { commit_id, branch, context, ttl_seconds, mode: ClaimMode::Queue };
    let waiting = handover::request(&mut command, &place, session_id, &request, grace_seconds).await?;
    let response = session_wire::respond(StatusCode::ACCEPTED, command.web_urls(), waiting)?;
    Ok(command.finish(response).await?)
}

/// Accept a request for hand-over: the session is released, and the first in the queue gets the environment
///
/// The session ends as `released`, and its deployments are canceled. The environment is granted to the first
/// session in the queue, which need not be the requester's. If no hand-over is requested, the request is
/// rejected with `409`.
#[utoipa::path(post,
    path = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/sessions/{sessionId}/handover/accept",
    tag = "environments",
    params(OrganizationPath, SessionPath, IdempotencyKey),
    responses((status = 200, description = "The session was released",
        body = Data<Session>, example = json!(examples::released_session())), CommandProblems))]
pub async fn accept_handover(
    permit: Permit<SessionHold>,
    path: PathParams<SessionPath>,
    key: IdempotencyKey,
) -> HandlerResult {
    let (place, session_id) = path.0.parse()?;
    let mut command = session_replay::open(&permit, &path.0.pipeline_id, key, &[]).await?;
    let released = handover::accept(&mut command, &place, session_id).await?;
    let response = session_wire::respond(StatusCode::OK, command.web_urls(), released)?;
    Ok(command.finish(response).await?)
}

/// Decline a request for hand-over, and keep the environment
///
/// The request for hand-over ends, the lease stays as it is, and the requester keeps the place in the queue.
/// The requester's session contains the reason in `handoverDeclined`, and the requester can send another
/// request immediately. If no hand-over is requested, the request is rejected with `409`.
#[utoipa::path(post,
    path = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/sessions/{sessionId}/handover/decline",
    tag = "environments",
    params(OrganizationPath, SessionPath, IdempotencyKey),
    request_body(content = Option<DeclineHandover>),
    responses((status = 200, description = "The session, which still holds the environment",
        body = Data<Session>, example = json!(examples::session())),
        CommandProblems, BodyProblems))]
pub async fn decline_handover(
    permit: Permit<SessionHold>,
    path: PathParams<SessionPath>,
    key: IdempotencyKey,
    body: Body<DeclineHandover>,
) -> HandlerResult {
    let (place, session_id) = path.0.parse()?;
    let mut command = session_replay::open(&permit, &path.0.pipeline_id, key, &body.bytes).await?;
    let context = body.value.context.as_deref();
    let declined = handover::decline(&mut command, &place, session_id, context).await?;
    let response = session_wire::respond(StatusCode::OK, command.web_urls(), declined)?;
    Ok(command.finish(response).await?)
}
