//! `…/ephemeral-environments/claim`: claims any free environment that has the labels.

use axum::response::{IntoResponse, Response};
use greenroom_api_types::envelope::Data;
use greenroom_api_types::environment_pool::ClaimFromPool;
use greenroom_api_types::session::Session;
use greenroom_app::failure::Failure;
use greenroom_app::session::pool::{self, PoolClaim};
use greenroom_app::session::{ClaimMode, ClaimRequest};
use greenroom_domain::policy::action::SessionHold;
use greenroom_store::pipeline::PipelineName;

use crate::http::rules::body::Body;
use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::idempotency::IdempotencyKey;
use crate::http::rules::path::{OrganizationPath, PathParams, PipelinePath};
use crate::http::rules::permit::Permit;
use crate::http::rules::prefer::Prefer;
use crate::http::rules::problem_responses::{BodyProblems, CommandProblems};
use crate::http::rules::request_slot::RequestSlot;
use crate::http::rules::response_examples as examples;
use crate::http::session::respond_claimed;
use crate::http::session_replay;

/// Claim the least recently used of the free environments that have all the labels
///
/// An environment is free if no session holds it or waits for it. Concurrent claims get different
/// environments. There is no queue for a pool: with `Prefer: wait=N` the server tries again whenever an
/// environment may have become free, for N seconds and 30 at most. Environments of templates are not part of
/// a pool. A repeated request claims another environment, unless it has the same `Idempotency-Key`.
#[utoipa::path(post, path = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/claim", tag = "environments",
    params(OrganizationPath, PipelinePath,
        IdempotencyKey, Prefer),
    request_body = ClaimFromPool,
    responses((status = 201, description = "You hold an environment; `envName` is its name",
        body = Data<Session>, example = json!(examples::session())),
        CommandProblems, BodyProblems))]
pub async fn claim_from_pool(
    permit: Permit<SessionHold>,
    path: PathParams<PipelinePath>,
    key: IdempotencyKey,
    prefer: Prefer,
    request_slot: RequestSlot,
    body: Body<ClaimFromPool>,
) -> Result<Response, EarlyResponse> {
    let pipeline = PipelineName::parse(&path.0.pipeline_id).ok_or_else(Failure::not_found)?;
    let ClaimFromPool { labels, commit_id, branch, context, ttl_seconds } = body.value;
    let claim = ClaimRequest { commit_id, branch, context, ttl_seconds, mode: ClaimMode::Plain };
    let pool = PoolClaim { pipeline: &pipeline, labels: &labels, claim: &claim };
    let command = permit.command(key, &body.bytes);
    let current = |result| session_replay::session(&permit, &path.0.pipeline_id, result);
    Ok(match prefer.wait {
        None => current(pool::claim(&command, pool, respond_claimed).await).await?.into_response(),
        Some(wait) => {
            let command = command.waiting();
            let claim = pool::claim_within(&command, pool, wait, respond_claimed);
            prefer.respond_after_wait(&request_slot, async { current(claim.await).await }).await
        }
    })
}
