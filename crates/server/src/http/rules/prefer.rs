//! Reads `Prefer: wait=N` (RFC 7240). A server may ignore preferences, so an invalid one is not an error.

use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};
use greenroom_app::command::Interruption;
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};

use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::openapi::header;
use crate::http::rules::record_response::RecordResponse;
use crate::http::rules::request_slot::RequestSlot;

/// The maximum wait within a request: proxies would close a longer one.
const MAX_WAIT_SECONDS: u64 = 30;

/// How long the client is willing to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefer {
    pub wait: Option<Duration>,
}

impl Prefer {
    pub fn from_headers(headers: &HeaderMap) -> Self {
        let texts = headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
        let seconds = texts.flat_map(|text| text.split(',')).find_map(|preference| {
            let (name, value) = preference.split(';').next()?.split_once('=')?;
            let wait = name.trim().eq_ignore_ascii_case("wait");
            value.trim().trim_matches('"').parse::<u64>().ok().filter(|_| wait)
        });
        Self {
            wait: seconds
                .filter(|seconds| *seconds > 0)
                .map(|seconds| Duration::from_secs(seconds.min(MAX_WAIT_SECONDS))),
        }
    }

    /// Exchanges the request's slot for a permit to wait, runs `waiting`, and returns the response to its
    /// result.
    pub async fn respond_after_wait(
        self,
        request_slot: &RequestSlot,
        waiting: impl Future<Output = Result<RecordResponse, Interruption>>,
    ) -> Response {
        let result = match request_slot.begin_wait(self.wait.unwrap_or_default()) {
            Ok(()) => waiting.await.map_err(EarlyResponse::from),
            Err(failure) => Err(failure.into()),
        };
        self.add_applied_header(result.into_response())
    }

    /// Adds `Preference-Applied` with the wait that was used.
    fn add_applied_header(self, mut response: Response) -> Response {
        if let Some(wait) = self.wait
            && let Ok(value) = HeaderValue::from_str(&format!("wait={}", wait.as_secs()))
        {
            response.headers_mut().insert("preference-applied", value);
        }
        response
    }
}

impl IntoParams for Prefer {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let text =
            "With `wait=N`, the server waits for up to N seconds (30 at most) before it rejects the request.";
        vec![header("Prefer", text)]
    }
}

impl<S: Sync> FromRequestParts<S> for Prefer {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(Self::from_headers(&parts.headers))
    }
}
