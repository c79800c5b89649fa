//! One environment, watched: its events and no others, and the place in the queue of the session that the stream is for.

use std::time::Duration;

use reqwest::{Method, Response};
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::site::Site;
use crate::support::{Caller, eventually};

const SOON: Duration = Duration::from_secs(5);

struct Watching {
    response: Response,
    text: String,
}

impl Watching {
    async fn open(site: &Site, caller: &Caller, query: &str) -> Self {
        let path = format!(
            "/organizations/acme/pipelines/{}/ephemeral-environments/qa-1/events{query}",
            site.pipeline
        );
        let response = site.server.send(Method::GET, &path, Some(&caller.token), None).await;
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
            let chunk = tokio::time::timeout(SOON, self.response.chunk()).await;
            self.text += &String::from_utf8_lossy(&chunk.unwrap().unwrap().unwrap());
        }
    }
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn it_shows_this_environment_and_resumes(pool: PgPool) {
    let site = Site::new(&pool).await;
    let mut watching = Watching::open(&site, &site.mate, "").await;
    site.send(&site.dev, Method::POST, "//pr-1/sessions", json!({})).await.is(201);
    let session = site.claim(&site.dev, json!({})).await.session();
    site.send(&site.dev, Method::POST, "//pr-2/sessions", json!({})).await.is(201);
    site.delete(&site.dev, &format!("/sessions/{session}")).await.is(200);
    let (first, data) = watching.next().await;
    assert_eq!(
        (first.as_str(), data["data"]["after"]["sessionId"].as_str()),
        ("session.claimed", Some(&*session))
    );
    assert_eq!(data["subject"], format!("pipelines/{}/ephemeral-environments/qa-1", site.pipeline));
    assert_eq!(watching.next().await.0, "session.released");
    drop(watching);
    let mut again = Watching::open(&site, &site.mate, &format!("?after={}", data["sequence"])).await;
    assert_eq!(again.next().await.0, "session.released");
    site.get(&site.dev, "//pr-9/events").await.is(404);
    assert_eq!(site.get(&site.dev, "/events?after=-1").await.is(422)["code"], "invalid_request");
    assert_eq!(site.get(&site.dev, "/events?type=x").await.is(422)["code"], "invalid_request");
    site.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_stream_keeps_the_place_of_its_session(pool: PgPool) {
    let site = Site::new(&pool).await;
    let held = site.claim(&site.dev, json!({})).await.session();
    let waiting = site.claim(&site.mate, json!({ "queue": true })).await.session();
    let silent = site.claim(&site.owner, json!({ "queue": true })).await.session();
    site.age(100).await;
    // A stream without a session keeps nobody's place.
    let idle = Watching::open(&site, &site.owner, "").await;
    let query = format!("?sessionId={waiting}");
    let watching = Watching::open(&site, &site.mate, &query).await;
    // Its place is kept as soon as the stream is open.
    assert!(eventually(SOON, async || silence(&pool, &waiting).await < 50.0).await);
    assert!(silence(&pool, &silent).await > 99.0);
    site.age(30).await;
    site.sweep().await;
    let status = async |session: &str| {
        site.get(&site.dev, &format!("/sessions/{session}")).await.is(200)["data"]["status"].clone()
    };
    assert_eq!(status(&waiting).await, "queued");
    assert_eq!(status(&silent).await, "canceled");
    // Granted, it has a first lease: a stream does not confirm it.
    site.delete(&site.dev, &format!("/sessions/{held}")).await.is(200);
    let store = &site.server.server.app.store;
    let second = Watching::open(&site, &site.mate, &query).await;
    assert!(eventually(SOON, async || status(&waiting).await == "active").await);
    let at: (uuid::Uuid, uuid::Uuid) =
        sqlx::query_as("select organization_id, id from environments where name = 'qa-1'")
            .fetch_one(&pool)
            .await
            .unwrap();
    store.attend((at.0.into(), at.1.into()), &[waiting.parse().unwrap()]).await.unwrap();
    let confirmed: bool = sqlx::query_scalar("select confirmed from environments where name = 'qa-1'")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert!(!confirmed);
    drop((idle, watching, second));
    site.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_stream_keeps_no_other_place(pool: PgPool) {
    let site = Site::new(&pool).await;
    site.claim(&site.dev, json!({})).await.is(201);
    let bot = site.token(&site.mate, json!({ "name": "bot", "kind": "ci" })).await;
    let first = site.claim(&bot, json!({ "queue": true })).await.session();
    let second = site.claim(&bot, json!({ "queue": true })).await.session();
    for (by, session, status) in [
        (&site.owner, first.as_str(), 403),
        (&site.mate, "ses_00000000-0000-7000-8000-000000000000", 404),
        (&site.mate, "x", 404),
    ] {
        site.get(by, &format!("/events?sessionId={session}")).await.is(status);
    }
    site.age(100).await;
    let watching = Watching::open(&site, &bot, &format!("?sessionId={first}")).await;
    assert!(eventually(SOON, async || silence(&pool, &first).await < 50.0).await);
    assert!(
        silence(&pool, &second).await > 99.0,
        "the same user's other session lost nothing and won nothing"
    );
    drop(watching);
    site.end().await;
}

/// How long ago a waiting session gave its last sign of life.
async fn silence(pool: &PgPool, session: &str) -> f64 {
    sqlx::query_scalar(
        "select extract(epoch from clock_timestamp() - heard_at)::float8 from sessions
         where 'ses_' || id = $1 and status = 'queued'",
    )
    .bind(session)
    .fetch_one(pool)
    .await
    .unwrap()
}
