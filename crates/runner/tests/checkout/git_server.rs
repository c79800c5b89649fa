//! A repository on disk, served by `git http-backend`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
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
    _serving: JoinSet<()>,
}

struct Served {
    root: PathBuf,
    mode: ServerMode,
}

impl GitServer {
    pub async fn start(repository: &Repository, mode: ServerMode) -> Self {
        let served = Arc::new(Served { root: repository.path().to_owned(), mode });
        let app = Router::new().fallback(serve).with_state(served);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/.git", listener.local_addr().unwrap());
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, app).await.unwrap() });
        GitServer { url, _serving: serving }
    }
}

/// Handles a request with one call of the CGI program.
async fn serve(State(served): State<Arc<Served>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    let header =
        |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("").to_owned();
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
