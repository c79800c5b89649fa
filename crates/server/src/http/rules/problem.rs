//! A failure as `application/problem+json`. The middleware adds the request's id.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use greenroom_api_types::problem::{Problem, SuggestedRequest};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::app::failure::{Code, Failure};

pub const CONTENT_TYPE: &str = "application/problem+json";

/// Passed in the response's extensions from the handler to the middleware, which serializes it.
#[derive(Clone)]
pub struct PendingProblem(pub Problem);

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        if let Some(source) = &self.source {
            let source: &(dyn std::error::Error + 'static) = source.as_ref();
            tracing::error!(
                code = self.code.name(),
                error = source,
                "the request failed: {}",
                self.code.name()
            );
        }
        let status = StatusCode::from_u16(self.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = status.into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE));
        match self.code {
            Code::Unauthenticated => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            Code::DatabaseUnavailable
            | Code::ObjectsUnavailable
            | Code::SecretsUnavailable
            | Code::Busy
            | Code::Overloaded
            | Code::RateLimited
            | Code::DeadlineExceeded
            | Code::IdempotencyInProgress => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            _ => {}
        }
        if let Some(limit) = &self.limit {
            limit.write(headers);
        }
        let mut extensions = self.extensions;
        let actions = take_actions(&mut extensions);
        response.extensions_mut().insert(PendingProblem(Problem {
            r#type: format!("/docs/errors/{}", self.code.name()),
            title: self.code.title().to_owned(),
            status: self.code.status(),
            detail: self.detail.into_owned(),
            code: self.code.name().to_owned(),
            request_id: String::new(),
            errors: self.errors,
            actions,
            extensions,
        }));
        response
    }
}

/// Moves the suggested requests to the field that the document describes. Other data stays as it is.
fn take_actions(extensions: &mut Map<String, Value>) -> Vec<SuggestedRequest> {
    match extensions.get("actions").map(Vec::deserialize) {
        Some(Ok(actions)) => {
            extensions.remove("actions");
            actions
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_problem_contains_the_suggested_requests() {
        let actions = json!([
            { "action": "queue", "method": "POST", "href": "/api/v1/x/sessions", "path": "sessions", "body": { "queue": true } },
            { "action": "release", "method": "DELETE", "href": "/api/v1/x/sessions/y", "path": "sessions/y" },
        ]);
        let failure = Failure::new(Code::EnvironmentLocked, "It is held.").with("actions", actions.clone());
        let response = failure.with("envName", "qa-1".into()).into_response();
        let PendingProblem(problem) = response.extensions().get().unwrap();
        assert_eq!(problem.actions.len(), 2);
        assert_eq!(problem.extensions.keys().collect::<Vec<_>>(), ["envName"]);
        assert_eq!(serde_json::to_value(problem).unwrap()["actions"], actions);
    }
}
