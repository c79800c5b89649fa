//! `…/environments/{environmentName}/hold`: holds a lasting environment, or ends the hold.

use greenroom_api_types::envelope::Data;
use greenroom_api_types::lasting_environment::{HeldEnvironment, HoldEnvironment};
use greenroom_app::environment_hold;
use greenroom_app::failure::Failure;
use greenroom_domain::policy::action::EnvironmentHold;
use greenroom_store::pipeline::PipelineName;

use crate::http::rules::body::Body;
use crate::http::rules::command::HandlerResult;
use crate::http::rules::dry_run::DryRun;
use crate::http::rules::idempotency::IdempotencyKey;
use crate::http::rules::path::{LastingEnvironmentPath, OrganizationPath, PathParams};
use crate::http::rules::permit::Permit;
use crate::http::rules::problem_responses::{BodyProblems, CommandProblems};
use crate::http::rules::query::Query;
use crate::http::rules::record_response::RecordResponse;

/// Hold a lasting environment: only your deployments begin there
///
/// A deployment is yours if you created it or retried it last. What already works there goes on. The hold ends at
/// `until`, at most 24 hours from now; another request by the same user replaces it. While another user holds the
/// environment, the request is rejected with `409`, unless it is by an admin, who takes the hold over.
#[utoipa::path(post, path = "/organizations/{orgId}/pipelines/{pipelineId}/environments/{environmentName}/hold",
    tag = "environments",
    params(OrganizationPath, LastingEnvironmentPath, IdempotencyKey),
    request_body = HoldEnvironment,
    responses((status = 200, body = Data<HeldEnvironment>), CommandProblems, BodyProblems))]
pub async fn hold_environment(
    permit: Permit<EnvironmentHold>,
    path: PathParams<LastingEnvironmentPath>,
    key: IdempotencyKey,
    body: Body<HoldEnvironment>,
) -> HandlerResult {
    let pipeline = PipelineName::parse(&path.0.pipeline_id).ok_or_else(Failure::not_found)?;
    let mut command = permit.open(key, &body.bytes).await?;
    let held = environment_hold::hold(&mut command, &pipeline, &path.0.environment_name, body.value).await?;
    Ok(command.finish(RecordResponse::ok(&held)?).await?)
}

/// End the hold of a lasting environment
///
/// Deployments that wait for it continue. The holder ends it, or an admin. If there is no hold, nothing changes.
#[utoipa::path(delete, path = "/organizations/{orgId}/pipelines/{pipelineId}/environments/{environmentName}/hold",
    tag = "environments",
    params(OrganizationPath, LastingEnvironmentPath, DryRun, IdempotencyKey),
    responses((status = 200, body = Data<HeldEnvironment>), CommandProblems))]
pub async fn end_environment_hold(
    permit: Permit<EnvironmentHold>,
    path: PathParams<LastingEnvironmentPath>,
    query: Query<DryRun>,
    key: IdempotencyKey,
) -> HandlerResult {
    let pipeline = PipelineName::parse(&path.0.pipeline_id).ok_or_else(Failure::not_found)?;
    let mut command = permit.open(key, &[]).await?;
    let held = environment_hold::end(&mut command, &pipeline, &path.0.environment_name).await?;
    query.0.finish(command, RecordResponse::ok(&held)?).await
}
