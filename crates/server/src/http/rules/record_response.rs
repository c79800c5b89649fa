//! Responses with one record.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use greenroom_api_types::envelope::Data;
use greenroom_app::failure::Failure;
use greenroom_store::idempotency::StoredResponse;
use serde::Serialize;
use sha2::{Digest, Sha256};

/// A serialized record, ready to be sent and to be stored under an Idempotency-Key.
pub struct RecordResponse {
    pub status: StatusCode,
    pub body: String,
    /// The body to store if it differs from the one that is sent: one-time secrets are not stored.
    pub stored_body: Option<String>,
    pub etag: Option<String>,
    /// Whether it repeats the response to an earlier request with the same Idempotency-Key.
    pub is_replayed: bool,
}

impl RecordResponse {
    pub fn new<T: Serialize>(status: StatusCode, record: &T) -> Result<Self, Failure> {
        Ok(Self { status, body: to_envelope(record)?, stored_body: None, etag: None, is_replayed: false })
    }

    pub fn ok<T: Serialize>(record: &T) -> Result<Self, Failure> {
        Self::new(StatusCode::OK, record)
    }

    /// The response that was stored under the idempotency key of a repeated request.
    pub fn replay(stored: StoredResponse) -> Result<Self, Failure> {
        let status = u16::try_from(stored.status).ok().and_then(|status| StatusCode::from_u16(status).ok());
        let status = status.ok_or_else(|| Failure::internal("a stored response has no valid status"))?;
        Ok(Self { status, body: stored.body, stored_body: None, etag: stored.etag, is_replayed: true })
    }

    /// Sends this record instead, with the same status.
    pub fn with_record<T: Serialize>(self, record: &T) -> Result<Self, Failure> {
        Ok(Self { body: to_envelope(record)?, ..self })
    }

    #[must_use]
    pub fn with_revision(mut self, revision: i64) -> Self {
        self.etag = Some(etag(revision));
        self
    }

    /// For a record that includes data that its revision does not cover. `If-Match` ignores the suffix after
    /// the dot.
    #[must_use]
    pub fn with_revision_and_suffix(mut self, revision: i64, suffix: &str) -> Self {
        self.etag = Some(format!("\"{revision}.{suffix}\""));
        self
    }

    /// For a record without a revision: the tag is a hash of the body, or of the body to store if there is
    /// one. What is not stored may be different in every response.
    #[must_use]
    pub fn with_content_etag(mut self) -> Self {
        let content = self.stored_body.as_ref().unwrap_or(&self.body);
        self.etag = Some(format!("\"{}\"", content_hash(content.as_bytes())));
        self
    }

    /// Adds `warnings` next to the record.
    pub fn with_warnings<T: Serialize>(mut self, warnings: &[T]) -> Result<Self, Failure> {
        let warnings = serde_json::to_string(warnings).map_err(Failure::internal)?;
        // The envelope is an object with the one member `data`.
        let envelope = self.body.strip_suffix('}').unwrap_or(&self.body);
        self.body = format!("{envelope},\"warnings\":{warnings}}}");
        Ok(self)
    }

    /// Stores another record than the one that is sent.
    pub fn with_stored_record<T: Serialize>(mut self, record: &T) -> Result<Self, Failure> {
        self.stored_body = Some(to_envelope(record)?);
        Ok(self)
    }
}

/// Returns the `ETag` of a record: its revision in quotes.
pub fn etag(revision: i64) -> String {
    format!("\"{revision}\"")
}

/// Returns a short hash, for tags.
pub fn content_hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(16).fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

fn to_envelope<T: Serialize>(record: &T) -> Result<String, Failure> {
    serde_json::to_string(&Data { data: record }).map_err(Failure::internal)
}

impl IntoResponse for RecordResponse {
    fn into_response(self) -> Response {
        let mut response = (self.status, self.body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(value) = self.etag.and_then(|etag| HeaderValue::from_str(&etag).ok()) {
            headers.insert(header::ETAG, value);
        }
        if self.is_replayed {
            headers.insert("idempotency-replayed", HeaderValue::from_static("true"));
        }
        response
    }
}
