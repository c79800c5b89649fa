//! `/organizations/{orgId}/runners`: manages runners. The API that runners call is in `job`.

mod archive;
mod auth;
pub mod job;

use axum::Json;
use axum::http::StatusCode;
use greenroom_api_types::envelope::Data;
use greenroom_api_types::runner_pool::{CreateRunner, CreatedRunner, Runner};
use greenroom_app::runner;
use greenroom_domain::policy::action::RunnerManage;

use crate::http::rules::body::Body;
use crate::http::rules::command::HandlerResult;
use crate::http::rules::dry_run::DryRun;
use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::idempotency::IdempotencyKey;
use crate::http::rules::path::{OrganizationPath, PathParams, RunnerPath, parse_id};
use crate::http::rules::permit::Permit;
use crate::http::rules::problem_responses::{BodyProblems, CommandProblems, ReadProblems};
use crate::http::rules::query::Query;
use crate::http::rules::record_response::RecordResponse;

/// List the runners
///
/// The list is sorted by name, has no pages, and contains 1,000 runners at most. Revoked runners are left
/// out. `lastSeenAt` is accurate to 10 seconds, and `status` to a minute.
#[utoipa::path(get, path = "/organizations/{orgId}/runners", tag = "runners",
    params(OrganizationPath),
    responses((status = 200, body = Data<Vec<Runner>>), ReadProblems))]
pub async fn list_runners(permit: Permit<RunnerManage>) -> Result<Json<Data<Vec<Runner>>>, EarlyResponse> {
    let found = permit.app.store.runners(permit.organization()).await?;
    Ok(Json(Data { data: found.into_iter().map(runner::to_view).collect() }))
}

/// Create a runner. Only this response contains its token
///
/// The token does not expire; it is valid until the runner is revoked. If the request is repeated with the
/// same `Idempotency-Key`, the response does not contain the token again. A pool that does not exist is
/// created with its first runner.
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
    Ok(command.finish(RecordResponse::new(StatusCode::CREATED, &sent)?.with_stored_record(&stored)?).await?)
}

/// Revoke a runner. It gets no more jobs, and loses its current jobs
///
/// The runner's requests are rejected with `410` within a second, on every server. Its jobs count as lost
/// when their leases have run out, about 90 seconds after their last heartbeat. Revoking again changes
/// nothing and returns the runner.
#[utoipa::path(delete, path = "/organizations/{orgId}/runners/{runnerId}", tag = "runners",
    params(OrganizationPath, RunnerPath, DryRun, IdempotencyKey),
    responses((status = 200, body = Data<Runner>), CommandProblems))]
pub async fn revoke_runner(
    permit: Permit<RunnerManage>,
    path: PathParams<RunnerPath>,
    query: Query<DryRun>,
    key: IdempotencyKey,
) -> HandlerResult {
    let runner_id = parse_id(&path.0.runner_id)?;
    let mut command = permit.open(key, &[]).await?;
    let revoked = runner::revoke(&mut command, runner_id).await?;
    query.0.finish(command, RecordResponse::ok(&runner::to_view(revoked))?).await
}
