//! The id that links a response to its log lines and events.

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use greenroom_app::failure::Failure;
use uuid::Uuid;

use crate::http::rules::early_response::EarlyResponse;

pub const HEADER: &str = "x-request-id";

/// The middleware inserts it into the extensions of every request.
#[derive(Clone, Debug)]
pub struct RequestId(pub String);

impl RequestId {
    /// Returns the client's id if it is safe to log, and a new one otherwise.
    pub fn from_headers(headers: &HeaderMap) -> Self {
        let sent = headers.get(HEADER).and_then(|value| value.to_str().ok()).filter(|text| {
            (1..=64).contains(&text.len())
                && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
        });
        Self(sent.map_or_else(|| format!("req_{}", Uuid::now_v7().as_hyphenated()), str::to_owned))
    }
}

impl<S: Sync> FromRequestParts<S> for RequestId {
    type Rejection = EarlyResponse;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, EarlyResponse> {
        Ok(parts
            .extensions
            .get::<Self>()
            .cloned()
            .ok_or_else(|| Failure::internal("a request without an id"))?)
    }
}
