//! The span of a request, in the trace of its sender or as the first one of a new trace.

use axum::http::request::Parts;
use axum::response::Response;
use greenroom_app::failure::Failure;
use greenroom_app::limits::{Class, Sender};
use greenroom_traces::{Span, SpanKind, is_on};

use crate::http::rules::request_id::RequestId;

const TRACEPARENT: &str = "traceparent";
/// The API of runners, whose jobs have spans of their own.
const RUNNER_ROUTES: &str = "/api/v1/runner/";

/// Begins the span of a request that is admitted. Without a valid token there is none, so that strangers can't have anything
/// recorded; requests that only keep something alive have none either.
pub fn begin(parts: &Parts, route: &str, class: Class, sender: &Sender) -> Span {
    let is_recorded =
        matches!(sender, Sender::Bearer(_)) && class == Class::General && !route.starts_with(RUNNER_ROUTES);
    if !is_on() || !is_recorded {
        return Span::none();
    }
    let parent = parts.headers.get(TRACEPARENT).and_then(|value| value.to_str().ok());
    let span = Span::begin(format!("{} {route}", parts.method), SpanKind::Server, parent);
    span.set("http.request.method", parts.method.to_string());
    span.set("http.route", route.to_owned());
    if let Some(RequestId(id)) = parts.extensions.get() {
        span.set("greenroom.request_id", id.clone());
    }
    span
}

/// Ends the span with the status of the response.
pub fn end(span: Span, outcome: &Result<Response, Failure>) {
    let status = match outcome {
        Ok(response) => response.status().as_u16(),
        Err(failure) => failure.code.status(),
    };
    span.set("http.response.status_code", i64::from(status));
    if status >= 500 {
        span.fail("the request failed");
    }
}
