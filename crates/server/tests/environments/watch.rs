//! The stream of one environment: it sends only its events, and keeps the place in the queue of the session
//! it is opened for.

use std::time::Duration;

use reqwest::{Method, Response};
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::fixture::EnvironmentFixture;
use crate::support::database::TestDatabase;
use crate::support::{Caller, eventually};

const TIMEOUT: Duration = Duration::from_secs(5);

struct WatchStream {
    response: Response,
    text: String,
}

impl WatchStream {
    async fn open(fixture: &EnvironmentFixture, caller: &Caller, query: &str) -> Self {
        let path = format!(
            "/organizations/acme/pipelines/{}/ephemeral-environments/qa-1/events{query}",
            fixture.pipeline
        );
        let response = fixture.server.send(Method::GET, &path, Some(&caller.token), None).await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Self { response, text: String::new() }
    }

    /// The next event: its type and its data.
    async fn next(&mut self) -> (String, Value) {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.text = rest;
                let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
                if let (Some(event), Some(data)) = (field("event: "), field("data: ")) {
                    return (event.to_owned(), serde_json::from_str(data).unwrap());
                }
                continue;
            }
            let chunk = tokio::time::timeout(TIMEOUT, self.response.chunk()).await;
            self.text += &String::from_utf8_lossy(&chunk.unwrap().unwrap().unwrap());
        }
    }
}

#[tokio::test]
async fn a_stream_sends_events_of_its_environment_and_resumes() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let mut watching = WatchStream::open(&fixture, &fixture.mate, "").await;
    fixture.send(&fixture.dev, Method::POST, "//pr-1/sessions", json!({})).await.is(201);
    let session = fixture.claim(&fixture.dev, json!({})).await.session();
    fixture.send(&fixture.dev, Method::POST, "//pr-2/sessions", json!({})).await.is(201);
    fixture.delete(&fixture.dev, &format!("/sessions/{session}")).await.is(200);
    let (first, data) = watching.next().await;
    assert_eq!(
        (first.as_str(), data["data"]["after"]["sessionId"].as_str()),
        ("session.claimed", Some(&*session))
    );
    assert_eq!(data["subject"], format!("pipelines/{}/ephemeral-environments/qa-1", fixture.pipeline));
    assert_eq!(watching.next().await.0, "session.released");
    drop(watching);
    let mut again = WatchStream::open(&fixture, &fixture.mate, &format!("?after={}", data["sequence"])).await;
    assert_eq!(again.next().await.0, "session.released");
    fixture.get(&fixture.dev, "//pr-9/events").await.is(404);
    assert_eq!(fixture.get(&fixture.dev, "/events?after=-1").await.is(422)["code"], "invalid_request");
    assert_eq!(fixture.get(&fixture.dev, "/events?type=x").await.is(422)["code"], "invalid_request");
    fixture.end().await;
}

#[tokio::test]
async fn a_stream_keeps_the_place_of_its_session() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let held = fixture.claim(&fixture.dev, json!({})).await.session();
    let waiting = fixture.claim(&fixture.mate, json!({ "queue": true })).await.session();
    let silent = fixture.claim(&fixture.owner, json!({ "queue": true })).await.session();
    fixture.age(100).await;
    // A stream without a session keeps no place.
    let idle = WatchStream::open(&fixture, &fixture.owner, "").await;
    let query = format!("?sessionId={waiting}");
    let watching = WatchStream::open(&fixture, &fixture.mate, &query).await;
    // Its place is kept as soon as the stream is open.
    assert!(eventually(TIMEOUT, async || seconds_since_heartbeat(&pool, &waiting).await < 50.0).await);
    assert!(seconds_since_heartbeat(&pool, &silent).await > 99.0);
    fixture.age(30).await;
    fixture.sweep().await;
    let status = async |session: &str| {
        fixture.get(&fixture.dev, &format!("/sessions/{session}")).await.is(200)["data"]["status"].clone()
    };
    assert_eq!(status(&waiting).await, "queued");
    assert_eq!(status(&silent).await, "canceled");
    // A stream does not confirm a grant.
    fixture.delete(&fixture.dev, &format!("/sessions/{held}")).await.is(200);
    let store = &fixture.server.server.app.store;
    let second = WatchStream::open(&fixture, &fixture.mate, &query).await;
    assert!(eventually(TIMEOUT, async || status(&waiting).await == "active").await);
    let at: (uuid::Uuid, uuid::Uuid) =
        sqlx::query_as("select organization_id, id from environments where name = 'qa-1'")
            .fetch_one(&pool)
            .await
            .unwrap();
    store.record_watcher_heartbeats(at.0.into(), at.1.into(), &[waiting.parse().unwrap()]).await.unwrap();
    let confirmed: bool = sqlx::query_scalar("select confirmed from environments where name = 'qa-1'")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert!(!confirmed);
    drop((idle, watching, second));
    fixture.end().await;
}

#[tokio::test]
async fn a_stream_keeps_no_other_place_in_the_queue() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    fixture.claim(&fixture.dev, json!({})).await.is(201);
    let bot = fixture.token(&fixture.mate, json!({ "name": "bot", "kind": "ci" })).await;
    let first = fixture.claim(&bot, json!({ "queue": true })).await.session();
    let second = fixture.claim(&bot, json!({ "queue": true })).await.session();
    for (by, session, status) in [
        (&fixture.owner, first.as_str(), 403),
        (&fixture.mate, "ses_00000000-0000-7000-8000-000000000000", 404),
        (&fixture.mate, "x", 404),
    ] {
        fixture.get(by, &format!("/events?sessionId={session}")).await.is(status);
    }
    fixture.age(100).await;
    let watching = WatchStream::open(&fixture, &bot, &format!("?sessionId={first}")).await;
    assert!(eventually(TIMEOUT, async || seconds_since_heartbeat(&pool, &first).await < 50.0).await);
    assert!(
        seconds_since_heartbeat(&pool, &second).await > 99.0,
        "the other session of the same user is unchanged"
    );
    drop(watching);
    fixture.end().await;
}

/// Returns the seconds since the last heartbeat of a waiting session.
async fn seconds_since_heartbeat(pool: &PgPool, session: &str) -> f64 {
    sqlx::query_scalar(
        "select extract(epoch from clock_timestamp() - heard_at)::float8 from sessions
         where 'ses_' || id = $1 and status = 'queued'",
    )
    .bind(session)
    .fetch_one(pool)
    .await
    .unwrap()
}
