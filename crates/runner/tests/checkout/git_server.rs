//! A repository on disk, served by `git http-backend`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// Which commits clients can request from the server.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ServerMode {
    /// Any commit by its id, as in the current protocol.
    AnyCommit,
    /// Only commits that a branch or tag points to, as in the first protocol.
    RefsOnly,
}

pub struct Repository {
    folder: tempfile::TempDir,
}

impl Repository {
    pub fn new() -> Self {
        let repository = Repository { folder: tempfile::tempdir().unwrap() };
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn git(&self, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=Test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false"])
            .args(arguments)
            .current_dir(self.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Creates a commit on the current branch whose only file has this content. Returns its id.
    pub fn commit(&self, text: &str) -> String {
        std::fs::write(self.path().join("file"), text).unwrap();
        self.git(&["add", "file"]);
        self.git(&["commit", "--quiet", "--message", text]);
        self.git(&["rev-parse", "HEAD"])
    }
}

pub struct GitServer {
    pub url: String,
    /// Host and port.
    pub host: String,
    requests: Arc<Mutex<Vec<Option<String>>>>,
    _serving: JoinSet<()>,
}

/// What a private server does.
#[derive(Clone, Default)]
pub struct Guard {
    /// `user:password`.
    pub credential: String,
    /// Called during each request with the credential, while git waits for the response.
    pub on_authorized: Option<Arc<dyn Fn() + Send + Sync>>,
    /// Where every request with the credential is redirected to.
    pub redirect_to: Option<String>,
}

struct Served {
    root: PathBuf,
    mode: ServerMode,
    guard: Option<Guard>,
    requests: Arc<Mutex<Vec<Option<String>>>>,
}

impl GitServer {
    pub async fn start(repository: &Repository, mode: ServerMode) -> Self {
        Self::start_with(repository, mode, None).await
    }

    /// Starts a server that demands a user name and a password.
    pub async fn start_private(repository: &Repository, guard: Guard) -> Self {
        Self::start_with(repository, ServerMode::AnyCommit, Some(guard)).await
    }

    async fn start_with(repository: &Repository, mode: ServerMode, guard: Option<Guard>) -> Self {
        let requests = Arc::<Mutex<_>>::default();
        let root = repository.path().to_owned();
        let served = Arc::new(Served { root, mode, guard, requests: Arc::clone(&requests) });
        let app = Router::new().fallback(serve).with_state(served);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let url = format!("http://{host}/.git");
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, app).await.unwrap() });
        GitServer { url, host, requests, _serving: serving }
    }

    /// Returns the header `Authorization` of each request.
    pub fn requests(&self) -> Vec<Option<String>> {
        self.requests.lock().unwrap().clone()
    }
}

/// Returns the response to a request without the credential, or one that does not reach git.
fn guarded(guard: &Guard, authorization: &str, path: &str) -> Option<Response> {
    if authorization.is_empty() {
        return Some(
            (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, "Basic realm=git")]).into_response(),
        );
    }
    if authorization != format!("Basic {}", STANDARD.encode(&guard.credential)) {
        // git prints such a message.
        let given = STANDARD.decode(authorization.trim_start_matches("Basic ")).unwrap();
        let message = format!("{authorization} is wrong: {}\n", String::from_utf8_lossy(&given));
        return Some(
            (StatusCode::FORBIDDEN, [(header::CONTENT_TYPE, "text/plain")], message).into_response(),
        );
    }
    if let Some(on_authorized) = &guard.on_authorized {
        on_authorized();
    }
    let target = guard.redirect_to.as_ref()?;
    let path = path.trim_start_matches("/.git");
    Some((StatusCode::FOUND, [(header::LOCATION, format!("{target}{path}"))]).into_response())
}

/// Handles a request with one call of the CGI program.
async fn serve(State(served): State<Arc<Served>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    let header =
        |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("").to_owned();
    let authorization = header("authorization");
    served.requests.lock().unwrap().push(Some(authorization.clone()).filter(|text| !text.is_empty()));
    let path = head.uri.path_and_query().map_or("", |path| path.as_str());
    if let Some(response) = served.guard.as_ref().and_then(|guard| guarded(guard, &authorization, path)) {
        return response;
    }
    let mut command = tokio::process::Command::new("git");
    command
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", &served.root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("REQUEST_METHOD", head.method.as_str())
        .env("PATH_INFO", head.uri.path())
        .env("QUERY_STRING", head.uri.query().unwrap_or(""))
        .env("CONTENT_TYPE", header("content-type"))
        .env("HTTP_CONTENT_ENCODING", header("content-encoding"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    if served.mode == ServerMode::AnyCommit {
        command.env("GIT_PROTOCOL", header("git-protocol"));
    }
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let (_, output) =
        tokio::join!(async move { drop(input.write_all(&body).await) }, child.wait_with_output(),);
    from_cgi(&output.unwrap().stdout)
}

fn from_cgi(output: &[u8]) -> Response {
    let end = output.windows(4).position(|window| window == b"\r\n\r\n").expect("headers have an end");
    let mut response = Response::builder();
    for line in std::str::from_utf8(&output[..end]).unwrap().lines() {
        let (name, value) = line.split_once(": ").unwrap();
        if name.eq_ignore_ascii_case("status") {
            let code = value.split(' ').next().unwrap().parse().unwrap();
            response = response.status(StatusCode::from_u16(code).unwrap());
        } else {
            response = response.header(name, value);
        }
    }
    response.body(Body::from(Bytes::copy_from_slice(&output[end + 4..]))).unwrap()
}
