//! `…/ephemeral-environments/{envName}/sessions` and `…/force-claim`

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use greenroom_api_types::envelope::Data;
use greenroom_api_types::session::{ClaimSession, DeployCommit, ForceClaim, Session, SessionDeployment};
use greenroom_app::failure::Failure;
use greenroom_app::session::view::SessionView;
use greenroom_app::session::{ClaimMode, ClaimRequest, claim, hold, read, waiting};
use greenroom_app::web_url::WebUrls;
use greenroom_domain::policy::action::{DeploymentRunOwn, EnvironmentRead, SessionEndAny, SessionHold};
use greenroom_domain::session::SessionStatus;

use crate::http::environment::find;
use crate::http::rules::body::Body;
use crate::http::rules::command::HandlerResult;
use crate::http::rules::dry_run::DryRun;
use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::idempotency::IdempotencyKey;
use crate::http::rules::path::{EnvironmentPath, OrganizationPath, PathParams, SessionPath, parse_id};
use crate::http::rules::permit::Permit;
use crate::http::rules::prefer::Prefer;
use crate::http::rules::problem_responses::{BodyProblems, CommandProblems, ReadProblems};
use crate::http::rules::query::Query;
use crate::http::rules::record_response::RecordResponse;
use crate::http::rules::request_slot::RequestSlot;
use crate::http::rules::response_examples as examples;
use crate::http::{session_replay, session_wire};

/// Claim an environment, or join its queue
///
/// The lock is granted for `ttlSeconds`, or else for the environment's default lease (4 hours if the
/// definition has none). A claim is rejected while another session holds the environment or waits for it.
/// With `queue: true`, the session joins the end of the queue instead: with a `ci` or `agent` token it must
/// send a heartbeat at least every 120 seconds, and a person keeps the place until `heartbeatBy`. When its
/// turn comes it has 60 seconds to confirm. With `Prefer: wait=N`, the request waits for its turn for N
/// seconds, 30 at most, and then leaves the queue unless `queue` is true. A claim is repeated safely only with
/// an `Idempotency-Key`; without one, a repeated claim is rejected with `409`.
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
) -> Result<Response, EarlyResponse> {
    let ClaimSession { commit_id, branch, context, ttl_seconds, queue } = body.value;
    let mode = if queue == Some(true) { ClaimMode::Queue } else { ClaimMode::Plain };
    let request = ClaimRequest { commit_id, branch, context, ttl_seconds, mode };
    let (place, command) = (path.0.place()?, permit.command(key, &body.bytes));
    let current = |result| session_replay::session(&permit, &path.0.pipeline_id, result);
    Ok(match prefer.wait {
        None => {
            current(claim::claim(&command, &place, &request, respond_claimed).await).await?.into_response()
        }
        Some(wait) => {
            let command = command.waiting();
            let claim = Box::pin(waiting::claim(&command, &place, &request, wait, respond_claimed));
            prefer.respond_after_wait(&request_slot, async { current(claim.await).await }).await
        }
    })
}

/// Take an environment over by force
///
/// In one transaction, the holder's session ends as `overridden`, its deployments are canceled, the fence
/// increases, and the lock is granted to the new session. The queue stays as it is. A step that is running
/// gets a stop signal; nothing of the new session runs before its end is certain. The claim needs the role
/// that the definition requires for force, and a token with `allowForce`. On a free environment it is a plain
/// claim that overtakes the queue.
#[utoipa::path(post, path = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/force-claim",
    tag = "environments",
    params(OrganizationPath, EnvironmentPath, DryRun, IdempotencyKey),
    request_body(content = Option<ForceClaim>),
    responses((status = 200, description = "With `dryRun=true`: what would be returned. `displaced` is the session that would end",
            body = Data<Session>, example = json!(examples::session())),
        (status = 201, description = "You hold the environment; `displaced` is the session that held it before",
        body = Data<Session>, example = json!(examples::session())),
        CommandProblems, BodyProblems))]
pub async fn force_claim(
    permit: Permit<SessionHold>,
    path: PathParams<EnvironmentPath>,
    query: Query<DryRun>,
    key: IdempotencyKey,
    body: Body<ForceClaim>,
) -> HandlerResult {
    let ForceClaim { commit_id, branch, context, ttl_seconds } = body.value;
    let request = ClaimRequest { commit_id, branch, context, ttl_seconds, mode: ClaimMode::Force };
    let (place, command) = (path.0.place()?, permit.command(key, &body.bytes));
    if query.0.is_dry_run() {
        return Ok(claim::preview(&command, &place, &request, respond).await?);
    }
    let claimed = claim::claim(&command, &place, &request, respond_claimed).await;
    Ok(session_replay::session(&permit, &path.0.pipeline_id, claimed).await?)
}

