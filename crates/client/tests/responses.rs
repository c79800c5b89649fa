//! Tests of the client against a server with canned responses, over a real connection.
#![expect(clippy::unwrap_used, reason = "tests may panic")]

use std::time::Duration;

use greenroom_api_types::runner::{Acquire, Complete, Job, StepStart};
use greenroom_client::{Appended, Connection, Error, JobClient, RunnerClient, Settings};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// Responds to one request with given bytes, and records the request.
struct CannedServer {
    base: String,
    request: JoinSet<String>,
}

impl CannedServer {
    async fn respond(response: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}/api/v1", listener.local_addr().unwrap());
        let response = response.to_owned();
        let mut request = JoinSet::new();
        request.spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            while !complete(&request) {
                let mut bytes = vec![0; 4096];
                let count = stream.read(&mut bytes).await.unwrap();
                if count == 0 {
                    break;
                }
                request.extend_from_slice(&bytes[..count]);
            }
            stream.write_all(response.as_bytes()).await.unwrap();
            String::from_utf8_lossy(&request).into_owned()
        });
        CannedServer { base, request }
    }

    async fn problem(status: u16, code: &str, more: &str) -> Self {
        let body = format!(
            r#"{{"type":"/docs/errors/{code}","title":"t","status":{status},"detail":"so it is","code":"{code}","requestId":"r"{more}}}"#
        );
        Self::respond(&with_body(&format!("{status} X"), "", &body)).await
    }

    fn runner(&self) -> RunnerClient {
        let settings =
            Settings { base: self.base.clone(), token: "grr_x".to_owned(), program: "test/1".to_owned() };
        RunnerClient::new(Connection::new(&settings).unwrap())
    }

    fn job(&self) -> JobClient {
        self.runner().job(&job()).unwrap()
    }

    async fn request(mut self) -> String {
        self.request.join_next().await.unwrap().unwrap()
    }
}

/// Returns whether a request is complete.
fn complete(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head
        .lines()
        .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
    body.len() >= length.unwrap_or(0_usize)
}

fn with_body(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n{headers}\r\n{body}", body.len())
}

fn job() -> Job {
    serde_json::from_str(
        r#"{"jobId":"job_1","jobToken":"grj_x","leaseSeconds":30,"heartbeatSeconds":10,"silenceSeconds":20,
            "organizationId":"o","pipelineId":"p","pipeline":"p","deploymentId":"d","stage":"s","attempt":1,
            "source":null,"timeoutSeconds":60,"logLimitBytes":1,"network":"none","inputs":[],"artifacts":[],
            "caches":[],"steps":[]}"#,
    )
    .unwrap()
}

const TIMEOUT: Duration = Duration::from_secs(10);

