//! `If-None-Match`: who polls a record and has seen it as it is gets `304` instead of the record again.

use axum::extract::Request;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

pub async fn not_modified(request: Request, next: Next) -> Response {
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    let seen = request.headers().get(header::IF_NONE_MATCH).filter(|_| reads).cloned();
    let response = next.run(request).await;
    let Some(seen) = seen.as_ref().and_then(|seen| seen.to_str().ok()) else { return response };
    if response.status() == StatusCode::OK && has_seen(seen, response.headers()) {
        let tag = response.headers().get(header::ETAG).cloned();
        let mut unchanged = StatusCode::NOT_MODIFIED.into_response();
        unchanged.headers_mut().extend(tag.map(|tag| (header::ETAG, tag)));
        return unchanged;
    }
    response
}

/// By the weak comparison, as is asked for here: a proxy may have weakened the tag.
fn has_seen(seen: &str, headers: &HeaderMap) -> bool {
    let Some(tag) = headers.get(header::ETAG).and_then(|tag| tag.to_str().ok()) else { return false };
    let mut tags = seen.split(',').map(str::trim);
    tags.any(|seen| seen == "*" || seen.strip_prefix("W/").unwrap_or(seen) == tag)
}
