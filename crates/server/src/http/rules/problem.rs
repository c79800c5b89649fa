//! A failure as `application/problem+json`. The middleware adds the request's id.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use greenroom_api_types::problem::{Problem, SuggestedRequest};
use greenroom_app::failure::{Code, Failure};
use serde::Deserialize;
use serde_json::{Map, Value};

pub const CONTENT_TYPE: &str = "application/problem+json";

/// Passed in the response's extensions from the handler to the middleware, which serializes it.
#[derive(Clone)]
pub struct PendingProblem(pub Problem);

pub fn problem_response(failure: Failure) -> Response {
    if let Some(source) = &failure.source {
        let source: &(dyn std::error::Error + 'static) = source.as_ref();
        tracing::error!(
            code = failure.code.name(),
            error = source,
            "the request failed: {}",
            failure.code.name()
        );
    }
    let status = StatusCode::from_u16(failure.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = status.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE));
    match failure.code {
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
    if let Some(limit) = &failure.limit {
        limit.write(headers);
    }
    let mut extensions = failure.extensions;
    let actions = take_actions(&mut extensions);
    response.extensions_mut().insert(PendingProblem(Problem {
        r#type: format!("/docs/errors/{}", failure.code.name()),
        title: failure.code.title().to_owned(),
        status: failure.code.status(),
        detail: failure.detail.into_owned(),
        code: failure.code.name().to_owned(),
        request_id: String::new(),
        errors: failure.errors,
        actions,
        extensions,
    }));
    response
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