#[tokio::test]
async fn no_job_is_none() {
    let server = CannedServer::respond("HTTP/1.1 204 No Content\r\n\r\n").await;
    assert!(server.runner().acquire(&Acquire::default()).await.unwrap().is_none());
    let request = server.request().await;
    assert!(request.starts_with("POST /api/v1/runner/jobs/acquire HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("authorization: Bearer grr_x\r\n"), "{request}");
}

#[tokio::test]
async fn a_call_about_a_job_carries_both_tokens() {
    let server = CannedServer::respond(&with_body("200 OK", "", "")).await;
    server.job().complete(&Complete::default()).await.unwrap();
    let request = server.request().await;
    assert!(request.starts_with("POST /api/v1/runner/jobs/job_1/complete HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("authorization: Bearer grr_x\r\n"), "{request}");
    assert!(request.contains("x-greenroom-job-token: grj_x\r\n"), "{request}");
}

#[tokio::test]
async fn gone_is_its_own_error() {
    let server = CannedServer::problem(410, "job_gone", "").await;
    assert!(matches!(server.job().heartbeat(TIMEOUT, false).await, Err(Error::Gone { .. })));
}

#[tokio::test]
async fn an_unknown_value_of_an_open_enum_is_accepted() {
    let body = r#"{"data":{"leaseSeconds":30,"cancel":{"graceSeconds":5,"reason":"budget_exceeded"}}}"#;
    let server = CannedServer::respond(&with_body("200 OK", "", body)).await;
    let cancel = server.job().heartbeat(TIMEOUT, false).await.unwrap().cancel.unwrap();
    assert_eq!((cancel.reason.known(), cancel.reason.as_str()), (None, "budget_exceeded"));
}

#[tokio::test]
async fn a_refusal_has_its_code() {
    let server = CannedServer::problem(409, "fence_outdated", "").await;
    let error = server.job().start_step("stp_1", &StepStart::default()).await.unwrap_err();
    assert_eq!(error.refusal(), Some("fence_outdated"));
}

#[tokio::test]
async fn unavailable_contains_how_long_to_wait() {
    for status in ["429 Too Many Requests", "503 Service Unavailable"] {
        let server = CannedServer::respond(&with_body(status, "retry-after: 7\r\n", "busy")).await;
        let Err(Error::Unavailable { retry_after, .. }) = server.job().heartbeat(TIMEOUT, false).await else {
            panic!("{status}")
        };
        assert_eq!(retry_after, Some(Duration::from_secs(7)));
    }
}

#[tokio::test]
async fn an_incomplete_response_is_unavailable() {
    for response in [
        "",
        "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"data\":",
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}",
    ] {
        let server = CannedServer::respond(response).await;
        let result = server.job().heartbeat(TIMEOUT, false).await;
        assert!(matches!(result, Err(Error::Unavailable { .. })), "{response}: {result:?}");
    }
}

#[tokio::test]
async fn no_server_and_no_response_in_time_are_unavailable() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/api/v1", listener.local_addr().unwrap());
    let settings = Settings { base, token: "x".to_owned(), program: "test".to_owned() };
    let client = RunnerClient::new(Connection::new(&settings).unwrap()).job(&job()).unwrap();
    // The connection succeeds, but there is no response.
    let Err(Error::Unavailable { reason, .. }) = client.heartbeat(Duration::from_millis(100), false).await
    else {
        panic!()
    };
    assert_eq!(reason, "no response in time");
    drop(listener);
    assert!(matches!(client.heartbeat(TIMEOUT, false).await, Err(Error::Unavailable { .. })));
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let elsewhere = CannedServer::respond(&with_body("200 OK", "", "")).await;
    let location = format!("location: {}/x\r\n", elsewhere.base);
    let server = CannedServer::respond(&with_body("307 Temporary Redirect", &location, "")).await;
    assert!(matches!(
        server.job().complete(&Complete::default()).await,
        Err(Error::Refused { status: 307, .. })
    ));
}

#[tokio::test]
async fn appending_to_a_log_sends_the_offset_and_returns_the_expected_one() {
    let at = "2026-11-15T07:06:23.123456Z".parse().unwrap();
    let server = CannedServer::problem(409, "log_offset", r#","expected":42"#).await;
    let appended = server.job().append_log("stp_1", 7, at, "text".into()).await.unwrap();
    assert_eq!(appended, Appended::Expected(42));
    let request = server.request().await;
    assert!(
        request.starts_with("POST /api/v1/runner/jobs/job_1/steps/stp_1/logs?offset=7&at=2026-11-15T07%3A06%3A23.123Z HTTP/1.1\r\n"),
        "{request}"
    );
    assert!(request.ends_with("\r\n\r\ntext"), "{request}");
    let server = CannedServer::respond(&with_body("200 OK", "", r#"{"data":{"bytes":11}}"#)).await;
    assert_eq!(server.job().append_log("stp_1", 7, at, "text".into()).await.unwrap(), Appended::Taken(11));
}

#[tokio::test]
async fn a_missing_cache_is_none_and_its_key_is_one_path_segment() {
    let server = CannedServer::problem(404, "not_found", "").await;
    let file = std::env::temp_dir().join(format!("greenroom-client-{}", std::process::id()));
    assert_eq!(server.job().get_cache("a/b c", &file).await.unwrap(), None);
    let request = server.request().await;
    assert!(request.starts_with("GET /api/v1/runner/jobs/job_1/caches/a%2Fb%20c HTTP/1.1\r\n"), "{request}");
}
