//! One environment, watched: its events and no others, and a watcher's place in the queue.

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
async fn who_watches_is_still_there(pool: PgPool) {
    let site = Site::new(&pool).await;
    let held = site.claim(&site.dev, json!({})).await.session();
    let waiting = site.claim(&site.mate, json!({ "queue": true })).await.session();
    let silent = site.claim(&site.owner, json!({ "queue": true })).await.session();
    site.age(100).await;
    let watching = Watching::open(&site, &site.mate, "").await;
    // Heard from again as soon as the stream is open.
    assert!(eventually(SOON, async || silence(&pool, &site.mate).await < 50.0).await);
    site.age(30).await;
    site.sweep().await;
    assert_eq!(
        site.get(&site.dev, &format!("/sessions/{waiting}")).await.is(200)["data"]["status"],
        "queued"
    );
    assert_eq!(
        site.get(&site.dev, &format!("/sessions/{silent}")).await.is(200)["data"]["status"],
        "canceled"
    );
    // Granted, it has a first lease: watching is not taking it up.
    site.delete(&site.dev, &format!("/sessions/{held}")).await.is(200);
    let second = Watching::open(&site, &site.mate, "").await;
    tokio::time::sleep(Duration::from_millis(600)).await;
    let confirmed: bool = sqlx::query_scalar("select confirmed from environments where name = 'qa-1'")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert!(!confirmed);
    drop((watching, second));
    site.end().await;
}

async fn silence(pool: &PgPool, user: &Caller) -> f64 {
    sqlx::query_scalar(
        "select extract(epoch from clock_timestamp() - heard_at)::float8 from sessions
         where 'usr_' || user_id = $1 and status = 'queued'",
    )
    .bind(&user.user)
    .fetch_one(pool)
    .await
    .unwrap()
}
