//! `…/ephemeral-environments/claim`: claims any free environment that has the labels.

use axum::http::StatusCode;
use axum::response::IntoResponse;
use greenroom_api_types::envelope::Data;
use greenroom_api_types::environment_pool::ClaimFromPool;
use greenroom_api_types::session::Session;
use greenroom_domain::policy::action::SessionHold;
use greenroom_store::pipeline::PipelineName;

use crate::app::environment_pool;
use crate::app::failure::Failure;
use crate::app::session::{ClaimMode, ClaimRequest};
use crate::http::body::Body;
use crate::http::idempotency::IdempotencyKey;
use crate::http::mutation::HandlerResult;
use crate::http::path::{PathParams, PipelinePath};
use crate::http::permit::Permit;
use crate::http::prefer::Prefer;
use crate::http::record_response::RecordResponse;
use crate::http::request_slot::RequestSlot;
use crate::http::session::to_wire;
use crate::http::waiting::{self, KeyedRequest};

/// Claim the least recently used of the free environments that have all the labels
#[utoipa::path(post, path = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/claim", tag = "environments",
    params(("orgId" = String, Path, description = "Id or slug"), ("pipelineId" = String, Path, description = "Id or slug"),
        IdempotencyKey, Prefer),
    request_body = ClaimFromPool,
    responses((status = 201, description = "You hold an environment; `envName` is its name", body = Data<Session>)))]
pub async fn claim_from_pool(
    permit: Permit<SessionHold>,
    path: PathParams<PipelinePath>,
    key: IdempotencyKey,
    (prefer, request_slot): (Prefer, RequestSlot),
    body: Body<ClaimFromPool>,
) -> HandlerResult {
    let pipeline = PipelineName::parse(&path.0.pipeline_id).ok_or_else(Failure::not_found)?;
    let ClaimFromPool { labels, commit_id, branch, context, ttl_seconds } = body.value;
    let request = ClaimRequest { commit_id, branch, context, ttl_seconds, mode: ClaimMode::Plain };
    if let Some(wait) = prefer.wait {
        let keyed = KeyedRequest { key: &key, body: &body.bytes };
        let result =
            waiting::claim_from_pool(&permit, (&pipeline, &labels), keyed, &request, (wait, &request_slot))
                .await;
        return Ok(prefer.add_applied_header(result.into_response()));
    }
    let mut mutation = permit.open(key, &body.bytes).await?;
    let view = environment_pool::claim(&mut mutation.command, &pipeline, &labels, &request).await?;
    mutation.finish(RecordResponse::new(StatusCode::CREATED, &to_wire(view))?).await
}
