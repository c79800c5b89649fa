//! `/organizations/{orgId}/runners`: who may carry jobs out. What runners themselves say is in `job`.

use axum::Json;
use axum::http::StatusCode;
use greenroom_api_types::envelope::Data;
use greenroom_api_types::runner_pool::{CreateRunner, CreatedRunner, Runner};
use greenroom_domain::policy::action::RunnerManage;

use crate::app::failure::Failure;
use crate::app::runner;
use crate::http::answer::Answer;
use crate::http::body::Body;
use crate::http::idempotency::IdempotencyKey;
use crate::http::mutation::Answered;
use crate::http::path::{At, RunnerPath, id};
use crate::http::permit::Permit;

/// List the runners
#[utoipa::path(get, path = "/organizations/{orgId}/runners", tag = "runners",
    params(("orgId" = String, Path, description = "Id or slug")),
    responses((status = 200, body = Data<Vec<Runner>>)))]
pub async fn list_runners(permit: Permit<RunnerManage>) -> Result<Json<Data<Vec<Runner>>>, Failure> {
    let found = permit.app.store.runners(permit.organization()).await?;
    Ok(Json(Data { data: found.into_iter().map(runner::shown).collect() }))
}

/// Make a runner; its token is in this answer only
#[utoipa::path(post, path = "/organizations/{orgId}/runners", tag = "runners",
    params(("orgId" = String, Path, description = "Id or slug"), IdempotencyKey),
    request_body = CreateRunner,
    responses((status = 201, body = Data<CreatedRunner>)))]
pub async fn create_runner(
    permit: Permit<RunnerManage>,
    key: IdempotencyKey,
    body: Body<CreateRunner>,
) -> Answered {
    let mut mutation = permit.open(key, &body.bytes).await?;
    let (made, secret) = runner::create(&mut mutation.command, &body.value).await?;
    permit.app.authentication.remember(secret.hash()).await;
    let kept = CreatedRunner { record: runner::shown(made), token: None };
    let shown = CreatedRunner { token: Some(secret.reveal().to_owned()), ..kept.clone() };
    mutation.finish(Answer::new(StatusCode::CREATED, &shown)?.keeping(&kept)?).await
}

/// Revoke a runner: it gets no more jobs, and loses those that it has
#[utoipa::path(delete, path = "/organizations/{orgId}/runners/{runnerId}", tag = "runners",
    params(("orgId" = String, Path, description = "Id or slug"), ("runnerId" = String, Path), IdempotencyKey),
    responses((status = 200, body = Data<Runner>)))]
pub async fn revoke_runner(
    permit: Permit<RunnerManage>,
    path: At<RunnerPath>,
    key: IdempotencyKey,
) -> Answered {
    let runner_id = id(&path.0.runner_id)?;
    let mut mutation = permit.open(key, &[]).await?;
    let revoked = runner::revoke(&mut mutation.command, runner_id).await?;
    mutation.finish(Answer::ok(&runner::shown(revoked))?).await
}
