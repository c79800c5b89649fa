//! `/organizations/{orgId}/runner-pools`: which runners there are to choose from, and what their steps may reach.

use axum::Json;
use axum::response::{IntoResponse, Response};
use greenroom_api_types::envelope::Data;
use greenroom_api_types::runner_pool::{RunnerPool, UpdateRunnerPool};
use greenroom_domain::policy::action::RunnerManage;
use greenroom_store::runner_pool::Pool;

use crate::app::failure::Failure;
use crate::app::precondition::IfMatch;
use crate::app::runner_pool;
use crate::http::answer::Answer;
use crate::http::body::Body;
use crate::http::idempotency::IdempotencyKey;
use crate::http::mutation::Answered;
use crate::http::path::{At, RunnerPoolPath};
use crate::http::permit::Permit;

/// List the pools, with how much waits for their runners
#[utoipa::path(get, path = "/organizations/{orgId}/runner-pools", tag = "runners",
    params(("orgId" = String, Path, description = "Id or slug")),
    responses((status = 200, body = Data<Vec<RunnerPool>>)))]
pub async fn list_runner_pools(permit: Permit<RunnerManage>) -> Result<Json<Data<Vec<RunnerPool>>>, Failure> {
    let found = permit.app.store.runner_pools(permit.organization()).await?;
    Ok(Json(Data { data: found.into_iter().map(runner_pool::shown).collect() }))
}

/// View a pool
#[utoipa::path(get, path = "/organizations/{orgId}/runner-pools/{poolName}", tag = "runners",
    params(("orgId" = String, Path, description = "Id or slug"), ("poolName" = String, Path)),
    responses((status = 200, body = Data<RunnerPool>)))]
pub async fn get_runner_pool(
    permit: Permit<RunnerManage>,
    path: At<RunnerPoolPath>,
) -> Result<Response, Failure> {
    let found = permit.app.store.runner_pool(permit.organization(), &path.0.pool_name).await?;
    Ok(answer(found.ok_or_else(Failure::not_found)?)?.into_response())
}

/// Set what a pool's steps may reach, and restrict it to pipelines and environments; holds for jobs given out from then on
#[utoipa::path(patch, path = "/organizations/{orgId}/runner-pools/{poolName}", tag = "runners",
    params(("orgId" = String, Path, description = "Id or slug"), ("poolName" = String, Path), IdempotencyKey, IfMatch),
    request_body = UpdateRunnerPool,
    responses((status = 200, body = Data<RunnerPool>)))]
pub async fn update_runner_pool(
    permit: Permit<RunnerManage>,
    path: At<RunnerPoolPath>,
    key: IdempotencyKey,
    condition: IfMatch,
    body: Body<UpdateRunnerPool>,
) -> Answered {
    let mut mutation = permit.open(key, &body.bytes).await?;
    let updated =
        runner_pool::update(&mut mutation.command, &path.0.pool_name, &condition, &body.value).await?;
    mutation.finish(answer(updated)?).await
}

fn answer(pool: Pool) -> Result<Answer, Failure> {
    // Jobs come and go without changing the pool: a change that is meant for this revision still fits.
    let (revision, load) = (pool.revision, format!("{}-{}-{}", pool.runners, pool.queued, pool.running));
    Ok(Answer::ok(&runner_pool::shown(pool))?.revision_beside(revision, &load))
}
