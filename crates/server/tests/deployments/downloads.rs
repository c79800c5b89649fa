//! Downloads: one chunk at a time, a limited number of concurrent ones, and they end with their token.

use std::time::Duration;

use greenroom_app::authentication::Found;
use greenroom_app::limits::Class;
use greenroom_app::live::stream_rights::RightsWatch;
use greenroom_domain::token::TokenSecret;
use greenroom_worker::log_reader::READ_BYTES;
use reqwest::{Method, Response};
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::fixture::{DeploymentFixture, Job};
use crate::support::database::TestDatabase;
use crate::support::{Caller, eventually};

const DEFINITION: &str = r#"
stages:
  build:
    artifacts: [out]
    steps: [{ image: a, run: "true" }]
"#;
const MIB: usize = 1024 * 1024;
/// More than the buffers between a server and a client that does not read.
const LOG_MIB: usize = 48;
const TIMEOUT: Duration = Duration::from_secs(5);

struct LogFixture {
    fixture: DeploymentFixture,
    job: Job,
    deployment: String,
    step: String,
}

/// Creates a step with a log of this many MiB.
async fn fixture_with_log(pool: &PgPool, mib: usize) -> LogFixture {
    let fixture = DeploymentFixture::new(pool, DEFINITION).await;
    let deployment = fixture.start().await;
    let job = fixture.take(&fixture.advance(&deployment).await).await;
    let step = job.steps[0].clone();
    assert_eq!(fixture.report(&job, &format!("/steps/{step}/start"), json!({})).await.0, 200);
    for number in 0..mib {
        let (status, response) = fixture.log(&job, &step, (number * MIB) as u64, vec![b'x'; MIB]).await;
        assert_eq!(status, 200, "{response}");
    }
    LogFixture { fixture, job, deployment, step }
}

impl LogFixture {
    async fn download(&self, caller: &Caller) -> Response {
        let path = format!("/organizations/acme/deployments/{}/steps/{}/logs", self.deployment, self.step);
        self.fixture.server.send(Method::GET, &path, Some(&caller.token), None).await
    }

    /// Returns the watch over the token of the downloads. It ends with the token.
    async fn watch(&self, caller: &Caller) -> RightsWatch {
        let app = &self.fixture.server.server.app;
        let secret: TokenSecret = caller.token.parse().unwrap();
        let found = app.authentication.principal(secret.hash(), Class::General).await.unwrap();
        let principal = match found {
            Found::Valid(principal) => Some(principal),
            Found::Rejected { .. } => None,
        };
        app.stream_rights.watch(&principal.unwrap())
    }

    /// Creates a second token of the owner.
    async fn second_token(&self) -> Caller {
        let (status, made) =
            self.fixture.call(Method::POST, "/api-tokens", json!({ "name": "second" })).await;
        assert_eq!(status, 201, "{made}");
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let (token, token_id) = (text(&made["data"]["token"]), text(&made["data"]["id"]));
        Caller { token, token_id, ..self.fixture.owner.clone() }
    }
}

/// Reads to the end and returns the number of bytes; `Err` if the connection broke.
async fn read_to_end(mut response: Response) -> Result<usize, usize> {
    let mut bytes = 0;
    loop {
        match tokio::time::timeout(TIMEOUT, response.chunk()).await {
            Ok(Ok(Some(chunk))) => bytes += chunk.len(),
            Ok(Ok(None)) => return Ok(bytes),
            Ok(Err(_)) => return Err(bytes),
            // No byte arrived in time.
            Err(_) => return Err(usize::MAX),
        }
    }
}

#[tokio::test]
async fn a_reader_receives_one_bounded_chunk_at_a_time() {
    let (_database, pool) = TestDatabase::create().await;
    let log = fixture_with_log(&pool, 2).await;
    let (app, step) = (&log.fixture.server.server.app, log.step.parse().unwrap());
    // Small chunks after the large ones are sent together.
    let mut end = 2 * MIB as u64;
    for _ in 0..40 {
        assert_eq!(log.fixture.log(&log.job, &log.step, end, vec![b'y'; 20_000]).await.0, 200);
        end += 20_000;
    }
    let (mut at, mut reads) = (0, 0);
    while at < end {
        let parts =
            app.log_reader().read_parts(log.fixture.organization(), step, at..end, READ_BYTES).await.unwrap();
        let read: u64 = parts.iter().map(|part| part.bytes.len() as u64).sum();
        assert!(read > 0 && read <= READ_BYTES, "{read} bytes at {at}");
        assert!(parts.iter().all(|part| part.start >= at));
        at += read;
        reads += 1;
    }
    assert!(reads <= 14, "{reads} reads");
    log.fixture.end().await;
}

