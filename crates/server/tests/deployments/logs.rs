//! Logs are stored byte for byte, whatever chunks the runner sends.

use futures_util::StreamExt;
use reqwest::header::RANGE;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::fixture::{DeploymentFixture, Job};
use crate::runs::DIAMOND;
use crate::support::TestServer;
use crate::support::database::TestDatabase;

pub struct LogFixture {
    pub fixture: DeploymentFixture,
    pub job: Job,
    pub step: String,
    pub url: String,
}

/// Starts a step, whose log is empty.
pub async fn started(pool: &PgPool) -> LogFixture {
    started_on(TestServer::start(pool).await).await
}

pub async fn started_on(server: TestServer) -> LogFixture {
    let fixture = DeploymentFixture::on(server, DIAMOND).await;
    let id = fixture.start().await;
    let job = fixture.take(&fixture.advance(&id).await).await;
    let step = job.steps[0].clone();
    assert_eq!(fixture.report(&job, &format!("/steps/{step}/start"), json!({})).await.0, 200);
    let url = format!("{}/organizations/acme/deployments/{id}/steps/{step}/logs", fixture.server.base);
    LogFixture { fixture, job, step, url }
}

impl LogFixture {
    pub async fn append(&self, offset: u64, bytes: &[u8]) -> (u16, Value) {
        self.fixture.log(&self.job, &self.step, offset, bytes.to_vec()).await
    }

    async fn read(&self, range: Option<&str>) -> (u16, Vec<u8>) {
        let mut request = self.fixture.server.client.get(&self.url).bearer_auth(&self.fixture.owner.token);
        if let Some(range) = range {
            request = request.header(RANGE, range);
        }
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.bytes().await.unwrap().to_vec())
    }
}

#[tokio::test]
async fn repeated_and_overlapping_chunks_are_stored_once() {
    let (_database, pool) = TestDatabase::create().await;
    let log = started(&pool).await;
    assert_eq!(log.append(0, b"hello ").await.1["data"]["bytes"], 6);
    assert_eq!(log.append(0, b"hello ").await.1["data"]["bytes"], 6);
    assert_eq!(log.append(3, b"lo world").await.1["data"]["bytes"], 11);
    let (status, response) = log.append(20, b"!").await;
    assert_eq!(
        (status, response["code"].as_str(), &response["expected"]),
        (409, Some("log_offset"), &json!(11))
    );
    assert_eq!(log.read(None).await, (200, b"hello world".to_vec()));
    assert_eq!(log.read(Some("bytes=6-8")).await, (206, b"wor".to_vec()));
    assert_eq!(log.read(Some("bytes=-5")).await, (206, b"world".to_vec()));
    assert_eq!(log.read(Some("lines=1-2")).await.0, 400);
    let behind = log.fixture.server.client.get(&log.url).bearer_auth(&log.fixture.owner.token);
    let behind = behind.header(RANGE, "bytes=11-").send().await.unwrap();
    let header = |name: &str| behind.headers()[name].to_str().unwrap().to_owned();
    assert_eq!((behind.status().as_u16(), header("content-range").as_str()), (416, "bytes */11"));
    assert_eq!(header("x-log-complete"), "false");
    let response: Value = behind.json().await.unwrap();
    assert_eq!(
        (response["code"].as_str(), response["bytes"].as_i64()),
        (Some("range_not_satisfiable"), Some(11))
    );

    let end = json!({ "status": "succeeded", "exitCode": 0, "logBytes": 12 });
    let (status, response) = log.fixture.report(&log.job, &format!("/steps/{}/end", log.step), end).await;
    assert_eq!(
        (status, &response["expected"]),
        (409, &json!(11)),
        "a step does not end before its log is complete"
    );
    log.fixture.end().await;
}

#[tokio::test]
async fn small_and_large_chunks_make_one_log() {
    let (_database, pool) = TestDatabase::create().await;
    let log = started(&pool).await;
    let mut all = Vec::new();
    let mut number = 7_u32;
    // In turns: small chunks, which are gathered, and large ones, which become objects immediately.
    for round in 0..60 {
        let length = if round % 20 < 15 { 90_000 } else { 700_000 };
        let chunk: Vec<u8> = (0..length)
            .map(|_| {
                number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (number >> 24) as u8
            })
            .collect();
        let (status, response) = log.append(all.len() as u64, &chunk).await;
        all.extend_from_slice(&chunk);
        assert_eq!((status, response["data"]["bytes"].as_u64()), (200, Some(all.len() as u64)));
    }
    assert!(log.read(None).await.1 == all, "the log differs from what was written");
    let range = log.read(Some("bytes=1000000-3000000")).await.1;
    assert!(range == all[1_000_000..=3_000_000], "a range differs from what was written");
    let loose: i64 = sqlx::query_scalar("select coalesce(sum(length(content)), 0)::bigint from log_segments")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert!(loose < 3 * 1024 * 1024, "{loose} bytes are still in the database");
    log.fixture.end().await;
}

#[tokio::test]
async fn a_stream_resumes_where_it_ended() {
    let (_database, pool) = TestDatabase::create().await;
    let log = started(&pool).await;
    log.append(0, "erste Zeile: ä\n".as_bytes()).await;
    let url = format!("{}/stream", log.url);
    let request = log.fixture.server.client.get(&url).bearer_auth(&log.fixture.owner.token);
    let response = request.header("last-event-id", "7").send().await.unwrap();
    let mut stream = response.bytes_stream();
    let mut text = String::new();
    while !text.contains("ä") {
        text.push_str(std::str::from_utf8(&stream.next().await.unwrap().unwrap()).unwrap());
    }
    assert!(text.contains("\"seq\":7") && text.contains("eile: ä"), "{text}");
    log.append(16, b"zweite\n").await;
    let end = json!({ "status": "succeeded", "exitCode": 0, "logBytes": 23 });
    log.fixture.report(&log.job, &format!("/steps/{}/end", log.step), end).await;
    while let Some(Ok(part)) = stream.next().await {
        text.push_str(std::str::from_utf8(&part).unwrap());
    }
    assert!(text.contains("zweite") && text.contains("event: end"), "{text}");
    log.fixture.end().await;
}
