//! `greenroomd all`: server and worker in one process. `GREENROOM_TEST_TEMPORAL_ADDRESS` names a Temporal for tests.

use std::net::TcpListener;
use std::process::Stdio;
use std::time::{Duration, Instant};

use reqwest::{Client, Method, Response, StatusCode};
use serde_json::{Value, json};
use sqlx::{ConnectOptions, PgPool};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};

use crate::database::TestDatabase;

const TIMEOUT: Duration = Duration::from_secs(60);
/// How long the stop may take with nothing in flight. The deadline is 40 s after the drain delay.
const STOP_TIMEOUT: Duration = Duration::from_secs(15);
const DRAIN_DELAY: Duration = Duration::from_secs(1);
/// 16 of `--database-connections`, 8 reserved ones, 10 for background tasks (docs/operations.md).
const CONNECTIONS: i64 = 34;

const DEFINITION: &str = "stages:\n  build:\n    steps:\n      - image: busybox\n        run: 'true'\n";

struct Process {
    child: Child,
    stdout: BufReader<ChildStdout>,
    origin: String,
    operator: String,
    client: Client,
}

fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

impl Process {
    async fn start(pool: &PgPool, objects: &std::path::Path) -> Self {
        // The address of a Temporal for tests.
        let temporal = std::env::var("GREENROOM_TEST_TEMPORAL_ADDRESS").unwrap();
        let (listen, operator) = (free_address(), free_address());
        let mut command = Command::new(env!("CARGO_BIN_EXE_greenroomd"));
        command
            .args(["all", "--listen", &listen, "--metrics-listen", &operator])
            .args(["--drain-delay-seconds", &DRAIN_DELAY.as_secs().to_string()])
            .env("GREENROOM_DATABASE_URL", pool.connect_options().to_url_lossy().as_str())
            .env("GREENROOM_TEMPORAL_ADDRESS", temporal)
            .env("GREENROOM_OBJECTS", format!("file://{}", objects.display()))
            .env("GREENROOM_LOG", "warn")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let client = Client::builder().no_proxy().timeout(Duration::from_secs(30)).build().unwrap();
        let (origin, operator) = (format!("http://{listen}"), format!("http://{operator}"));
        let process = Self { child, stdout, origin, operator, client };
        for probe in ["/readyz", "/livez"] {
            for address in [&process.origin, &process.operator] {
                process.until(&format!("{address}{probe}"), |status, _| status == 200).await;
            }
        }
        process
    }

    /// Requests a page until its status and text are as expected.
    async fn until(&self, url: &str, expected: impl Fn(u16, &str) -> bool) {
        let started = Instant::now();
        loop {
            if let Ok(response) = self.client.get(url).send().await {
                let status = response.status().as_u16();
                if expected(status, &response.text().await.unwrap_or_default()) {
                    return;
                }
            }
            assert!(started.elapsed() < TIMEOUT, "{url} was not as expected after {TIMEOUT:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Returns the code in the link that was printed.
    async fn code(&mut self) -> String {
        let mut line = String::new();
        tokio::time::timeout(TIMEOUT, self.stdout.read_line(&mut line)).await.unwrap().unwrap();
        line.trim().rsplit_once("/setup#").unwrap().1.to_owned()
    }

    async fn send(&self, method: Method, path: &str, cookie: &str, body: Option<Value>) -> Response {
        let request = self.client.request(method, format!("{}/api/v1{path}", self.origin));
        let request = request.header("origin", &self.origin).header("cookie", cookie);
        let request = match body {
            Some(body) => request.json(&body),
            None => request,
        };
        request.send().await.unwrap()
    }

    async fn data(&self, method: Method, path: &str, cookie: &str, body: Option<Value>) -> Value {
        let response = self.send(method, path, cookie, body).await;
        let status = response.status();
        let mut body: Value = response.json().await.unwrap();
        assert!(status.is_success(), "{path}: {status} {body}");
        body["data"].take()
    }

    /// Sends SIGTERM. Returns how long the process took to end, and what else it printed.
    async fn stop(mut self) -> (Duration, String) {
        let id = self.child.id().unwrap().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().await.unwrap().success());
        let started = Instant::now();
        // The probes fail before connections are refused.
        self.until(&format!("{}/readyz", self.origin), |status, text| status == 503 && text == "draining\n")
            .await;
        let ended = tokio::time::timeout(TIMEOUT, self.child.wait()).await.unwrap().unwrap();
        assert!(ended.success(), "{ended}");
        let took = started.elapsed();
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).await.unwrap();
        (took, rest)
    }
}

/// Waits until the workflow has planned the deployment and dispatched its stage: only a worker does that.
async fn is_dispatched(process: &Process, cookie: &str, deployment: &str) {
    let started = Instant::now();
    let path = format!("/organizations/acme/deployments/{deployment}");
    loop {
        let record = process.data(Method::GET, &path, cookie, None).await;
        if record["stages"][0]["status"] == "queued" {
            return;
        }
        assert!(started.elapsed() < TIMEOUT, "nothing has run the workflow: {record}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn one_process_serves_works_and_stops() {
    let (_database, pool) = TestDatabase::create().await;
    let objects = tempfile::tempdir().unwrap();
    let mut process = Process::start(&pool, objects.path()).await;

    let set_up = json!({
        "code": process.code().await, "organizationName": "Acme", "organizationSlug": "acme",
        "name": "Olga Owner", "email": "olga@acme.test",
    });
    let response = process.send(Method::POST, "/auth/setup", "", Some(set_up)).await;
    assert_eq!(response.status(), StatusCode::OK);
    let cookie = response.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();

    let pipeline = json!({ "name": "Shop", "definition": DEFINITION });
    let pipeline = process.data(Method::POST, "/organizations/acme/pipelines", &cookie, Some(pipeline)).await;
    let path = format!("/organizations/acme/pipelines/{}/deployments", pipeline["id"].as_str().unwrap());
    let commit = json!({ "commitId": "9f3c2a1b7d4e8f60512a3b4c5d6e7f8091a2b3c4" });
    let deployment = process.data(Method::POST, &path, &cookie, Some(commit)).await;
    is_dispatched(&process, &cookie, deployment["id"].as_str().unwrap()).await;
    process
        .until(&format!("{}/metrics", process.operator), |_, text| {
            text.contains("greenroom_engine_worker_running 1")
        })
        .await;

    let connections: i64 = sqlx::query_scalar(
        "select count(*) from pg_stat_activity where datname = current_database() and application_name ^@ 'greenroom'",
    )
    .fetch_one(&pool)
    .await
    .unwrap();
    assert!((1..=CONNECTIONS).contains(&connections), "{connections}");

    let (took, rest) = process.stop().await;
    assert!(took >= DRAIN_DELAY && took < STOP_TIMEOUT, "{took:?}");
    assert_eq!(rest, "");
    // With an organization a start prints nothing.
    let (_, printed) = Process::start(&pool, objects.path()).await.stop().await;
    assert_eq!(printed, "");
}
