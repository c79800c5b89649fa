//! `/runner/jobs/{jobId}/artifact`, `…/artifacts/…` and `…/caches/…`: archives that runners send and fetch.

use std::time::Duration;

use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, put};
use axum::{Json, Router};
use greenroom_api_types::envelope::Data;

use crate::app::App;
use crate::app::archive::Outgoing;
use crate::app::failure::Failure;
use crate::app::{artifact, cache};
use crate::http::flight::Flight;
use crate::http::job::Having;
use crate::http::path::id;

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
    flight.uploads(UPLOAD)?;
    artifact::keep(&app, having.word(), sha256(&headers), request.into_body()).await?;
    Ok(Json(Data { data: () }))
}

async fn read_artifact(
    State(app): State<App>,
    having: Having,
    Path((_, artifact)): PartAt,
) -> Result<Response, Failure> {
    Ok(outgoing(artifact::read(&app, having.word(), id(&artifact)?).await?))
}

async fn keep_cache(
    State(app): State<App>,
    having: Having,
    flight: Flight,
    Path((_, key)): PartAt,
    headers: HeaderMap,
    request: Request,
) -> Result<Json<Data<()>>, Failure> {
    flight.uploads(UPLOAD)?;
    cache::keep(&app, having.word(), &key, sha256(&headers), request.into_body()).await?;
    Ok(Json(Data { data: () }))
}

async fn read_cache(
    State(app): State<App>,
    having: Having,
    Path((_, key)): PartAt,
) -> Result<Response, Failure> {
    Ok(outgoing(cache::read(&app, having.word(), &key).await?))
}

fn sha256(headers: &HeaderMap) -> Option<&str> {
    headers.get(SHA256).and_then(|value| value.to_str().ok())
}

fn outgoing(archive: Outgoing) -> Response {
    let mut response = archive.body.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-tar"));
    if let Ok(value) = HeaderValue::from_str(&archive.sha256) {
        headers.insert(SHA256, value);
    }
    response
}
