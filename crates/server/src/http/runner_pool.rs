//! `/organizations/{orgId}/runner-pools`: pools of runners, and the networks that their steps may access.

use axum::Json;
use axum::response::{IntoResponse, Response};
use greenroom_api_types::envelope::Data;
use greenroom_api_types::runner_pool::{RunnerPool, SavedRunnerPool, UpdateRunnerPool};
use greenroom_app::failure::Failure;
use greenroom_app::runner_pool;
use greenroom_domain::policy::action::RunnerManage;
use greenroom_store::runner_pool::RunnerPoolRecord;

use crate::http::rules::body::Body;
use crate::http::rules::command::HandlerResult;
use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::idempotency::IdempotencyKey;
use crate::http::rules::path::{OrganizationPath, PathParams, RunnerPoolPath};
use crate::http::rules::permit::Permit;
use crate::http::rules::precondition::Precondition;
use crate::http::rules::problem_responses::{BodyProblems, CommandProblems, ConditionProblems, ReadProblems};
use crate::http::rules::record_response::RecordResponse;

/// List the runner pools, with the number of jobs that wait for their runners
///
/// The list is sorted by name, has no pages, and contains 1,000 pools at most. The numbers of runners and
/// jobs are those at the time of the request.
#[utoipa::path(get, path = "/organizations/{orgId}/runner-pools", tag = "runners",
    params(OrganizationPath),
    responses((status = 200, body = Data<Vec<RunnerPool>>), ReadProblems))]
pub async fn list_runner_pools(
    permit: Permit<RunnerManage>,
) -> Result<Json<Data<Vec<RunnerPool>>>, EarlyResponse> {
    let found = permit.app.store.runner_pools(permit.organization()).await?;
    Ok(Json(Data { data: found.into_iter().map(runner_pool::to_view).collect() }))
}

/// View a runner pool
///
/// A pool exists from the time when a runner or a queued stage first names it; before that it is `404`. The
/// numbers of runners and jobs are those at the time of the request. The `ETag` is the revision, followed by
/// a part for these numbers, which `If-Match` ignores.
#[utoipa::path(get, path = "/organizations/{orgId}/runner-pools/{poolName}", tag = "runners",
    params(OrganizationPath, RunnerPoolPath),
    responses((status = 200, body = Data<RunnerPool>), ReadProblems))]
pub async fn get_runner_pool(
    permit: Permit<RunnerManage>,
    path: PathParams<RunnerPoolPath>,
) -> Result<Response, EarlyResponse> {
    let found = permit.app.store.runner_pool(permit.organization(), &path.0.pool_name).await?;
    Ok(respond(found.ok_or_else(Failure::not_found)?)?.into_response())
}

/// Set the network access of a pool's steps, and restrict the pool to pipelines and environments
///
/// The changes apply to jobs that runners take from then on. Jobs that run keep their network. Fields that
/// are left out stay as they are; null removes a restriction. A request that changes nothing creates no
/// revision and no event.
#[utoipa::path(patch, path = "/organizations/{orgId}/runner-pools/{poolName}", tag = "runners",
    params(OrganizationPath, RunnerPoolPath, IdempotencyKey, Precondition),
    request_body = UpdateRunnerPool,
    responses((status = 200, body = SavedRunnerPool), CommandProblems, BodyProblems, ConditionProblems))]
pub async fn update_runner_pool(
    permit: Permit<RunnerManage>,
    path: PathParams<RunnerPoolPath>,
    key: IdempotencyKey,
    condition: Precondition,
    body: Body<UpdateRunnerPool>,
) -> HandlerResult {
    let mut command = permit.open(key, &body.bytes).await?;
    let updated = runner_pool::update(&mut command, &path.0.pool_name, &condition, &body.value).await?;
    let warnings = runner_pool::warnings(&mut command, &updated).await?;
    Ok(command.finish(respond(updated)?.with_warnings(&warnings)?).await?)
}

fn respond(pool: RunnerPoolRecord) -> Result<RecordResponse, Failure> {
    // The load is in the tag's suffix: `If-Match` still matches after a job has started or ended.
    let (revision, load) = (pool.revision, format!("{}-{}-{}", pool.runners, pool.queued, pool.running));
    Ok(RecordResponse::ok(&runner_pool::to_view(pool))?.with_revision_and_suffix(revision, &load))
}
