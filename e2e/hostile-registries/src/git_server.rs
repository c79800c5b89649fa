//! Serves a repository by `git http-backend`.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::repository::Repository;

/// Called with the body of each request, before git gets it.
pub type OnRequest = Arc<dyn Fn(&str) + Send + Sync>;

pub struct GitServer {
    pub url: String,
    pub port: u16,
    requests: Arc<Mutex<Vec<SeenRequest>>>,
    _serving: JoinSet<()>,
}

#[derive(Clone, Debug)]
pub struct SeenRequest {
    pub body: String,
    pub authorization: String,
}

struct Served {
    root: PathBuf,
    /// The header `Authorization` that is required.
    authorization: Option<String>,
    on_request: OnRequest,
    requests: Arc<Mutex<Vec<SeenRequest>>>,
}

impl GitServer {
    pub async fn start(repository: &Repository) -> Self {
        Self::start_with(repository, None, Arc::new(|_| {})).await
    }

    pub async fn start_with(
        repository: &Repository,
        authorization: Option<String>,
        on_request: OnRequest,
    ) -> Self {
        let requests = Arc::<Mutex<_>>::default();
        let root = repository.path().to_owned();
        let served = Served { root, authorization, on_request, requests: Arc::clone(&requests) };
        let app = Router::new().fallback(serve).with_state(Arc::new(served));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut serving = JoinSet::new();
        serving.spawn(async move { axum::serve(listener, app).await.unwrap() });
        GitServer { url: format!("http://127.0.0.1:{port}/.git"), port, requests, _serving: serving }
    }

    pub fn requests(&self) -> Vec<SeenRequest> {
        self.requests.lock().unwrap().clone()
    }

    /// Returns how many requests were for objects.
    pub fn fetches(&self) -> usize {
        self.requests().iter().filter(|request| request.body.contains("command=fetch")).count()
    }
}

/// Handles a request with one call of the CGI program.
async fn serve(State(served): State<Arc<Served>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    let header =
        |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("").to_owned();
    let (text, authorization) = (String::from_utf8_lossy(&body).into_owned(), header("authorization"));
    (served.on_request)(&text);
    served.requests.lock().unwrap().push(SeenRequest { body: text, authorization: authorization.clone() });
    if served.authorization.as_ref().is_some_and(|required| *required != authorization) {
        // git prints such a text.
        let headers = [(header::WWW_AUTHENTICATE, "Basic realm=git"), (header::CONTENT_TYPE, "text/plain")];
        return (StatusCode::UNAUTHORIZED, headers, format!("wrong: {authorization}\n")).into_response();
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
        .env("GIT_PROTOCOL", header("git-protocol"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let (_, output) =
        tokio::join!(async move { drop(input.write_all(&body).await) }, child.wait_with_output());
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
