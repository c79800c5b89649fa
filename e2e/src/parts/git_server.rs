//! git over HTTP, on loopback: git's own `http-backend` behind a minimal CGI server.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use anyhow::{Context, bail};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::task::JoinSet;

use crate::parts::deadline::Deadline;
use crate::parts::output::print_progress;

const HELD: &str = "/held/";

struct Served {
    root: PathBuf,
    steps: PathBuf,
}

pub(crate) struct GitServer {
    /// The URL without a path.
    address: String,
    _serving: JoinSet<()>,
}

impl GitServer {
    /// Serves every repository below a folder. `steps` contains the scenarios' own folders.
    pub(crate) async fn start(root: &Path, steps: &Path) -> anyhow::Result<Self> {
        let served = Served { root: root.to_owned(), steps: steps.to_owned() };
        let app = Router::new().fallback(handle).with_state(Arc::new(served));
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = format!("http://{}", listener.local_addr()?);
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            if let Err(error) = axum::serve(listener, app).await {
                print_progress(&format!("the git server has ended: {error}"));
            }
        });
        Ok(Self { address, _serving: serving })
    }

    /// With the name of a scenario, requests wait until the scenario has created the file `checkout`.
    pub(crate) fn url(&self, repository: &str, held: Option<&str>) -> String {
        match held {
            Some(scenario) => format!("{}{HELD}{scenario}/{repository}", self.address),
            None => format!("{}/{repository}", self.address),
        }
    }
}

async fn handle(State(served): State<Arc<Served>>, request: Request) -> Response {
    match run_cgi(&served, request).await {
        Ok(response) => response,
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error:#}")).into_response(),
    }
}

impl Served {
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
