//! A relay between the victim's runner and the server that records each request with its response.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::fault::overload::victim::recorder::{Call, Operation, Recorder};
use crate::parts::output::print_progress;

/// Longer than a poll for a job.
const TIMEOUT: Duration = Duration::from_secs(60);
const HEARTBEAT: &str = "/heartbeat";
const MAX_BODY_BYTES: usize = 8 * 1024 * 1024;
/// The runner waits at least this long for the response to a heartbeat, unless the job ends.
const MIN_HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Clone)]
struct Forward {
    http: reqwest::Client,
    /// The URL without a path.
    server: String,
    recorder: Arc<Recorder>,
    ending: Ending,
}

/// The paths of the jobs whose end was sent to the server.
#[derive(Clone, Debug, Default)]
struct Ending(Arc<Mutex<HashSet<String>>>);

impl Ending {
    fn insert(&self, job: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(job.to_owned());
    }

    fn contains(&self, job: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(job)
    }
}

pub(crate) struct Relay {
    /// The URL with `/api/v1`, for the runner.
    pub(crate) url: String,
    _serving: JoinSet<()>,
}

impl Relay {
    pub(crate) async fn start(server: &str, recorder: Arc<Recorder>) -> anyhow::Result<Self> {
        let http = reqwest::Client::builder().no_proxy().timeout(TIMEOUT).build()?;
        let forward =
            Forward { http, server: format!("http://{server}"), recorder, ending: Ending::default() };
        let app = Router::new().fallback(forward_one).with_state(forward);
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/api/v1", listener.local_addr()?);
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            if let Err(error) = axum::serve(listener, app).await {
                print_progress(&format!("the runner's relay has ended: {error}"));
            }
        });
        Ok(Self { url, _serving: serving })
    }
}

/// A request in progress. If the runner gives up on it, it is dropped without a response, which is recorded
/// as well.
struct Pending {
    at: Instant,
    operation: Operation,
    path: String,
    status: Option<u16>,
    /// The server has responded, or the connection to it has failed.
    is_complete: bool,
    recorder: Arc<Recorder>,
    ending: Ending,
}

impl Pending {
    /// Returns whether the runner canceled a heartbeat because the job had ended, before any timeout.
    fn is_canceled(&self) -> bool {
        !self.is_complete
            && self.operation == Operation::JobHeartbeat
            && self.at.elapsed() < MIN_HEARTBEAT_TIMEOUT
    }

    /// Returns whether a heartbeat was refused because the job had ended. The report of the end is recorded
    /// separately, and has to succeed.
    fn is_of_ended_job(&self) -> bool {
        self.status == Some(410)
            && self.path.strip_suffix(HEARTBEAT).is_some_and(|job| self.ending.contains(job))
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if self.is_canceled() || self.is_of_ended_job() {
            return;
        }
        let call =
            Call { at: self.at, took: self.at.elapsed(), operation: self.operation, status: self.status };
        if !call.is_good() {
            let path = &self.path;
            self.recorder.complain(format!("runner: {path}: {:?} after {:?}", call.status, call.took));
        }
        self.recorder.call(call);
    }
}

async fn forward_one(State(forward): State<Forward>, request: Request) -> Response {
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str()).to_owned();
    let operation = if path.ends_with(HEARTBEAT) { Operation::JobHeartbeat } else { Operation::Runner };
    if let Some(job) = path.strip_suffix("/complete") {
        forward.ending.insert(job);
    }
    let (recorder, ending) = (Arc::clone(&forward.recorder), forward.ending.clone());
    let mut pending =
        Pending { at: Instant::now(), operation, path, status: None, is_complete: false, recorder, ending };
    let result = forward_to_server(&forward, &pending.path, request).await;
    pending.is_complete = true;
    match result {
        Ok((status, response)) => {
            pending.status = Some(status);
            response
        }
        Err(_) => StatusCode::BAD_GATEWAY.into_response(),
    }
}

async fn forward_to_server(
    forward: &Forward,
    path: &str,
    request: Request,
) -> anyhow::Result<(u16, Response)> {
    let (parts, body) = request.into_parts();
    let body = to_bytes(body, MAX_BODY_BYTES).await?;
    let mut headers = parts.headers;
    for name in ["host", "content-length", "transfer-encoding", "connection"] {
        headers.remove(name);
    }
    let url = format!("{}{path}", forward.server);
    let server_response = forward.http.request(parts.method, url).headers(headers).body(body).send().await?;
    let (status, mut headers) = (server_response.status(), server_response.headers().clone());
    for name in ["transfer-encoding", "connection"] {
        headers.remove(name);
    }
    let mut response = Response::new(Body::from(server_response.bytes().await?));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    Ok((status.as_u16(), response))
}
