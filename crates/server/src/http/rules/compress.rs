//! Compresses the JSON of reads with gzip, for clients that accept it. Only responses to `GET`: the secrets that the API
//! returns are in responses to other methods, and their length must not depend on their content (`docs/threats.md`).
//! Streams and downloads have other types. The `ETag` stays the same, because it is a condition of changes too.

use std::io::Write;
use std::ops::RangeInclusive;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use flate2::Compression;
use flate2::write::GzEncoder;
use greenroom_app::failure::Failure;
use greenroom_dashboard::accepts_gzip;

use crate::http::rules::problem::problem_response;

/// Below, it saves no packet. Above, it would keep a thread busy for too long.
const SIZES: RangeInclusive<u64> = 1024..=512 * 1024;
const LEVEL: u32 = 4;

pub async fn compress(request: Request, next: Next) -> Response {
    let is_read = *request.method() == Method::GET;
    let is_accepted = accepts_gzip(request.headers());
    let mut response = next.run(request).await;
    let is_unchanged = response.status() == StatusCode::NOT_MODIFIED;
    if !is_read || !(is_unchanged || is_json(response.headers())) {
        return response;
    }
    response.headers_mut().append(header::VARY, HeaderValue::from_static("accept-encoding"));
    let length = response.body().size_hint().exact();
    if !is_accepted || !length.is_some_and(|length| SIZES.contains(&length)) {
        return response;
    }
    with_gzip(response).await.unwrap_or_else(|error| problem_response(Failure::internal(error)))
}

fn is_json(headers: &HeaderMap) -> bool {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    content_type.is_some_and(|value| value.split(';').next() == Some("application/json"))
}

async fn with_gzip(response: Response) -> Result<Response, axum::Error> {
    let (mut parts, body) = response.into_parts();
    let plain = axum::body::to_bytes(body, usize::MAX).await?;
    let compressed = gzip(&plain).map_err(axum::Error::new)?;
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    Ok(Response::from_parts(parts, Body::from(compressed)))
}

fn gzip(plain: &Bytes) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(plain.len() / 4), Compression::new(LEVEL));
    encoder.write_all(plain)?;
    encoder.finish()
}
