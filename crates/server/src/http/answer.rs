//! Answers with one record.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use greenroom_api_types::envelope::Data;
use greenroom_api_types::pipeline::DefinitionWarning;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::app::failure::Failure;
use crate::http::precondition::etag;

/// A record that is ready to be sent, and to be kept under an Idempotency-Key.
pub struct Answer {
    pub status: StatusCode,
    pub body: String,
    /// The body to keep, where it differs: one-time secrets are shown once.
    pub kept: Option<String>,
    pub etag: Option<String>,
}

impl Answer {
    pub fn new<T: Serialize>(status: StatusCode, record: &T) -> Result<Self, Failure> {
        Ok(Self { status, body: enveloped(record)?, kept: None, etag: None })
    }

    pub fn ok<T: Serialize>(record: &T) -> Result<Self, Failure> {
        Self::new(StatusCode::OK, record)
    }

    #[must_use]
    pub fn revision(mut self, revision: i64) -> Self {
        self.etag = Some(etag(revision));
        self
    }

    /// For a record that shows more than its revision counts: `If-Match` does not look at what stands behind the dot.
    #[must_use]
    pub fn revision_beside(mut self, revision: i64, beside: &str) -> Self {
        self.etag = Some(format!("\"{revision}.{beside}\""));
        self
    }

    /// For a record without a revision: a tag of what it says.
    #[must_use]
    pub fn tagged(mut self) -> Self {
        let hash = Sha256::digest(self.body.as_bytes());
        let short = hash.iter().take(16).fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
        self.etag = Some(format!("\"{short}\""));
        self
    }

    /// Puts what is to be thought about beside the record.
    pub fn warnings(mut self, warnings: &[DefinitionWarning]) -> Result<Self, Failure> {
        let warnings = serde_json::to_string(warnings).map_err(Failure::internal)?;
        // The envelope is an object with the one member `data`.
        let envelope = self.body.strip_suffix('}').unwrap_or(&self.body);
        self.body = format!("{envelope},\"warnings\":{warnings}}}");
        Ok(self)
    }

    pub fn keeping<T: Serialize>(mut self, record: &T) -> Result<Self, Failure> {
        self.kept = Some(enveloped(record)?);
        Ok(self)
    }
}

fn enveloped<T: Serialize>(record: &T) -> Result<String, Failure> {
    serde_json::to_string(&Data { data: record }).map_err(Failure::internal)
}

impl IntoResponse for Answer {
    fn into_response(self) -> Response {
        let mut response = (self.status, self.body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(value) = self.etag.and_then(|etag| HeaderValue::from_str(&etag).ok()) {
            headers.insert(header::ETAG, value);
        }
        response
    }
}