#[tokio::test]
async fn a_download_ends_with_its_token() {
    let (_database, pool) = TestDatabase::create().await;
    let log = fixture_with_log(&pool, LOG_MIB).await;
    let second = log.second_token().await;
    let (kept, cut) = (log.download(&log.fixture.owner).await, log.download(&second).await);
    assert_eq!((kept.status().as_u16(), cut.status().as_u16()), (200, 200));
    let watch = log.watch(&second).await;
    let path = format!("/api-tokens/{}", second.token_id);
    assert_eq!(log.fixture.call(Method::DELETE, &path, Value::Null).await.0, 200);
    tokio::time::timeout(TIMEOUT, watch.ended()).await.unwrap();
    let read = read_to_end(cut).await;
    assert!(read.is_err_and(|bytes| bytes < LOG_MIB * MIB / 2), "{read:?} bytes came after the revocation");
    assert_eq!(read_to_end(kept).await, Ok(LOG_MIB * MIB));
    log.fixture.end().await;
}

#[tokio::test]
async fn a_download_ends_with_its_membership() {
    let (_database, pool) = TestDatabase::create().await;
    let log = fixture_with_log(&pool, LOG_MIB).await;
    let member = log.fixture.server.member(&log.fixture.owner, "acme", "viewer").await;
    let cut = log.download(&member).await;
    assert_eq!(cut.status(), 200);
    let watch = log.watch(&member).await;
    let path = format!("/members/{}", member.user);
    assert_eq!(log.fixture.call(Method::DELETE, &path, Value::Null).await.0, 200);
    tokio::time::timeout(TIMEOUT, watch.ended()).await.unwrap();
    let read = read_to_end(cut).await;
    assert!(read.is_err_and(|bytes| bytes < LOG_MIB * MIB / 2), "{read:?} bytes came after the removal");
    log.fixture.end().await;
}

#[tokio::test]
async fn a_runners_download_ends_with_its_token() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DEFINITION).await;
    let job = fixture.job_of(&fixture.pipeline).await;
    let put = fixture.request_by(Method::PUT, &job, "/artifact").body(vec![0; LOG_MIB * MIB]);
    assert_eq!(put.send().await.unwrap().status(), 200);
    let id: String = sqlx::query_scalar("select 'art_' || id from artifacts").fetch_one(&pool).await.unwrap();
    let get = || fixture.request_by(Method::GET, &job, &format!("/artifacts/{id}")).send();
    let (whole, cut) = (get().await.unwrap(), get().await.unwrap());
    assert_eq!((whole.status().as_u16(), cut.status().as_u16()), (200, 200));
    assert_eq!(read_to_end(whole).await, Ok(LOG_MIB * MIB));
    let watch = fixture.server.server.app.stream_rights.watch_runner(&fixture.runner);
    let path = format!("/runners/{}", fixture.runner.id);
    assert_eq!(fixture.call(Method::DELETE, &path, Value::Null).await.0, 200);
    tokio::time::timeout(TIMEOUT, watch.ended()).await.unwrap();
    let read = read_to_end(cut).await;
    assert!(read.is_err_and(|bytes| bytes < LOG_MIB * MIB / 2), "{read:?} bytes came after the revocation");
    fixture.end().await;
}

#[tokio::test]
async fn concurrent_downloads_of_a_token_are_limited() {
    let (_database, pool) = TestDatabase::create().await;
    let log = fixture_with_log(&pool, LOG_MIB).await;
    let second = log.second_token().await;
    let mut unread = Vec::new();
    let refused = loop {
        let response = log.download(&log.fixture.owner).await;
        if response.status() != 200 || unread.len() > 100 {
            break response;
        }
        unread.push(response);
    };
    assert_eq!((refused.status().as_u16(), unread.len()), (429, 16));
    assert_eq!(refused.headers()["retry-after"], "1");
    let refused: Value = refused.json().await.unwrap();
    assert_eq!(refused["code"], "rate_limited");
    assert_eq!(log.download(&second).await.status(), 200, "another token has its own limit");
    drop(unread);
    let again = || async { log.download(&log.fixture.owner).await.status() == 200 };
    assert!(eventually(TIMEOUT, again).await, "a closed download still counts");
    log.fixture.end().await;
}
