//! `…/sessions/{sessionId}/transfer`

use axum::http::StatusCode;
use greenroom_api_types::envelope::Data;
use greenroom_api_types::session::{Session, TransferSession};
use greenroom_domain::policy::action::SessionHold;

use crate::app::transfer;
use crate::http::body::Body;
use crate::http::idempotency::IdempotencyKey;
use crate::http::mutation::HandlerResult;
use crate::http::path::{PathParams, SessionPath, parse_id};
use crate::http::permit::Permit;
use crate::http::record_response::RecordResponse;
use crate::http::session::{parse_place, to_wire};

/// Transfer the environment to another member, regardless of the queue
#[utoipa::path(post,
    path = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/sessions/{sessionId}/transfer",
    tag = "environments",
    params(("orgId" = String, Path, description = "Id or slug"), ("pipelineId" = String, Path, description = "Id or slug"),
        ("envName" = String, Path), ("sessionId" = String, Path), IdempotencyKey),
    request_body = TransferSession,
    responses((status = 201, description = "The session of the new holder. The transferred session is now `released`", body = Data<Session>)))]
pub async fn transfer_session(
    permit: Permit<SessionHold>,
    path: PathParams<SessionPath>,
    key: IdempotencyKey,
    body: Body<TransferSession>,
) -> HandlerResult {
    let (place, session_id) =
        (parse_place(&path.0.pipeline_id, &path.0.env_name)?, parse_id(&path.0.session_id)?);
    let mut mutation = permit.open(key, &body.bytes).await?;
    let given = transfer::transfer(&mut mutation.command, &place, session_id, &body.value.user_id).await?;
    mutation.finish(RecordResponse::new(StatusCode::CREATED, &to_wire(given))?).await
}
