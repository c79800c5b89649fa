//! `…/sessions/{sessionId}/transfer`

use axum::http::StatusCode;
use greenroom_api_types::envelope::Data;
use greenroom_api_types::session::{Session, TransferSession};
use greenroom_app::session::transfer;
use greenroom_domain::policy::action::SessionHold;

use crate::http::rules::body::Body;
use crate::http::rules::command::HandlerResult;
use crate::http::rules::idempotency::IdempotencyKey;
use crate::http::rules::path::{OrganizationPath, PathParams, SessionPath};
use crate::http::rules::permit::Permit;
use crate::http::rules::problem_responses::{BodyProblems, CommandProblems};
use crate::http::{session_replay, session_wire};

/// Transfer the environment to another member, regardless of the queue
///
/// In one transaction, the session ends as `released`, its deployments are canceled, and a session of the
/// other member begins, with a new fence and a full lease of the same length. Sessions in the queue keep
/// their places. Only the holder can transfer a session, and only while it is active.
#[utoipa::path(post,
    path = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/sessions/{sessionId}/transfer",
    tag = "environments",
    params(OrganizationPath, SessionPath, IdempotencyKey),
    request_body = TransferSession,
    responses((status = 201, description = "The session of the new holder. The transferred session is now `released`", body = Data<Session>),
        CommandProblems, BodyProblems))]
pub async fn transfer_session(
    permit: Permit<SessionHold>,
    path: PathParams<SessionPath>,
    key: IdempotencyKey,
    body: Body<TransferSession>,
) -> HandlerResult {
    let (place, session_id) = path.0.parse()?;
    let mut command = session_replay::open(&permit, &path.0.pipeline_id, key, &body.bytes).await?;
    let given = transfer::transfer(&mut command, &place, session_id, &body.value.user_id).await?;
    let response = session_wire::respond(StatusCode::CREATED, command.web_urls(), given)?;
    Ok(command.finish(response).await?)
}
