//! Streams of logs: an idle one costs nothing, and a log wakes its own streams only, which share what is read of it.

use std::time::Duration;

use futures_util::future::join_all;
use reqwest::{Method, Response};
use serde_json::json;
use sqlx::PgPool;

use crate::support::TestServer;
use crate::yard::{Job, Yard};

const DEFINITION: &str = "stages: { build: { steps: [{ image: a, run: b }] } }";
/// Less than a token may have.
const STREAMS: usize = 90;
const APPENDED: usize = 20;
const WINDOW: Duration = Duration::from_secs(3);
const SOON: Duration = Duration::from_secs(10);

struct Step {
    job: Job,
    id: String,
    /// Of the stream of its log, below the address of a server.
    path: String,
}

/// A step that runs.
async fn running(yard: &Yard) -> Step {
    let deployment = yard.start().await;
    let job = yard.take(&yard.advance(&deployment).await).await;
    let id = job.steps[0].clone();
    assert_eq!(yard.say(&job, &format!("/steps/{id}/start"), json!({})).await.0, 200);
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
    /// Reads until the text is there.
    async fn until(&mut self, text: &str) {
        let read = async {
            while !self.text.contains(text) {
                let chunk = self.response.chunk().await.unwrap();
                self.text.push_str(std::str::from_utf8(&chunk.unwrap()).unwrap());
            }
        };
        assert!(tokio::time::timeout(SOON, read).await.is_ok(), "there is no `{text}`");
    }
}

/// How many transactions there were in this database.
async fn transactions(pool: &PgPool) -> i64 {
    let query = "select xact_commit + xact_rollback from pg_stat_database where datname = current_database()";
    sqlx::query_scalar(query).fetch_one(pool).await.unwrap()
}

/// How many there are in a while. PostgreSQL counts with a delay of up to a second.
async fn transactions_in_a_while(pool: &PgPool) -> i64 {
    let before = transactions(pool).await;
    tokio::time::sleep(WINDOW).await;
    transactions(pool).await - before
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn heavy_an_idle_stream_costs_no_query_and_a_log_wakes_its_own_only(pool: PgPool) {
    let yard = Yard::new(&pool, DEFINITION).await;
    let (watched, other) = (running(&yard).await, running(&yard).await);
    let without = transactions_in_a_while(&pool).await;
    let token = &yard.owner.token;
    let mut streams = Vec::new();
    for _ in 0..STREAMS {
        streams.push(follow(&yard.server, token, &watched).await);
    }
    // What opening them took is counted by then.
    transactions_in_a_while(&pool).await;
    let idle = transactions_in_a_while(&pool).await;
    assert!(idle < without + 100, "{idle} transactions with idle streams, {without} without");

    // Another log grows: nothing of it reaches them.
    let before = transactions(&pool).await;
    for number in 0..APPENDED {
        let (status, answer) = yard.log(&other.job, &other.id, 7 * number as u64, b"a line\n".to_vec()).await;
        assert_eq!(status, 200, "{answer}");
    }
    tokio::time::sleep(WINDOW).await;
    let appending = transactions(&pool).await - before;
    assert!(appending < 2 * without + 300, "{appending} transactions while another log grew");

    // Their own grows: each gets all of it, and it is read once for all.
    let before = transactions(&pool).await;
    for number in 0..APPENDED {
        let line = format!("line {number:2}\n").into_bytes();
        assert_eq!(yard.log(&watched.job, &watched.id, 8 * number as u64, line).await.0, 200);
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
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_stream_follows_what_another_server_stores(pool: PgPool) {
    let yard = Yard::new(&pool, DEFINITION).await;
    let step = running(&yard).await;
    let other = TestServer::start(&pool).await;
    let mut stream = follow(&other, &yard.owner.token, &step).await;
    assert_eq!(yard.log(&step.job, &step.id, 0, b"first\n".to_vec()).await.0, 200);
    stream.until("first").await;
    assert_eq!(yard.log(&step.job, &step.id, 6, b"second\n".to_vec()).await.0, 200);
    stream.until("second").await;
    let end = json!({ "status": "succeeded", "exitCode": 0, "logBytes": 13 });
    assert_eq!(yard.say(&step.job, &format!("/steps/{}/end", step.id), end).await.0, 200);
    stream.until("event: end").await;
    other.server.stop(Duration::ZERO).await;
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_character_in_two_pieces_is_not_torn(pool: PgPool) {
    let yard = Yard::new(&pool, DEFINITION).await;
    let step = running(&yard).await;
    let mut stream = follow(&yard.server, &yard.owner.token, &step).await;
    assert_eq!(yard.log(&step.job, &step.id, 0, b"gr\xc3".to_vec()).await.0, 200);
    stream.until("\"gr\"").await;
    assert_eq!(yard.log(&step.job, &step.id, 3, b"\xbcn\n".to_vec()).await.0, 200);
    stream.until("\"ün\\n\"").await;
    // One whose rest never comes shows as what it is.
    assert_eq!(yard.log(&step.job, &step.id, 6, b"end\xc3".to_vec()).await.0, 200);
    let end = json!({ "status": "succeeded", "exitCode": 0, "logBytes": 10 });
    assert_eq!(yard.say(&step.job, &format!("/steps/{}/end", step.id), end).await.0, 200);
    stream.until("event: end").await;
    assert!(
        stream.text.contains("\"text\":\"\u{fffd}\"") && stream.text.contains("id: 10"),
        "{}",
        stream.text
    );
    yard.end().await;
}
