//! `…/ephemeral-environments/claim`: any free environment that has the labels.

use axum::http::StatusCode;
use axum::response::IntoResponse;
use greenroom_api_types::envelope::Data;
use greenroom_api_types::environment_pool::ClaimFromPool;
use greenroom_api_types::session::Session;
use greenroom_domain::policy::action::SessionHold;
use greenroom_store::pipeline::PipelineName;

use crate::app::environment_pool;
use crate::app::failure::Failure;
use crate::app::session::{Ask, How};
use crate::http::answer::Answer;
use crate::http::body::Body;
use crate::http::flight::Flight;
use crate::http::idempotency::IdempotencyKey;
use crate::http::mutation::Answered;
use crate::http::path::{At, PipelinePath};
use crate::http::permit::Permit;
use crate::http::prefer::Prefer;
use crate::http::session::wire;
use crate::http::waiting::{self, Keyed};

/// Claim any free environment that has all the labels, least recently used first
#[utoipa::path(post, path = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/claim", tag = "environments",
    params(("orgId" = String, Path, description = "Id or slug"), ("pipelineId" = String, Path, description = "Id or slug"),
        IdempotencyKey, Prefer),
    request_body = ClaimFromPool,
    responses((status = 201, description = "Yours; `envName` says which", body = Data<Session>)))]
pub async fn claim_from_pool(
    permit: Permit<SessionHold>,
    path: At<PipelinePath>,
    key: IdempotencyKey,
    (prefer, flight): (Prefer, Flight),
    body: Body<ClaimFromPool>,
) -> Answered {
    let pipeline = PipelineName::parse(&path.0.pipeline_id).ok_or_else(Failure::not_found)?;
    let ClaimFromPool { labels, commit_id, branch, context, ttl_seconds } = body.value;
    let ask = Ask { commit_id, branch, context, ttl_seconds, how: How::Plain };
    if let Some(wait) = prefer.wait {
        let keyed = Keyed { key: &key, body: &body.bytes };
        let answered =
            waiting::claim_from_pool(&permit, (&pipeline, &labels), keyed, &ask, (wait, &flight)).await;
        return Ok(prefer.applied(answered.into_response()));
    }
    let mut mutation = permit.open(key, &body.bytes).await?;
    let shown = environment_pool::claim(&mut mutation.command, &pipeline, &labels, &ask).await?;
    mutation.finish(Answer::new(StatusCode::CREATED, &wire(shown))?).await
}
