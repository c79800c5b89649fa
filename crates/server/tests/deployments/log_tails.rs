//! Streams of logs: an idle stream costs nothing, and a log wakes only its own streams, which share one read.

use std::time::Duration;

use futures_util::future::join_all;
use reqwest::{Method, Response};
use serde_json::json;
use sqlx::PgPool;

use crate::fixture::{DeploymentFixture, Job};
use crate::support::TestServer;
use crate::support::database::TestDatabase;

const DEFINITION: &str = "stages: { build: { steps: [{ image: a, run: b }] } }";
/// Fewer than the limit for one token.
const STREAMS: usize = 90;
const APPENDED: usize = 20;
const WINDOW: Duration = Duration::from_secs(3);
const TIMEOUT: Duration = Duration::from_secs(10);

struct Step {
    job: Job,
    id: String,
    /// The path of the stream of its log.
    path: String,
}

/// Starts a step.
async fn running(fixture: &DeploymentFixture) -> Step {
    let deployment = fixture.start().await;
    let job = fixture.take(&fixture.advance(&deployment).await).await;
    let id = job.steps[0].clone();
    assert_eq!(fixture.report(&job, &format!("/steps/{id}/start"), json!({})).await.0, 200);
    let path = format!("/organizations/acme/deployments/{deployment}/steps/{id}/logs/stream");
    Step { job, id, path }
}

async fn follow(server: &TestServer, token: &str, step: &Step) -> Stream {
    let response = server.send(Method::GET, &step.path, Some(token), None).await;
    assert_eq!(response.status(), 200);
    Stream { response, text: String::new() }
}

struct Stream {
    response: Response,
    text: String,
}

impl Stream {
    /// Reads until the text has arrived.
    async fn until(&mut self, text: &str) {
        let read = async {
            while !self.text.contains(text) {
                let chunk = self.response.chunk().await.unwrap();
                self.text.push_str(std::str::from_utf8(&chunk.unwrap()).unwrap());
            }
        };
        assert!(tokio::time::timeout(TIMEOUT, read).await.is_ok(), "there is no `{text}`");
    }
}

/// Returns the number of transactions in this database so far.
async fn transactions(pool: &PgPool) -> i64 {
    let query = "select xact_commit + xact_rollback from pg_stat_database where datname = current_database()";
    sqlx::query_scalar(query).fetch_one(pool).await.unwrap()
}

/// Returns the number of transactions within `WINDOW`. PostgreSQL updates its counters with a delay of up to
/// a second.
async fn transactions_in_a_while(pool: &PgPool) -> i64 {
    let before = transactions(pool).await;
    tokio::time::sleep(WINDOW).await;
    transactions(pool).await - before
}

#[tokio::test]
async fn waits_idle_streams_cost_no_query_and_a_log_wakes_only_its_own_streams() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DEFINITION).await;
    let (watched, other) = (running(&fixture).await, running(&fixture).await);
    let without = transactions_in_a_while(&pool).await;
    let token = &fixture.owner.token;
    let mut streams = Vec::new();
    for _ in 0..STREAMS {
        streams.push(follow(&fixture.server, token, &watched).await);
    }
    // By then the transactions of opening the streams are counted.
    transactions_in_a_while(&pool).await;
    let idle = transactions_in_a_while(&pool).await;
    assert!(idle < without + 100, "{idle} transactions with idle streams, {without} without");

    // Another log grows: it does not wake them.
    let before = transactions(&pool).await;
    for number in 0..APPENDED {
        let (status, response) =
            fixture.log(&other.job, &other.id, 7 * number as u64, b"a line\n".to_vec()).await;
        assert_eq!(status, 200, "{response}");
    }
    tokio::time::sleep(WINDOW).await;
    let appending = transactions(&pool).await - before;
    assert!(appending < 2 * without + 300, "{appending} transactions while another log grew");

    // Their own log grows: each stream gets all of it, and it is read once for all.
    let before = transactions(&pool).await;
    for number in 0..APPENDED {
        let line = format!("line {number:2}\n").into_bytes();
        assert_eq!(fixture.log(&watched.job, &watched.id, 8 * number as u64, line).await.0, 200);
    }
    join_all(streams.iter_mut().map(|stream| stream.until("line 19"))).await;
    for stream in &streams {
        let lines: Vec<usize> = (0..APPENDED)
            .filter(|number| stream.text.matches(&format!("line {number:2}")).count() == 1)
            .collect();
        assert_eq!(lines.len(), APPENDED, "{}", stream.text);
    }
    tokio::time::sleep(WINDOW).await;
    let following = transactions(&pool).await - before;
    assert!(following < 3 * without + 500, "{following} transactions while {STREAMS} streams followed");
    fixture.end().await;
}

#[tokio::test]
async fn a_stream_sends_logs_that_another_server_stores() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DEFINITION).await;
    let step = running(&fixture).await;
    let other = TestServer::start(&pool).await;
    let mut stream = follow(&other, &fixture.owner.token, &step).await;
    assert_eq!(fixture.log(&step.job, &step.id, 0, b"first\n".to_vec()).await.0, 200);
    stream.until("first").await;
    assert_eq!(fixture.log(&step.job, &step.id, 6, b"second\n".to_vec()).await.0, 200);
    stream.until("second").await;
    let end = json!({ "status": "succeeded", "exitCode": 0, "logBytes": 13 });
    assert_eq!(fixture.report(&step.job, &format!("/steps/{}/end", step.id), end).await.0, 200);
    stream.until("event: end").await;
    other.server.stop(Duration::ZERO).await;
    fixture.end().await;
}

#[tokio::test]
async fn a_character_split_across_chunks_is_sent_whole() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DEFINITION).await;
    let step = running(&fixture).await;
    let mut stream = follow(&fixture.server, &fixture.owner.token, &step).await;
    assert_eq!(fixture.log(&step.job, &step.id, 0, b"gr\xc3".to_vec()).await.0, 200);
    stream.until("\"gr\"").await;
    assert_eq!(fixture.log(&step.job, &step.id, 3, b"\xbcn\n".to_vec()).await.0, 200);
    stream.until("\"ün\\n\"").await;
    // An incomplete character at the end is sent as it is.
    assert_eq!(fixture.log(&step.job, &step.id, 6, b"end\xc3".to_vec()).await.0, 200);
    let end = json!({ "status": "succeeded", "exitCode": 0, "logBytes": 10 });
    assert_eq!(fixture.report(&step.job, &format!("/steps/{}/end", step.id), end).await.0, 200);
    stream.until("event: end").await;
    assert!(
        stream.text.contains("\"text\":\"\u{fffd}\"") && stream.text.contains("id: 10"),
        "{}",
        stream.text
    );
    fixture.end().await;
}
