//! A server that speaks as Greenroom's does to runners, over real HTTP, and remembers what it was told. It stands only for
//! the wire: nothing is decided here that Greenroom's database would decide.

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
use greenroom_api_types::envelope::Data;
use greenroom_api_types::runner::{
    CheckedOut, Complete, Heartbeat, JOB_TOKEN_HEADER, Job, LogSize, StepEnd, StepStart,
};
use serde_json::json;
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::eventually;
use super::record::{Record, Rules};

pub const TOKEN: &str = "grr_test";

type Shared = Arc<Mutex<Known>>;

#[derive(Default)]
struct Known {
    waiting: VecDeque<Job>,
    record: Record,
    rules: Rules,
    artifacts: HashMap<String, Vec<u8>>,
}

pub struct Server {
    pub port: u16,
    known: Shared,
    _serving: JoinSet<()>,
}

impl Server {
    pub async fn start() -> Self {
        Self::start_on(0).await
    }

    pub async fn start_on(port: u16) -> Self {
        let known = Shared::default();
        let about_jobs = Router::new()
            .route("/{job}/heartbeat", post(heartbeat))
            .route("/{job}/steps/{step}/start", post(start))
            .route("/{job}/steps/{step}/end", post(end))
            .route("/{job}/steps/{step}/logs", post(logs))
            .route("/{job}/artifact", put(put_artifact))
            .route("/{job}/artifacts/{artifact}", get(get_artifact))
            .route("/{job}/caches/{key}", get(get_cache).put(put_cache))
            .route("/{job}/checkout", post(checkout))
            .route("/{job}/complete", post(complete))
            .layer(axum::middleware::from_fn_with_state(Arc::clone(&known), gate));
        let app = Router::new()
            .route("/api/v1/runner/jobs/acquire", post(acquire))
            .nest("/api/v1/runner/jobs", about_jobs)
            .layer(DefaultBodyLimit::max(64 * 1024 * 1024))
            .with_state(Arc::clone(&known));
        let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, app).await.unwrap() });
        Server { port, known, _serving: serving }
    }

    pub fn give(&self, job: Job) {
        self.known.lock().unwrap().waiting.push_back(job);
    }

    pub fn offer_artifact(&self, id: &str, archive: Vec<u8>) {
        self.known.lock().unwrap().artifacts.insert(id.to_owned(), archive);
    }

    pub fn offer_cache(&self, key: &str, archive: Vec<u8>) {
        self.known.lock().unwrap().record.caches.insert(key.to_owned(), archive);
    }

    pub fn rule(&self, change: impl FnOnce(&mut Rules)) {
        change(&mut self.known.lock().unwrap().rules);
    }

    /// Looks at what it was told.
    pub fn told<T>(&self, look: impl FnOnce(&Record) -> T) -> T {
        look(&self.known.lock().unwrap().record)
    }

    pub async fn until(&self, what: &str, holds: impl Fn(&Record) -> bool) {
        eventually(what, || self.told(&holds)).await;
    }

    pub async fn until_complete(&self) -> Complete {
        self.until("the job completes", |record| record.complete.is_some()).await;
        self.told(|record| record.complete.clone().unwrap())
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

fn refused(status: u16, code: &str) -> Response {
    problem(status, code, &json!({}))
}

/// Both tokens, and the rules that are for every call about a job.
async fn gate(State(known): State<Shared>, request: Request, next: Next) -> Response {
    match turned_away(&known, request.headers()) {
        Some(answer) => answer,
        None => next.run(request).await,
    }
}

fn turned_away(known: &Shared, headers: &HeaderMap) -> Option<Response> {
    let mut known = known.lock().unwrap();
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let job_token = known.record.job.as_ref().map(|job| job.job_token.as_str());
    if header("authorization") != Some("Bearer grr_test") || header(JOB_TOKEN_HEADER) != job_token {
        return Some(refused(401, "unauthenticated"));
    }
    if known.rules.revoked {
        return Some(refused(410, "runner_revoked"));
    }
    if known.rules.gone {
        return Some(refused(410, "job_gone"));
    }
    if known.rules.away {
        known.record.turned_away += 1;
        return Some(StatusCode::SERVICE_UNAVAILABLE.into_response());
    }
    None
}

async fn acquire(State(known): State<Shared>) -> Response {
    // A short wait instead of a long one: the runner asks again.
    for _ in 0..20 {
        let taken = {
            let mut known = known.lock().unwrap();
            if known.rules.revoked {
                return refused(410, "runner_revoked");
            }
            known.waiting.pop_front().map(|job| {
                let kept = std::mem::take(&mut known.record.caches);
                known.record = Record { job: Some(job.clone()), caches: kept, ..Record::default() };
                (job, known.rules.late)
            })
        };
        if let Some((job, late)) = taken {
            tokio::time::sleep(late).await;
            return Json(Data { data: job }).into_response();
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    StatusCode::NO_CONTENT.into_response()
}

async fn heartbeat(State(known): State<Shared>) -> Response {
    let known = known.lock().unwrap();
    if known.rules.deaf {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    let lease_seconds = known.record.job.as_ref().unwrap().lease_seconds;
    Json(Data { data: Heartbeat { lease_seconds, cancel: known.rules.cancel.clone() } }).into_response()
}

async fn start(
    State(known): State<Shared>,
    Path((_, step)): Path<(String, String)>,
    Json(start): Json<StepStart>,
) -> Response {
    let mut known = known.lock().unwrap();
    if known.rules.unavailable_start {
        known.record.turned_away += 1;
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    if let Some(code) = known.rules.refuse_start {
        return refused(409, code);
    }
    known.record.calls.push(format!("start {step}"));
    known.record.images.extend(start.image_digest.map(|digest| (step, digest)));
    StatusCode::OK.into_response()
}

async fn end(
    State(known): State<Shared>,
    Path((_, step)): Path<(String, String)>,
    Json(end): Json<StepEnd>,
) -> Response {
    let mut known = known.lock().unwrap();
    if let (Some(status), false) = (known.rules.reject_outputs, end.outputs.is_empty()) {
        known.record.turned_away += 1;
        return refused(status, if status == 422 { "invalid_request" } else { "internal" });
    }
    let record = &mut known.record;
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
    State(known): State<Shared>,
    Path((_, step)): Path<(String, String)>,
    Query(query): Query<HashMap<String, String>>,
    body: Bytes,
) -> Response {
    let offset: usize = query["offset"].parse().unwrap();
    query["at"].parse::<jiff::Timestamp>().unwrap();
    assert!(body.len() <= 1024 * 1024, "a piece of {} bytes", body.len());
    let mut known = known.lock().unwrap();
    let limit = known.rules.log_limit.unwrap_or(usize::MAX);
    let record = &mut known.record;
    assert!(!record.ends.contains_key(&step), "log after the end of {step}");
    let log = record.logs.entry(step).or_default();
    let length = log.len();
    if offset != length {
        // What was already taken, and whose answer was lost, is the same again and not an error.
        let repeats = log.get(offset..offset + body.len()).is_some_and(|taken| taken == body);
        if !repeats {
            record.misfits += 1;
            return problem(409, "log_offset", &json!({ "expected": length }));
        }
    } else if length + body.len() > limit {
        return refused(413, "log_limit_exceeded");
    } else {
        log.extend_from_slice(&body);
    }
    let bytes = log.len() as u64;
    Json(Data { data: LogSize { bytes } }).into_response()
}

fn checked(headers: &HeaderMap, body: &Bytes) -> bool {
    let digest: String = Sha256::digest(body).iter().map(|byte| format!("{byte:02x}")).collect();
    headers.get("x-greenroom-sha256").is_some_and(|said| said.as_bytes() == digest.as_bytes())
}

async fn put_artifact(State(known): State<Shared>, headers: HeaderMap, body: Bytes) -> Response {
    if !checked(&headers, &body) {
        return refused(422, "checksum_mismatch");
    }
    known.lock().unwrap().record.artifact = Some(body.to_vec());
    StatusCode::OK.into_response()
}

async fn get_artifact(State(known): State<Shared>, Path((_, artifact)): Path<(String, String)>) -> Response {
    match known.lock().unwrap().artifacts.get(&artifact) {
        Some(archive) => archive.clone().into_response(),
        None => refused(404, "not_found"),
    }
}

async fn get_cache(State(known): State<Shared>, Path((_, key)): Path<(String, String)>) -> Response {
    match known.lock().unwrap().record.caches.get(&key) {
        Some(archive) => archive.clone().into_response(),
        None => refused(404, "not_found"),
    }
}

async fn put_cache(
    State(known): State<Shared>,
    Path((_, key)): Path<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if !checked(&headers, &body) {
        return refused(422, "checksum_mismatch");
    }
    known.lock().unwrap().record.caches.insert(key, body.to_vec());
    StatusCode::OK.into_response()
}

async fn checkout(State(known): State<Shared>, Json(done): Json<CheckedOut>) -> Response {
    let mut known = known.lock().unwrap();
    known.record.calls.push("checkout".to_owned());
    known.record.checkout = Some(done);
    StatusCode::OK.into_response()
}

async fn complete(State(known): State<Shared>, Json(complete): Json<Complete>) -> Response {
    let mut known = known.lock().unwrap();
    known.record.calls.push("complete".to_owned());
    known.record.complete = Some(complete);
    StatusCode::OK.into_response()
}
