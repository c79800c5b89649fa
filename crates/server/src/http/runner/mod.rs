//! `/organizations/{orgId}/runners`: manages runners. The API that runners call is in `job`.

mod archive;
mod auth;
pub mod job;

use axum::Json;
use axum::http::StatusCode;
use greenroom_api_types::envelope::Data;
use greenroom_api_types::runner_pool::{CreateRunner, CreatedRunner, Runner};
use greenroom_domain::policy::action::RunnerManage;

use crate::app::failure::Failure;
use crate::app::runner;
use crate::http::rules::body::Body;
use crate::http::rules::command::HandlerResult;
use crate::http::rules::idempotency::IdempotencyKey;
use crate::http::rules::path::{OrganizationPath, PathParams, RunnerPath, parse_id};
use crate::http::rules::permit::Permit;
use crate::http::rules::problem_responses::{BodyProblems, CommandProblems, ReadProblems};
use crate::http::rules::record_response::RecordResponse;

/// List the runners
#[utoipa::path(get, path = "/organizations/{orgId}/runners", tag = "runners",
    params(OrganizationPath),
    responses((status = 200, body = Data<Vec<Runner>>), ReadProblems))]
pub async fn list_runners(permit: Permit<RunnerManage>) -> Result<Json<Data<Vec<Runner>>>, Failure> {
    let found = permit.app.store.runners(permit.organization()).await?;
    Ok(Json(Data { data: found.into_iter().map(runner::to_view).collect() }))
}

/// Create a runner. Only this response contains its token
#[utoipa::path(post, path = "/organizations/{orgId}/runners", tag = "runners",
    params(OrganizationPath, IdempotencyKey),
    request_body = CreateRunner,
    responses((status = 201, body = Data<CreatedRunner>), CommandProblems, BodyProblems))]
pub async fn create_runner(
    permit: Permit<RunnerManage>,
    key: IdempotencyKey,
    body: Body<CreateRunner>,
) -> HandlerResult {
    let mut command = permit.open(key, &body.bytes).await?;
    let (created, secret) = runner::create(&mut command, &body.value).await?;
    permit.app.authentication.remember(secret.hash()).await;
    let stored = CreatedRunner { record: runner::to_view(created), token: None };
    let sent = CreatedRunner { token: Some(secret.reveal().to_owned()), ..stored.clone() };
    command.finish(RecordResponse::new(StatusCode::CREATED, &sent)?.with_stored_record(&stored)?).await
}

/// Revoke a runner. It gets no more jobs, and loses its current jobs
#[utoipa::path(delete, path = "/organizations/{orgId}/runners/{runnerId}", tag = "runners",
    params(OrganizationPath, RunnerPath, IdempotencyKey),
    responses((status = 200, body = Data<Runner>), CommandProblems))]
pub async fn revoke_runner(
    permit: Permit<RunnerManage>,
    path: PathParams<RunnerPath>,
    key: IdempotencyKey,
) -> HandlerResult {
    let runner_id = parse_id(&path.0.runner_id)?;
    let mut command = permit.open(key, &[]).await?;
    let revoked = runner::revoke(&mut command, runner_id).await?;
    command.finish(RecordResponse::ok(&runner::to_view(revoked))?).await
}
