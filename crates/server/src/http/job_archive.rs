//! `/runner/jobs/{jobId}/artifact`, `…/artifacts/…` and `…/caches/…`: archives that runners send and fetch.

use std::time::Duration;

use axum::body::HttpBody;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, put};
use axum::{Json, Router};
use greenroom_api_types::envelope::Data;

use crate::app::App;
use crate::app::archive::Outgoing;
use crate::app::failure::Failure;
use crate::app::{archive, artifact, cache};
use crate::http::download::download;
use crate::http::flight::Flight;
use crate::http::job::Having;
use crate::http::path::id;
use crate::http::rejected_upload::reject;

/// For an archive of some gigabytes on a slow line.
const UPLOAD: Duration = Duration::from_secs(3_600);
/// Of the archive, in hexadecimal digits.
const SHA256: HeaderName = HeaderName::from_static("x-greenroom-sha256");

type PartAt = Path<(String, String)>;

pub fn routes() -> Router<App> {
    Router::new()
        .route("/runner/jobs/{jobId}/artifact", put(keep_artifact))
        .route("/runner/jobs/{jobId}/artifacts/{artifactId}", get(read_artifact))
        .route("/runner/jobs/{jobId}/caches/{key}", get(read_cache).put(keep_cache))
}

async fn keep_artifact(
    State(app): State<App>,
    having: Having,
    flight: Flight,
    headers: HeaderMap,
    request: Request,
) -> Result<Json<Data<()>>, Failure> {
    let body = request.into_body();
    let announced = body.size_hint().lower();
    if let Err(failure) = archive::authorize(&app, having.word(), announced).await {
        return Err(reject(failure, &headers, body).await);
    }
    flight.uploads(UPLOAD)?;
    artifact::keep(&app, having.word(), sha256(&headers), body).await?;
    Ok(Json(Data { data: () }))
}

async fn read_artifact(
    State(app): State<App>,
    having: Having,
    Path((_, artifact)): PartAt,
) -> Result<Response, Failure> {
    let archive = artifact::read(&app, having.word(), id(&artifact)?).await?;
    outgoing(&app, &having, archive)
}

async fn keep_cache(
    State(app): State<App>,
    having: Having,
    flight: Flight,
    Path((_, key)): PartAt,
    headers: HeaderMap,
    request: Request,
) -> Result<Json<Data<()>>, Failure> {
    let body = request.into_body();
    let announced = body.size_hint().lower();
    let pipeline = match cache::authorize(&app, having.word(), &key, announced).await {
        Ok(pipeline) => pipeline,
        Err(failure) => return Err(reject(failure, &headers, body).await),
    };
    flight.uploads(UPLOAD)?;
    cache::keep(&app, having.word(), (pipeline, &key), sha256(&headers), body).await?;
    Ok(Json(Data { data: () }))
}

async fn read_cache(
    State(app): State<App>,
    having: Having,
    Path((_, key)): PartAt,
) -> Result<Response, Failure> {
    let archive = cache::read(&app, having.word(), &key).await?;
    outgoing(&app, &having, archive)
}

fn sha256(headers: &HeaderMap) -> Option<&str> {
    headers.get(SHA256).and_then(|value| value.to_str().ok())
}

fn outgoing(app: &App, having: &Having, archive: Outgoing) -> Result<Response, Failure> {
    let runner = having.word().runner;
    let counted = app.limits.download(runner.into())?;
    let body = download(archive.body.into_data_stream(), counted, app.vigil.watch_runner(runner));
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-tar"));
    if let Ok(value) = HeaderValue::from_str(&archive.sha256) {
        headers.insert(SHA256, value);
    }
    Ok(response)
}
