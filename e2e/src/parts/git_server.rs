//! git over HTTP, on loopback: git's own `http-backend` behind a minimal CGI server. With TLS and a password if
//! the repositories are private.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, bail};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::serve::Listener;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::task::JoinSet;

use crate::parts::deadline::Deadline;
use crate::parts::output::print_progress;
use crate::parts::tls::{Certificate, TlsListener};

const HELD: &str = "/held/";

struct Served {
    root: PathBuf,
    steps: PathBuf,
    /// The required user name and password, as `user:password`.
    credential: Option<String>,
    received: Arc<Received>,
}

/// What clients have sent to a server.
#[derive(Default)]
struct Received {
    connections: Arc<AtomicUsize>,
    requests: AtomicUsize,
    /// Each different credential, as `user:password`.
    credentials: Mutex<Vec<String>>,
}

pub(crate) struct GitServer {
    /// The URL without a path.
    address: String,
    received: Arc<Received>,
    _serving: JoinSet<()>,
}

impl GitServer {
    /// Serves every repository below a folder. `steps` contains the scenarios' own folders.
    pub(crate) async fn start(root: &Path, steps: &Path) -> anyhow::Result<Self> {
        let received = Arc::<Received>::default();
        let served = Served {
            root: root.to_owned(),
            steps: steps.to_owned(),
            credential: None,
            received: Arc::clone(&received),
        };
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = format!("http://{}", listener.local_addr()?);
        Ok(Self { address, received, _serving: serve(listener, served) })
    }

    /// Serves every repository below a folder by https, and only with the credential if there is one.
    pub(crate) async fn start_tls(
        root: &Path,
        credential: Option<String>,
        certificate: &Certificate,
    ) -> anyhow::Result<Self> {
        let received = Arc::<Received>::default();
        let served = Served {
            root: root.to_owned(),
            steps: PathBuf::new(),
            credential,
            received: Arc::clone(&received),
        };
        let listener = TlsListener::bind(certificate, Arc::clone(&received.connections)).await?;
        let address = format!("https://{}", listener.local_addr()?);
        Ok(Self { address, received, _serving: serve(listener, served) })
    }

    /// Returns host and port.
    pub(crate) fn host(&self) -> &str {
        self.address.split_once("://").map_or("", |(_, host)| host)
    }

    /// Returns how many connections and requests it got, and with which credentials.
    pub(crate) fn received(&self) -> Value {
        let credentials = self.received.credentials.lock().unwrap_or_else(PoisonError::into_inner);
        json!({
            "connections": self.received.connections.load(Ordering::Relaxed),
            "requests": self.received.requests.load(Ordering::Relaxed),
            "credentials": *credentials,
        })
    }

    /// With the name of a scenario, requests wait until the scenario has created the file `checkout`.
    pub(crate) fn url(&self, repository: &str, held: Option<&str>) -> String {
        match held {
            Some(scenario) => format!("{}{HELD}{scenario}/{repository}", self.address),
            None => format!("{}/{repository}", self.address),
        }
    }
}

fn serve<L>(listener: L, served: Served) -> JoinSet<()>
where
    L: Listener,
    L::Addr: std::fmt::Debug,
{
    let app = Router::new().fallback(handle).with_state(Arc::new(served));
    let mut serving = JoinSet::new();
    serving.spawn(async move {
        if let Err(error) = axum::serve(listener, app).await {
            print_progress(&format!("the git server has ended: {error}"));
        }
    });
    serving
}

async fn handle(State(served): State<Arc<Served>>, request: Request) -> Response {
    if let Some(response) = served.rejection(&request) {
        return response;
    }
    match run_cgi(&served, request).await {
        Ok(response) => response,
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error:#}")).into_response(),
    }
}

impl Served {
    /// Records a request. Returns the response if the required credential is missing or wrong. The response to a
    /// wrong one repeats it, and git prints that: the runner has to mask it.
    fn rejection(&self, request: &Request) -> Option<Response> {
        self.received.requests.fetch_add(1, Ordering::Relaxed);
        let authorization = request.headers().get(header::AUTHORIZATION);
        let sent = authorization.map(|value| {
            let encoded = value.as_bytes().strip_prefix(b"Basic ").unwrap_or_default();
            let decoded = STANDARD.decode(encoded).unwrap_or_else(|_| value.as_bytes().to_vec());
            String::from_utf8_lossy(&decoded).into_owned()
        });
        if let Some(sent) = &sent {
            let mut known = self.received.credentials.lock().unwrap_or_else(PoisonError::into_inner);
            if !known.contains(sent) {
                known.push(sent.clone());
            }
        }
        match (&self.credential, sent) {
            (None, _) => None,
            (Some(_), None) => {
                let challenge = [(header::WWW_AUTHENTICATE, "Basic realm=git")];
                Some((StatusCode::UNAUTHORIZED, challenge).into_response())
            }
            (Some(required), Some(sent)) if *required != sent => {
                let text = format!("{sent} is wrong: Basic {}\n", STANDARD.encode(&sent));
                Some((StatusCode::FORBIDDEN, [(header::CONTENT_TYPE, "text/plain")], text).into_response())
            }
            (Some(_), Some(_)) => None,
        }
    }

    /// Returns the path below the root, once it may be served.
    async fn wait_for_release<'a>(&self, path: &'a str) -> anyhow::Result<&'a str> {
        let Some(rest) = path.strip_prefix(HELD) else { return Ok(path) };
        let end = rest.find('/').context("a held repository has no name")?;
        let (scenario, path) = rest.split_at(end);
        let deadline = Deadline::in_seconds(300);
        while !self.steps.join(scenario).join("checkout").exists() {
            deadline.wait(|| "the checkout was not released".to_owned()).await?;
        }
        Ok(path)
    }
}

/// Runs the CGI program once.
async fn run_cgi(served: &Served, request: Request) -> anyhow::Result<Response> {
    let (head, body) = request.into_parts();
    let path = served.wait_for_release(head.uri.path()).await?;
    let body = to_bytes(body, 64 * 1024 * 1024).await?;
    let header =
        |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("").to_owned();
    let mut child = Command::new("git")
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", &served.root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_PROTOCOL", header("git-protocol"))
        .env("REQUEST_METHOD", head.method.as_str())
        .env("PATH_INFO", path)
        .env("QUERY_STRING", head.uri.query().unwrap_or(""))
        .env("CONTENT_TYPE", header("content-type"))
        .env("HTTP_CONTENT_ENCODING", header("content-encoding"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .context("git can't be started")?;
    let mut input = child.stdin.take().context("git has no standard input")?;
    let (_, output) =
        tokio::join!(async move { drop(input.write_all(&body).await) }, child.wait_with_output());
    from_cgi(&output?.stdout)
}

fn from_cgi(output: &[u8]) -> anyhow::Result<Response> {
    let Some(end) = output.windows(4).position(|window| window == b"\r\n\r\n") else {
        bail!("git http-backend printed no headers");
    };
    let (head, body) = output.split_at(end);
    let mut response = Response::builder();
    for line in std::str::from_utf8(head)?.lines() {
        let (name, value) = line.split_once(": ").context("git http-backend printed an invalid header")?;
        if name.eq_ignore_ascii_case("status") {
            response = response.status(value.split(' ').next().unwrap_or_default().parse::<u16>()?);
        } else {
            response = response.header(name, value);
        }
    }
    Ok(response.body(Body::from(body.get(4..).unwrap_or_default().to_vec()))?)
}
