//! Reads the `Idempotency-Key` header, and what it is bound to.

use axum::extract::{FromRequestParts, OriginalUri};
use axum::http::request::Parts;

use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};

use crate::app::failure::{Code, Failure};
use crate::http::openapi::header;

const LONGEST: usize = 255;

/// One user's key for one method and path.
#[derive(Clone, Debug)]
pub struct IdempotencyKey {
    pub method: String,
    pub path: String,
    pub key: Option<String>,
}

impl IdempotencyKey {
    /// Method, path and key, if there is one.
    pub fn parts(&self) -> Option<(String, String, String)> {
        self.key.clone().map(|key| (self.method.clone(), self.path.clone(), key))
    }
}

impl IntoParams for IdempotencyKey {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let text = "Repeat a request safely: the same key and body get the first answer again, for 24 hours.";
        vec![header("Idempotency-Key", text)]
    }
}

impl<S: Send + Sync> FromRequestParts<S> for IdempotencyKey {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let key = match parts.headers.get("idempotency-key") {
            None => None,
            Some(value) => {
                let text = value.to_str().ok().filter(|text| (1..=LONGEST).contains(&text.len()));
                let text = text.ok_or_else(|| {
                    Failure::new(
                        Code::InvalidHeader,
                        "`Idempotency-Key` must be 1 to 255 visible ASCII characters.",
                    )
                })?;
                Some(text.to_owned())
            }
        };
        let method = parts.method.to_string();
        let path = match OriginalUri::from_request_parts(parts, state).await {
            Ok(OriginalUri(uri)) => uri.path().to_owned(),
        };
        Ok(Self { method, path, key })
    }
}
