//! `/runner/jobs/{jobId}/artifact`, `…/artifacts/…`, `…/caches/…` and `…/steps/{digest}`: archives that runners upload and
//! download.

use std::io;
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, put};
use axum::{Json, Router};
use futures_util::{StreamExt, TryStreamExt};
use greenroom_api_types::envelope::Data;
use greenroom_app::App;
use greenroom_app::archive::ArchiveDownload;
use greenroom_app::failure::Failure;
use greenroom_app::job::step_archive;
use greenroom_app::{artifact, cache};
use greenroom_domain::step::StepDigest;
use greenroom_worker::objects::ByteStream;

use crate::http::rules::download::download;
use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::path::parse_id;
use crate::http::rules::rejected_upload::reject;
use crate::http::rules::request_slot::RequestSlot;
use crate::http::runner::auth::JobAuth;

/// Enough for an archive of several gigabytes over a slow connection.
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(3_600);
/// The SHA-256 of the archive, in hexadecimal digits.
const SHA256_HEADER: HeaderName = HeaderName::from_static("x-greenroom-sha256");

type ArchivePath = Path<(String, String)>;

pub fn routes() -> Router<App> {
    Router::new()
        .route("/runner/jobs/{jobId}/artifact", put(store_artifact))
        .route("/runner/jobs/{jobId}/artifacts/{artifactId}", get(read_artifact))
        .route("/runner/jobs/{jobId}/caches/{key}", get(read_cache).put(store_cache))
        .route("/runner/jobs/{jobId}/steps/{digest}", get(read_step))
}

async fn store_artifact(
    State(app): State<App>,
    auth: JobAuth,
    request_slot: RequestSlot,
    headers: HeaderMap,
    request: Request,
) -> Result<Json<Data<()>>, EarlyResponse> {
    let body = request.into_body();
    let announced = body.size_hint().lower();
    if let Err(failure) = artifact::authorize(&app, auth.credentials(), announced).await {
        return Err(reject(failure, &headers, body).await.into());
    }
    request_slot.begin_upload(UPLOAD_TIMEOUT)?;
    artifact::keep(&app, auth.credentials(), sha256(&headers), to_stream(body)).await?;
    Ok(Json(Data { data: () }))
}

async fn read_artifact(
    State(app): State<App>,
    auth: JobAuth,
    Path((_, artifact)): ArchivePath,
) -> Result<Response, EarlyResponse> {
    let archive = artifact::read(&app, auth.credentials(), parse_id(&artifact)?).await?;
    Ok(archive_response(&app, &auth, archive)?)
}

async fn store_cache(
    State(app): State<App>,
    auth: JobAuth,
    request_slot: RequestSlot,
    Path((_, key)): ArchivePath,
    headers: HeaderMap,
    request: Request,
) -> Result<Json<Data<()>>, EarlyResponse> {
    let body = request.into_body();
    let announced = body.size_hint().lower();
    let pipeline = match cache::authorize(&app, auth.credentials(), &key, announced).await {
        Ok(pipeline) => pipeline,
        Err(failure) => return Err(reject(failure, &headers, body).await.into()),
    };
    request_slot.begin_upload(UPLOAD_TIMEOUT)?;
    cache::keep(&app, auth.credentials(), pipeline, &key, sha256(&headers), to_stream(body)).await?;
    Ok(Json(Data { data: () }))
}

async fn read_cache(
    State(app): State<App>,
    auth: JobAuth,
    Path((_, key)): ArchivePath,
) -> Result<Response, EarlyResponse> {
    let archive = cache::read(&app, auth.credentials(), &key).await?;
    Ok(archive_response(&app, &auth, archive)?)
}

async fn read_step(
    State(app): State<App>,
    auth: JobAuth,
    Path((_, digest)): ArchivePath,
) -> Result<Response, EarlyResponse> {
    let digest: StepDigest = digest.parse().map_err(|_| Failure::not_found())?;
    let archive = step_archive::read(&app, auth.credentials(), &digest).await?;
    Ok(archive_response(&app, &auth, archive)?)
}

fn to_stream(body: Body) -> ByteStream {
    body.into_data_stream().map_err(io::Error::other).boxed()
}

fn sha256(headers: &HeaderMap) -> Option<&str> {
    headers.get(SHA256_HEADER).and_then(|value| value.to_str().ok())
}

fn archive_response(app: &App, auth: &JobAuth, archive: ArchiveDownload) -> Result<Response, Failure> {
    let runner = auth.credentials().runner;
    let counted = app.limits.download(runner.into())?;
    let body = download(archive.body, counted, app.stream_rights.watch_runner(runner));
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-tar"));
    if let Ok(value) = HeaderValue::from_str(&archive.sha256) {
        headers.insert(SHA256_HEADER, value);
    }
    Ok(response)
}
