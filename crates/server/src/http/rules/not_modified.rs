//! `If-None-Match`: a client that polls a record gets `304` while the record is unchanged.

use axum::extract::Request;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

pub async fn not_modified(request: Request, next: Next) -> Response {
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    let known_tags = request.headers().get(header::IF_NONE_MATCH).filter(|_| is_read).cloned();
    let response = next.run(request).await;
    let Some(known_tags) = known_tags.as_ref().and_then(|tags| tags.to_str().ok()) else { return response };
    if response.status() == StatusCode::OK && is_unchanged(known_tags, response.headers()) {
        let tag = response.headers().get(header::ETAG).cloned();
        let mut unchanged = StatusCode::NOT_MODIFIED.into_response();
        unchanged.headers_mut().extend(tag.map(|tag| (header::ETAG, tag)));
        return unchanged;
    }
    response
}

/// Compares weakly, as RFC 9110 requires here: a proxy may have weakened the tag.
fn is_unchanged(known_tags: &str, headers: &HeaderMap) -> bool {
    let Some(tag) = headers.get(header::ETAG).and_then(|tag| tag.to_str().ok()) else { return false };
    let mut tags = known_tags.split(',').map(str::trim);
    tags.any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag)
}
