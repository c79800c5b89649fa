//! `/runner/jobs/…`: the API for runners. Roles do not apply here: a runner's token gives access to the jobs
//! of its pool, and each job has its own token. The wire types are in `greenroom_api_types::runner`.

use std::time::Duration;

use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use greenroom_api_types::envelope::Data;
use greenroom_api_types::runner::{
    Acquire, CONCURRENCY_HEADER, CheckedOut, Complete, CredentialRequest, CredentialResponse,
    DRAINING_HEADER, Heartbeat, LogSize, RefreshedIdTokens, StepEnd, StepStart, StepStarted,
};
use greenroom_app::App;
use greenroom_app::failure::Failure;
use greenroom_app::{id_token, job, log};
use greenroom_domain::id::StepRunId;
use greenroom_domain::text::Name;
use jiff::Timestamp;
use serde::Deserialize;

use crate::http::rules::body::{Body, read};
use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::path::parse_id;
use crate::http::rules::rejected_upload::reject;
use crate::http::rules::request_slot::RequestSlot;
use crate::http::runner::archive;
use crate::http::runner::auth::{JobAuth, RequestApp, RunnerAuth};

pub fn routes() -> Router<App> {
    Router::new()
        .route("/runner/jobs/acquire", post(acquire))
        .route("/runner/jobs/{jobId}/heartbeat", post(heartbeat))
        .route("/runner/jobs/{jobId}/steps/{stepRunId}/start", post(start_step))
        .route("/runner/jobs/{jobId}/steps/{stepRunId}/id-tokens", post(refresh_id_tokens))
        .route("/runner/jobs/{jobId}/steps/{stepRunId}/end", post(end_step))
        .route("/runner/jobs/{jobId}/steps/{stepRunId}/logs", post(append_log))
        .route("/runner/jobs/{jobId}/credentials", post(read_credential))
        .route("/runner/jobs/{jobId}/checkout", post(record_checkout))
        .route("/runner/jobs/{jobId}/complete", post(complete))
        .merge(archive::routes())
}

async fn acquire(
    State(app): State<App>,
    RunnerAuth(runner): RunnerAuth,
    request_slot: RequestSlot,
    headers: HeaderMap,
    body: Body<Acquire>,
) -> Result<Response, EarlyResponse> {
    let concurrency = headers.get(CONCURRENCY_HEADER).and_then(|value| value.to_str().ok()?.parse().ok());
    let wait = body.value.wait_seconds.map_or(job::MAX_WAIT, |seconds| Duration::from_secs(seconds.into()));
    let version = body.value.version.as_deref().map(Name::new).transpose();
    let version = version.map_err(|error| Failure::field("/version", error))?;
    request_slot.count_poll(concurrency)?;
    let version = version.as_ref().map(Name::as_str);
    app.store.record_runner_request(runner.organization_id, runner.id, version).await?;
    request_slot.begin_wait(job::MAX_WAIT)?;
    match job::acquire(&app, runner, wait.min(job::MAX_WAIT)).await? {
        Some(job) => Ok(Json(Data { data: job }).into_response()),
        None => Ok(StatusCode::NO_CONTENT.into_response()),
    }
}

async fn heartbeat(
    RequestApp(app): RequestApp,
    auth: JobAuth,
    headers: HeaderMap,
) -> Result<Json<Data<Heartbeat>>, EarlyResponse> {
    let heartbeat = job::heartbeat(&app, auth.credentials()).await?;
    if headers.get(DRAINING_HEADER).is_some_and(|value| value == "true") {
        let runner = auth.credentials().runner;
        // Only the display depends on it, so the heartbeat counts nevertheless.
        if let Err(error) = app.store.record_runner_draining(runner.organization_id, runner.id).await {
            tracing::warn!(error = &error as &dyn std::error::Error, "could not record that a runner drains");
        }
    }
    Ok(Json(Data { data: heartbeat }))
}

async fn start_step(
    RequestApp(app): RequestApp,
    auth: JobAuth,
    path: JobStepPath,
    body: Body<StepStart>,
) -> Result<Json<Data<StepStarted>>, EarlyResponse> {
    let started = job::begin_step(&app, auth.credentials(), step_id(&path)?, &body.value).await?;
    Ok(Json(Data { data: started }))
}

async fn refresh_id_tokens(
    RequestApp(app): RequestApp,
    auth: JobAuth,
    path: JobStepPath,
) -> Result<Json<Data<RefreshedIdTokens>>, EarlyResponse> {
    let data = id_token::refresh(&app, auth.credentials(), step_id(&path)?).await?;
    Ok(Json(Data { data }))
}

async fn end_step(
    RequestApp(app): RequestApp,
    auth: JobAuth,
    path: JobStepPath,
    body: Body<StepEnd, MAX_STEP_END_BYTES>,
) -> Result<Json<Data<()>>, EarlyResponse> {
    job::end_step(&app, auth.credentials(), step_id(&path)?, body.value).await?;
    Ok(Json(Data { data: () }))
}

async fn read_credential(
    State(app): State<App>,
    auth: JobAuth,
    body: Body<CredentialRequest>,
) -> Result<Json<Data<CredentialResponse>>, EarlyResponse> {
    let data = job::platform_credential::read(&app, auth.credentials(), &body.value).await?;
    Ok(Json(Data { data }))
}

async fn record_checkout(
    State(app): State<App>,
    auth: JobAuth,
    body: Body<CheckedOut>,
) -> Result<Json<Data<()>>, EarlyResponse> {
    job::record_checkout(&app, auth.credentials(), &body.value).await?;
    Ok(Json(Data { data: () }))
}

async fn complete(
    RequestApp(app): RequestApp,
    auth: JobAuth,
    body: Body<Complete>,
) -> Result<Json<Data<()>>, EarlyResponse> {
    job::complete(&app, auth.credentials(), &body.value).await?;
    Ok(Json(Data { data: () }))
}

#[derive(Debug, Deserialize)]
struct LogQuery {
    /// The position of the first byte in the log.
    offset: u64,
    /// When the bytes were written, by the runner's clock.
    at: Timestamp,
}

async fn append_log(
    State(app): State<App>,
    auth: JobAuth,
    path: JobStepPath,
    Query(query): Query<LogQuery>,
    request: Request,
) -> Result<Json<Data<LogSize>>, EarlyResponse> {
    if query.at < Timestamp::UNIX_EPOCH {
        return Err(Failure::field("at", "must not be before 1970").into());
    }
    let step = step_id(&path)?;
    let end = match log::authorize(&app, auth.credentials(), step).await {
        Ok(end) => end,
        Err(failure) => {
            let (parts, body) = request.into_parts();
            return Err(reject(failure, &parts.headers, body).await.into());
        }
    };
    let bytes = read(request, log::MAX_PIECE_BYTES).await?;
    let piece = log::LogPiece { offset: query.offset, at: query.at, bytes };
    let bytes = log::append(&app, auth.credentials(), step, end, piece).await?;
    Ok(Json(Data { data: LogSize { bytes } }))
}

type JobStepPath = Path<(String, String)>;
/// Outputs of 256 KiB, with room for JSON's escape sequences.
const MAX_STEP_END_BYTES: usize = 2 * 1024 * 1024;

fn step_id(Path((_, step)): &JobStepPath) -> Result<StepRunId, Failure> {
    parse_id(step)
}
