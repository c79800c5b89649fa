//! A stand-in for Greenroom's server with the runner API over real HTTP, which records all calls. It
//! implements only the protocol, and none of the decisions of Greenroom's database.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, Query, Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use axum::{Json, Router};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use greenroom_api_types::envelope::Data;
use greenroom_api_types::runner::{
    CheckedOut, Complete, CredentialRequest, CredentialResponse, Heartbeat, JOB_TOKEN_HEADER, Job, LogSize,
    RefreshedIdTokens, StepEnd, StepIdToken, StepStart, StepStarted,
};
use serde_json::json;
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::eventually;
use super::record::{IdTokenResponse, Record, Rules};

pub const TOKEN: &str = "grr_test";

type Shared = Arc<Mutex<ServerState>>;

#[derive(Default)]
struct ServerState {
    waiting: VecDeque<Job>,
    record: Record,
    rules: Rules,
    artifacts: HashMap<String, Vec<u8>>,
    /// The archives of steps of registries, by digest.
    steps: HashMap<String, Vec<u8>>,
}

pub struct Server {
    pub port: u16,
    state: Shared,
    _serving: JoinSet<()>,
}

impl Server {
    pub async fn start() -> Self {
        Self::start_on(0).await
    }

    pub async fn start_on(port: u16) -> Self {
        let state = Shared::default();
        let job_routes = Router::new()
            .route("/{job}/heartbeat", post(heartbeat))
            .route("/{job}/steps/{digest}", get(get_step))
            .route("/{job}/steps/{step}/start", post(start))
            .route("/{job}/steps/{step}/id-tokens", post(refresh_id_tokens))
            .route("/{job}/steps/{step}/end", post(end))
            .route("/{job}/steps/{step}/logs", post(logs))
            .route("/{job}/artifact", put(put_artifact))
            .route("/{job}/artifacts/{artifact}", get(get_artifact))
            .route("/{job}/caches/{key}", get(get_cache).put(put_cache))
            .route("/{job}/credentials", post(credentials))
            .route("/{job}/checkout", post(checkout))
            .route("/{job}/complete", post(complete))
            .layer(axum::middleware::from_fn_with_state(Arc::clone(&state), check_request));
        let app = Router::new()
            .route("/api/v1/runner/jobs/acquire", post(acquire))
            .nest("/api/v1/runner/jobs", job_routes)
            .layer(DefaultBodyLimit::max(64 * 1024 * 1024))
            .with_state(Arc::clone(&state));
        let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, app).await.unwrap() });
        Server { port, state, _serving: serving }
    }

    pub fn give(&self, job: Job) {
        let mut state = self.state.lock().unwrap();
        // So that the end of a previous job is not taken for the end of this one.
        state.record.complete = None;
        state.waiting.push_back(job);
    }

    pub fn offer_artifact(&self, id: &str, archive: Vec<u8>) {
        self.state.lock().unwrap().artifacts.insert(id.to_owned(), archive);
    }

    /// Offers an archive of a step under a digest, which may be that of another one. `None` removes it.
    pub fn offer_step(&self, digest: &str, archive: Option<&[u8]>) {
        let steps = &mut self.state.lock().unwrap().steps;
        match archive {
            Some(archive) => steps.insert(digest.to_owned(), archive.to_vec()),
            None => steps.remove(digest),
        };
    }

    pub fn offer_cache(&self, key: &str, archive: Vec<u8>) {
        self.state.lock().unwrap().record.caches.insert(key.to_owned(), archive);
    }

    pub fn configure(&self, change: impl FnOnce(&mut Rules)) {
        change(&mut self.state.lock().unwrap().rules);
    }

    /// Reads the recorded calls.
    pub fn recorded<T>(&self, read: impl FnOnce(&Record) -> T) -> T {
        read(&self.state.lock().unwrap().record)
    }

    pub async fn until(&self, what: &str, condition: impl Fn(&Record) -> bool) {
        eventually(what, || self.recorded(&condition)).await;
    }

    pub async fn until_complete(&self) -> Complete {
        self.until("the job completes", |record| record.complete.is_some()).await;
        self.recorded(|record| record.complete.clone().unwrap())
    }
}

fn problem(status: u16, code: &str, more: &serde_json::Value) -> Response {
    let mut body = json!({
        "type": format!("/docs/errors/{code}"), "title": code, "status": status, "detail": code, "code": code,
        "requestId": "req_test",
    });
    if let (Some(body), Some(more)) = (body.as_object_mut(), more.as_object()) {
        body.extend(more.clone());
    }
    (StatusCode::from_u16(status).unwrap(), Json(body)).into_response()
}

fn problem_response(status: u16, code: &str) -> Response {
    problem(status, code, &json!({}))
}

/// Checks both tokens, and applies the rules for every call about a job.
async fn check_request(State(state): State<Shared>, request: Request, next: Next) -> Response {
    match rejection(&state, request.headers()) {
        Some(response) => response,
        None => next.run(request).await,
    }
}

