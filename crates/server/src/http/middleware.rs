//! The outermost layer. Every request gets an id, a deadline and a log line; every failure, including a
//! panic, becomes a problem response with that id. The layer identifies the sender, applies the sender's
//! limits and buffers the body. Only then is the request counted as in flight, and takes one of the server's slots.

use std::borrow::Cow;
use std::time::Instant;

use axum::body::{Body, HttpBody};
use axum::extract::{FromRequestParts, MatchedPath, RawPathParams, Request, State};
use axum::http::{HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::FutureExt;
use greenroom_app::App;
use greenroom_app::failure::{Code, Failure};
use greenroom_app::limits::{Class, PeerAddress, Sender, Slot};
use greenroom_domain::text::is_hidden;
use tracing::Instrument;

use crate::http::rules::buffered_body;
use crate::http::rules::class::{classify, has_identity, is_upload, route_class, uses_database};
use crate::http::rules::identity::Identity;
use crate::http::rules::paced_body::PacedBody;
use crate::http::rules::path::OrganizationPath;
use crate::http::rules::problem::PendingProblem;
use crate::http::rules::problem::problem_response;
use crate::http::rules::request_id::{self, RequestId};
use crate::http::rules::request_slot::RequestSlot;
use crate::http::rules::request_trace;
use crate::http::rules::requested_host;
use crate::http::rules::security_headers;

const MAX_URI_BYTES: usize = 4 * 1024;

pub async fn handle(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = RequestId::from_headers(request.headers());
    request.extensions_mut().insert(id.clone());
    let method = request.method().clone();
    // The route, not the path: paths contain names, and each of them would become a metric series.
    let route = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str).to_owned();
    let span = tracing::info_span!("request", id = %id.0, method = %method, route = %route);

    let response = Box::pin(run(&app, &route, request, next)).instrument(span.clone()).await;
    let response = response.unwrap_or_else(problem_response);
    let response = finish(response, &id);

    let (status, elapsed) = (response.status().as_u16(), started.elapsed());
    let labels = [
        ("class", Cow::from(route_class(&method, &route))),
        ("method", method_label(&method)),
        ("route", route.into()),
        ("status", status.to_string().into()),
    ];
    metrics::histogram!("greenroom_http_request_seconds", &labels).record(elapsed);
    span.in_scope(|| tracing::info!(status, duration_ms = elapsed.as_secs_f64() * 1e3, "answered {status}"));
    response
}

async fn run(app: &App, route: &str, request: Request, next: Next) -> Result<Response, Failure> {
    // Which of two would count depends on the program: a proxy in front may have checked the other one.
    for name in [header::HOST, header::AUTHORIZATION] {
        if request.headers().get_all(&name).iter().nth(1).is_some() {
            let detail = format!("The request has two `{name}` fields. Send this field once.");
            return Err(Failure::new(Code::InvalidHeader, detail));
        }
    }
    requested_host::check(&request, route, &app.sign_in.own_origins)?;
    if request.uri().path_and_query().is_some_and(|uri| uri.as_str().len() > MAX_URI_BYTES) {
        return Err(Failure::new(Code::UriTooLong, "Path and query are 4 KiB at most."));
    }
    let (mut parts, body) = request.into_parts();
    let variables = RawPathParams::from_request_parts(&mut parts, &()).await.ok();
    let is_hidden_in = |(_, value): (&str, &str)| value.chars().any(is_hidden);
    // No record has such a name, and PostgreSQL rejects NUL. A path without variables needs no check.
    if variables.as_ref().is_some_and(|variables| variables.iter().any(is_hidden_in)) {
        return Err(Failure::not_found());
    }
    let organization = variables.as_ref().and_then(|variables| {
        variables.iter().find(|(name, _)| *name == OrganizationPath::VARIABLE).map(|(_, value)| value)
    });
    let limits = &app.limits;
    let class = classify(&parts.method, route);
    let address = limits.client_address(parts.extensions.get::<PeerAddress>().copied(), &parts.headers).0;
    let identity = if has_identity(route) {
        let identity = Identity::find(app, &parts.method, &parts.headers, address, class);
        tokio::time::timeout(limits.deadline, identity).await.map_err(|_| deadline_exceeded())??
    } else {
        Identity::Anonymous
    };
    let sender = identity.sender(address, organization);
    let streams_body = !matches!(sender, Sender::Bearer(_)) || is_upload(&parts.method, route);
    let awaits_body = !streams_body && !body.is_end_stream();
    let mut counted = limits.admit(sender, class, awaits_body)?;
    let (body, charge) = match sender {
        Sender::Bearer(bearer) if awaits_body => {
            let buffered = buffered_body::buffer(limits, bearer, body).await?;
            counted = limits.body_arrived(bearer, class)?;
            buffered
        }
        Sender::Bearer(_) if !streams_body => (body, None),
        // Without a valid token only the handlers of signing in and of exchanging tokens read a body, of a few KiB.
        _ => (Body::new(PacedBody::new(body, limits.client_timing.body_window)), None),
    };
    let request_slot = RequestSlot::new(limits, sender, counted, charge);
    let needs_connection = uses_database(&parts.method, route);
    let span = request_trace::begin(&parts, route, class, &sender);
    parts.extensions.insert(identity);
    parts.extensions.insert(request_slot.clone());
    let work = async {
        let slot = acquire_slot(app, class, sender, needs_connection).await?;
        parts.extensions.insert(slot.capacity);
        request_slot.begin_work(slot);
        Ok::<_, Failure>(next.run(Request::from_parts(parts, body)).await)
    };
    let work = request_slot.run_until_deadline(std::panic::AssertUnwindSafe(work).catch_unwind());
    let outcome = match span.run(work).await {
        Some(Ok(response)) => response,
        Some(Err(panic)) => {
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            Err(Failure::internal(text.unwrap_or_else(|| "a handler panicked".to_owned())))
        }
        None => Err(deadline_exceeded()),
    };
    request_trace::end(span, &outcome);
    outcome
}

fn deadline_exceeded() -> Failure {
    Failure::new(
        Code::DeadlineExceeded,
        "The request took too long and was given up. If it was a change, its outcome is not known: repeat it with \
         the same Idempotency-Key.",
    )
}

async fn acquire_slot(
    app: &App,
    class: Class,
    sender: Sender,
    needs_connection: bool,
) -> Result<Slot, Failure> {
    let slots = &app.limits.slots;
    match (class, sender) {
        (Class::Reserved, Sender::Bearer(bearer)) => {
            let reserved = slots.reserved(bearer, || app.store.has_spare_connections()).await;
            reserved.ok_or_else(|| Failure::internal("the reserved slots were closed"))
        }
        (Class::General, Sender::Bearer(bearer)) if needs_connection => slots.general(Some(bearer)).await,
        _ => slots.general(None).await,
    }
}

/// Other methods share one label: clients can invent methods, and each would become a metric series.
fn method_label(method: &Method) -> Cow<'static, str> {
    let known = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
    known.into_iter().find(|known| *known == method.as_str()).unwrap_or("other").into()
}

fn finish(mut response: Response, id: &RequestId) -> Response {
    if let Some(PendingProblem(mut problem)) = response.extensions_mut().remove() {
        problem.request_id.clone_from(&id.0);
        *response.body_mut() = Body::from(serde_json::to_vec(&problem).unwrap_or_default());
    }
    let headers = response.headers_mut();
    if let Ok(value) = HeaderValue::from_str(&id.0) {
        headers.insert(request_id::HEADER, value);
    }
    security_headers::add(headers);
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}
