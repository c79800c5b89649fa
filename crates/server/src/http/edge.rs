//! The outermost layer: every request gets an id, a deadline and a line in the log; every failure, also a panic, leaves
//! as a problem with that id.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{FromRequestParts, MatchedPath, RawPathParams, Request, State};
use axum::http::{HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use greenroom_domain::text::is_hidden;
use tokio::sync::Semaphore;
use tracing::Instrument;

use crate::app::failure::{Code, Failure};
use crate::http::flight::Flight;
use crate::http::problem::Pending;
use crate::http::request_id::{self, RequestId};

const LONGEST_URI: usize = 4 * 1024;
const MOST_WAITING: usize = 1_000;

/// What one server takes on.
#[derive(Clone, Debug)]
pub struct Limits {
    pub deadline: Duration,
    in_flight: Arc<Semaphore>,
    /// Requests that wait for a turn. They hold a connection of the client's, and nothing else.
    waiting: Arc<Semaphore>,
}

impl Limits {
    pub fn new(deadline: Duration, in_flight: usize) -> Self {
        let waiting = Arc::new(Semaphore::new(MOST_WAITING));
        Self { deadline, in_flight: Arc::new(Semaphore::new(in_flight)), waiting }
    }
}

pub async fn edge(State(limits): State<Limits>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = RequestId::of(request.headers());
    request.extensions_mut().insert(id.clone());
    let method = request.method().clone();
    // The route, not the path: paths carry names, and would make a metric of each.
    let route = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str).to_owned();
    let span = tracing::info_span!("request", id = %id.0, method = %method, route = %route);

    let response = answer(&limits, request, next).instrument(span.clone()).await;
    let response = finish(response, &id);

    let (status, elapsed) = (response.status().as_u16(), started.elapsed());
    let labels = [("method", label(&method)), ("route", route.into()), ("status", status.to_string().into())];
    metrics::histogram!("greenroom_http_request_seconds", &labels).record(elapsed);
    span.in_scope(|| tracing::info!(status, duration_ms = elapsed.as_secs_f64() * 1e3, "answered {status}"));
    response
}

async fn answer(limits: &Limits, request: Request, next: Next) -> Response {
    if request.uri().path_and_query().is_some_and(|uri| uri.as_str().len() > LONGEST_URI) {
        return Failure::new(Code::UriTooLong, "Path and query are 4 KiB at most.").into_response();
    }
    let (mut parts, body) = request.into_parts();
    let names = RawPathParams::from_request_parts(&mut parts, &()).await;
    // Nothing has such a name, and PostgreSQL can't compare with NUL. Without variables in the path there is nothing to check.
    if names.is_ok_and(|names| names.iter().any(|(_, value)| value.chars().any(is_hidden))) {
        return Failure::not_found().into_response();
    }
    let mut request = Request::from_parts(parts, body);
    let Ok(place) = Arc::clone(&limits.in_flight).try_acquire_owned() else {
        return Failure::new(Code::Overloaded, "The server is busy. Wait a second and try again.")
            .into_response();
    };
    let flight = Flight::new(place, limits.deadline, Arc::clone(&limits.waiting));
    request.extensions_mut().insert(flight.clone());
    let handled = std::panic::AssertUnwindSafe(next.run(request)).catch_unwind();
    match flight.in_time(handled).await {
        Some(Ok(response)) => response,
        Some(Err(panic)) => {
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            Failure::internal(text.unwrap_or_else(|| "a handler panicked".to_owned())).into_response()
        }
        None => Failure::new(
            Code::DeadlineExceeded,
            "The request took too long and was given up. If it was a change, its outcome is not known: repeat it with \
             the same Idempotency-Key.",
        )
        .into_response(),
    }
}

/// A client may make up methods; a metric must not grow with them.
fn label(method: &Method) -> Cow<'static, str> {
    let known = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
    known.into_iter().find(|known| *known == method.as_str()).unwrap_or("other").into()
}

fn finish(mut response: Response, id: &RequestId) -> Response {
    if let Some(Pending(mut problem)) = response.extensions_mut().remove() {
        problem.request_id.clone_from(&id.0);
        *response.body_mut() = Body::from(serde_json::to_vec(&problem).unwrap_or_default());
    }
    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::from_str(&id.0) {
        headers.insert(request_id::HEADER, value);
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}