/// View a session with its lock and deployments, and whether it was overridden
///
/// Sessions are readable for ever, and an ended session never changes its status. Reading neither keeps a
/// place in the queue nor confirms a grant. `deployments` contains the newest 100, newest first. The `ETag`
/// is a hash of the response, for `If-None-Match`.
#[utoipa::path(get,
    path = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/sessions/{sessionId}",
    tag = "environments",
    params(OrganizationPath, SessionPath),
    responses((status = 200, body = Data<Session>, example = json!(examples::session())), ReadProblems))]
pub async fn get_session(permit: Permit<EnvironmentRead>, path: PathParams<SessionPath>) -> HandlerResult {
    let session_id = parse_id(&path.0.session_id)?;
    let environment = find(&permit, &path.0.pipeline_id, &path.0.env_name).await?;
    let found = read::session(&permit.app.store, permit.organization(), environment, session_id).await?;
    Ok(respond(permit.web_urls(), found)?.with_content_etag())
}

/// Deploy a commit to the session's environment, and renew the session
///
/// The session is renewed as by `renew`, and a grant from the queue is confirmed. One deployment at a time
/// acts on an environment: a new one waits for the one that is running, and supersedes one of the same
/// session that still waits. On a stopped pipeline the deployment is accepted and waits. If the session is
/// not active, the request is rejected with `409`.
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
    let mut command = session_replay::open_for_deployment(&permit, key, &body.bytes).await?;
    let DeployCommit { commit_id, branch } = &body.value;
    let accepted = hold::deploy(&mut command, &place, session_id, commit_id, branch.as_deref()).await?;
    let accepted = session_wire::deployment(command.web_urls(), accepted);
    Ok(command.finish(RecordResponse::new(StatusCode::ACCEPTED, &accepted)?).await?)
}

/// Keep a session's place in the queue, or confirm a grant from the queue
///
/// A waiting session keeps its place until the new `heartbeatBy`: for another 120 seconds with a `ci` or
/// `agent` token, and for the environment's `queue.maxStay` (4 hours if the definition has none) if a
/// person waits. A session that was granted from the queue gets its full lease; without a heartbeat, a
/// renewal or a deployment within 60 seconds of the grant it is canceled, and the next session in the queue
/// is granted. On any other active session the request changes nothing; in particular it does not renew the
/// lease. The request can be repeated safely at any time, so it takes no `Idempotency-Key`. It records no
/// event.
#[utoipa::path(post,
    path = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/sessions/{sessionId}/heartbeat",
    tag = "environments",
    params(OrganizationPath, SessionPath),
    responses((status = 200, description = "The session: `queued` with its next `heartbeatBy`, or `active`",
        body = Data<Session>, example = json!(examples::session())),
        CommandProblems))]
pub async fn heartbeat_session(permit: Permit<SessionHold>, path: PathParams<SessionPath>) -> HandlerResult {
    let (place, session_id) = path.0.parse()?;
    Ok(hold::heartbeat(&permit.command_without_key(), &place, session_id, respond).await?)
}

/// Renew a session, so that it expires later
///
/// The session then expires a full lease from now, but never after `maxExpiresAt` and never earlier than
/// before. A grant from the queue is confirmed. The request records no event. If the session is not active
/// any more, it is rejected with `409`, and the environment has to be claimed again.
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
    let mut command = session_replay::open(&permit, &path.0.pipeline_id, key, &[]).await?;
    let renewed = hold::renew(&mut command, &place, session_id).await?;
    let response = respond(command.web_urls(), renewed)?;
    Ok(command.finish(response).await?)
}

/// Release an active session, or leave the queue
///
/// The environment is granted to the first session in the queue immediately. The request does not wait for
/// the teardown, which runs before the next session's first deployment. The session's deployments are
/// canceled. Releasing a session that has ended changes nothing and returns it. Another user's session can be
/// released by a maintainer whose token has `allowForce`.
#[utoipa::path(delete,
    path = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/sessions/{sessionId}",
    tag = "environments",
    params(OrganizationPath, SessionPath, DryRun, IdempotencyKey),
    responses((status = 200, body = Data<Session>, example = json!(examples::released_session())), CommandProblems))]
pub async fn release_session(
    permit: Permit<(SessionHold, SessionEndAny)>,
    path: PathParams<SessionPath>,
    query: Query<DryRun>,
    key: IdempotencyKey,
) -> HandlerResult {
    let ((place, session_id), command) = (path.0.parse()?, permit.command(key, &[]));
    Ok(if query.0.is_dry_run() {
        hold::preview_release(&command, &place, session_id, respond).await?
    } else {
        hold::release(&command, &place, session_id, respond).await?
    })
}

/// A claim's response: the session is active, or queued.
pub fn respond_claimed(urls: WebUrls<'_>, view: SessionView) -> Result<RecordResponse, Failure> {
    let is_queued = view.session.status == SessionStatus::Queued;
    let status = if is_queued { StatusCode::ACCEPTED } else { StatusCode::CREATED };
    session_wire::respond(status, urls, view)
}

fn respond(urls: WebUrls<'_>, view: SessionView) -> Result<RecordResponse, Failure> {
    session_wire::respond(StatusCode::OK, urls, view)
}
