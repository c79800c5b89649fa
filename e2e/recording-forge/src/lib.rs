//! A forge with one repository, for tests: a real HTTP server that keeps branches, pull requests and statuses, speaks the
//! dialects of GitHub and Forgejo, and fails on demand. It refuses a second open pull request of one head and base, as both
//! forges do. What it accepts and sends is a part of their contracts; `e2e/forges/check` compares our client with those.
#![expect(clippy::unwrap_used, reason = "only tests use this crate")]

mod fault;
mod forgejo;
mod github;
mod request;
mod state;

use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State as Extension;
use axum::http::{HeaderMap, Method, Uri};
use axum::response::Response;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

pub use self::fault::{AppliesTo, Fault};
pub use self::state::{RecordedPullRequest, RecordedRequest, RecordedStatus, State};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Github,
    Forgejo,
}

pub const OWNER: &str = "acme";
pub const REPOSITORY: &str = "shop";
pub const TOKEN: &str = "forge-token-of-the-test";

/// A running forge. It ends when this is dropped.
pub struct RecordingForge {
    pub dialect: Dialect,
    port: u16,
    state: Arc<Mutex<State>>,
    _serving: JoinSet<()>,
}

impl RecordingForge {
    /// Starts a forge on 127.0.0.1, with the branch `main`.
    pub async fn start(dialect: Dialect) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(Mutex::new(State::new(format!("http://127.0.0.1:{port}"))));
        let app = Router::new().fallback(serve).with_state((dialect, Arc::clone(&state)));
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            axum::serve(listener, app).await.unwrap();
        });
        Self { dialect, port, state, _serving: serving }
    }

    /// Returns the address of its API.
    pub fn address(&self) -> String {
        match self.dialect {
            Dialect::Github => format!("http://127.0.0.1:{}", self.port),
            Dialect::Forgejo => format!("http://127.0.0.1:{}/api/v1", self.port),
        }
    }

    /// Returns the URL of its repository.
    pub fn repository(&self) -> String {
        format!("http://127.0.0.1:{}/{OWNER}/{REPOSITORY}", self.port)
    }

    /// Returns what it has recorded, to be read or changed.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Lets requests fail from now on.
    pub fn set_fault(&self, applies_to: AppliesTo, fault: Fault) {
        self.state().fault = Some((applies_to, fault));
    }

    pub fn clear_fault(&self) {
        self.state().fault = None;
    }
}

async fn serve(
    Extension((dialect, state)): Extension<(Dialect, Arc<Mutex<State>>)>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let request = request::Request::new(&method, &uri, &headers, &body);
    let (fault, done) = {
        let mut state = state.lock().unwrap();
        state.requests.push(request.recorded());
        let fault = state.fault.clone().filter(|(applies_to, _)| applies_to.includes(&method));
        let fault = fault.map(|(_, fault)| fault);
        let done = match &fault {
            Some(fault) if fault.is_before() => None,
            _ => Some(match dialect {
                Dialect::Github => github::serve(&mut state, &request),
                Dialect::Forgejo => forgejo::serve(&mut state, &request),
            }),
        };
        (fault, done)
    };
    fault::respond(fault, done).await
}