fn rejection(state: &Shared, headers: &HeaderMap) -> Option<Response> {
    let mut state = state.lock().unwrap();
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let job_token = state.record.job.as_ref().map(|job| job.job_token.as_str());
    if header("authorization") != Some("Bearer grr_test") || header(JOB_TOKEN_HEADER) != job_token {
        return Some(problem_response(401, "unauthenticated"));
    }
    if state.rules.is_revoked {
        return Some(problem_response(410, "runner_revoked"));
    }
    if state.rules.is_job_gone {
        return Some(problem_response(410, "job_gone"));
    }
    if state.rules.is_unavailable {
        state.record.rejected_calls += 1;
        return Some(StatusCode::SERVICE_UNAVAILABLE.into_response());
    }
    None
}

async fn acquire(State(state): State<Shared>) -> Response {
    // Waits only shortly: the runner polls again.
    for _ in 0..20 {
        let taken = {
            let mut state = state.lock().unwrap();
            if state.rules.is_revoked {
                return problem_response(410, "runner_revoked");
            }
            state.waiting.pop_front().map(|job| {
                let kept = std::mem::take(&mut state.record.caches);
                state.record = Record { job: Some(job.clone()), caches: kept, ..Record::default() };
                (job, state.rules.acquire_delay)
            })
        };
        if let Some((job, delay)) = taken {
            tokio::time::sleep(delay).await;
            return Json(Data { data: job }).into_response();
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    StatusCode::NO_CONTENT.into_response()
}

async fn heartbeat(State(state): State<Shared>) -> Response {
    let state = state.lock().unwrap();
    if state.rules.rejects_heartbeats {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    if state.record.complete.is_some() {
        return problem_response(410, "job_gone");
    }
    let lease_seconds = state.record.job.as_ref().unwrap().lease_seconds;
    Json(Data { data: Heartbeat { lease_seconds, cancel: state.rules.cancel.clone() } }).into_response()
}

async fn start(
    State(state): State<Shared>,
    Path((_, step)): Path<(String, String)>,
    Json(start): Json<StepStart>,
) -> Response {
    let mut state = state.lock().unwrap();
    if state.rules.rejects_starts {
        state.record.rejected_calls += 1;
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    if let Some(code) = state.rules.refuse_start {
        return problem_response(409, code);
    }
    state.record.calls.push(format!("start {step}"));
    state.record.images.extend(start.image_digest.map(|digest| (step, digest)));
    let id_tokens = issue_id_tokens(&mut state);
    Json(Data { data: StepStarted { secrets: state.rules.secrets.clone(), id_tokens } }).into_response()
}

/// Returns tokens whose last part begins with the second in which they expire.
fn issue_id_tokens(state: &mut ServerState) -> Vec<StepIdToken> {
    #[expect(clippy::disallowed_methods, reason = "the server's clock")]
    let issued_at = jiff::Timestamp::now().as_second();
    let expires_at = issued_at + state.rules.id_token_seconds;
    let payload = URL_SAFE_NO_PAD.encode(json!({ "iat": issued_at, "exp": expires_at }).to_string());
    let variables = state.rules.id_tokens.clone();
    let issue = |variable: &&str| {
        let number = state.record.id_tokens.len();
        let token = format!("eyJhbGciOiJSUzI1NiJ9.{payload}.{expires_at}-signature-{number}");
        state.record.id_tokens.push(token.clone());
        let expires_at = jiff::Timestamp::from_second(expires_at).unwrap();
        StepIdToken { variable: (*variable).to_owned(), token, expires_at }
    };
    variables.iter().map(issue).collect()
}

async fn refresh_id_tokens(State(state): State<Shared>) -> Response {
    let response = {
        let mut state = state.lock().unwrap();
        let responses = &state.rules.id_token_responses;
        let number = state.record.id_token_requests;
        let response = responses.get(number % responses.len().max(1)).copied();
        state.record.id_token_requests += 1;
        response.unwrap_or(IdTokenResponse::Success)
    };
    let other = match response {
        IdTokenResponse::Problem(status) => return problem_response(status, "internal"),
        IdTokenResponse::Silence => return std::future::pending().await,
        IdTokenResponse::OtherVariable => Some("OTHER"),
        IdTokenResponse::Success => None,
    };
    let mut id_tokens = issue_id_tokens(&mut state.lock().unwrap());
    if let (Some(other), Some(first)) = (other, id_tokens.first_mut()) {
        first.variable = other.to_owned();
    }
    Json(Data { data: RefreshedIdTokens { id_tokens } }).into_response()
}

async fn end(
    State(state): State<Shared>,
    Path((_, step)): Path<(String, String)>,
    Json(end): Json<StepEnd>,
) -> Response {
    let mut state = state.lock().unwrap();
    if let (Some(status), false) = (state.rules.reject_outputs, end.outputs.is_empty()) {
        state.record.rejected_calls += 1;
        return problem_response(status, if status == 422 { "invalid_request" } else { "internal" });
    }
    let record = &mut state.record;
    assert_eq!(
        record.log(&step).len() as u64,
        end.log_bytes,
        "the log of {step} was not complete at its end"
    );
    record.calls.push(format!("end {step}"));
    record.ends.insert(step, end);
    StatusCode::OK.into_response()
}

async fn logs(
    State(state): State<Shared>,
    Path((_, step)): Path<(String, String)>,
    Query(query): Query<HashMap<String, String>>,
    body: Bytes,
) -> Response {
    let offset: usize = query["offset"].parse().unwrap();
    query["at"].parse::<jiff::Timestamp>().unwrap();
    assert!(body.len() <= 1024 * 1024, "a piece of {} bytes", body.len());
    let mut state = state.lock().unwrap();
    let limit = state.rules.log_limit.unwrap_or(usize::MAX);
    let record = &mut state.record;
    assert!(!record.ends.contains_key(&step), "log after the end of {step}");
    let log = record.logs.entry(step).or_default();
    let length = log.len();
    if offset != length {
        // A retry of a piece that was already stored is idempotent.
        let repeats = log.get(offset..offset + body.len()).is_some_and(|taken| taken == body);
        if !repeats {
            record.offset_mismatches += 1;
            return problem(409, "log_offset", &json!({ "expected": length }));
        }
    } else if length + body.len() > limit {
        return problem_response(413, "log_limit_exceeded");
    } else {
        log.extend_from_slice(&body);
    }
    let bytes = log.len() as u64;
    Json(Data { data: LogSize { bytes } }).into_response()
}

fn has_valid_checksum(headers: &HeaderMap, body: &Bytes) -> bool {
    let digest = format!("{:x}", Sha256::digest(body));
    headers.get("x-greenroom-sha256").is_some_and(|value| value.as_bytes() == digest.as_bytes())
}

async fn put_artifact(State(state): State<Shared>, headers: HeaderMap, body: Bytes) -> Response {
    if !has_valid_checksum(&headers, &body) {
        return problem_response(422, "checksum_mismatch");
    }
    state.lock().unwrap().record.artifact = Some(body.to_vec());
    StatusCode::OK.into_response()
}

async fn get_artifact(State(state): State<Shared>, Path((_, artifact)): Path<(String, String)>) -> Response {
    match state.lock().unwrap().artifacts.get(&artifact) {
        Some(archive) => archive.clone().into_response(),
        None => problem_response(404, "not_found"),
    }
}

async fn get_step(State(state): State<Shared>, Path((_, digest)): Path<(String, String)>) -> Response {
    let mut state = state.lock().unwrap();
    state.record.step_requests.push(digest.clone());
    match state.steps.get(&digest) {
        Some(archive) => archive.clone().into_response(),
        None => problem_response(404, "not_found"),
    }
}

async fn get_cache(State(state): State<Shared>, Path((_, key)): Path<(String, String)>) -> Response {
    match state.lock().unwrap().record.caches.get(&key) {
        Some(archive) => archive.clone().into_response(),
        None => problem_response(404, "not_found"),
    }
}

async fn put_cache(
    State(state): State<Shared>,
    Path((_, key)): Path<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if !has_valid_checksum(&headers, &body) {
        return problem_response(422, "checksum_mismatch");
    }
    state.lock().unwrap().record.caches.insert(key, body.to_vec());
    StatusCode::OK.into_response()
}

async fn credentials(State(state): State<Shared>, Json(request): Json<CredentialRequest>) -> Response {
    let mut state = state.lock().unwrap();
    if state.rules.rejects_credentials {
        state.record.rejected_calls += 1;
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    let found = state.rules.credentials.iter().find(|(known, _)| {
        let is_for_repository = known.repository.is_none() || known.repository == request.repository;
        is_for_repository && (known.kind, &known.host) == (request.kind, &request.host)
    });
    let data = found.map_or_else(CredentialResponse::default, |(_, response)| response.clone());
    state.record.credential_requests.push(request);
    Json(Data { data }).into_response()
}

async fn checkout(State(state): State<Shared>, Json(done): Json<CheckedOut>) -> Response {
    let mut state = state.lock().unwrap();
    state.record.calls.push("checkout".to_owned());
    state.record.checkout = Some(done);
    StatusCode::OK.into_response()
}

async fn complete(State(state): State<Shared>, Json(complete): Json<Complete>) -> Response {
    let delay = {
        let mut state = state.lock().unwrap();
        state.record.calls.push("complete".to_owned());
        state.record.complete = Some(complete);
        state.rules.complete_delay
    };
    tokio::time::sleep(delay).await;
    state.lock().unwrap().record.is_complete_answered = true;
    StatusCode::OK.into_response()
}
