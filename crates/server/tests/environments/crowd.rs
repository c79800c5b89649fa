//! A crowd at one door: 200 wait in line for one environment while 1,000 others claim it. One holds it at every moment,
//! the line is served in its order, and nobody in it is lost.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use greenroom_server::limits::{LimitSettings, Limits, Switch};
use serde_json::{Value, json};
use sqlx::{ConnectOptions, PgPool};
use tokio::task::JoinSet;

use crate::site::{DEFINITION, Reply, Site};
use crate::support::{Caller, TestServer, eventually};

const WAITERS: usize = 200;
const CLAIMERS: usize = 1_000;
const PATIENCE: Duration = Duration::from_secs(100);

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn heavy_a_crowd_is_served_in_order(pool: PgPool) {
    let url = pool.connect_options().to_url_lossy();
    // A thousand at once with one token: more than one token may have where the limits are on.
    let settings =
        LimitSettings { max_in_flight: 2 * CLAIMERS, limits: Switch::Off, ..LimitSettings::default() };
    let limits = Limits::with(Duration::from_secs(15), settings);
    let server = TestServer::start_on(url.as_str(), limits).await;
    let site = Arc::new(Site::on(server, &pool, DEFINITION).await);
    let door = site.claim(&site.mate, json!({})).await.session();
    let mut waiters = Vec::new();
    let mut line = Vec::new();
    for number in 0..WAITERS {
        // As many as one user's programs may have.
        if number % 50 == 0 {
            let member = site.server.member(&site.owner, "acme", "developer").await;
            waiters.push(site.token(&member, json!({ "name": "line", "kind": "ci" })).await);
        }
        let session = site.claim(&waiters[number / 50], json!({ "queue": true })).await.session();
        line.push(session);
    }
    assert_eq!(site.get(&site.dev, "").await.json["data"]["lock"]["queueLength"], WAITERS);

    let mut crowd = JoinSet::new();
    for _ in 0..CLAIMERS {
        let site = Arc::clone(&site);
        crowd.spawn(async move {
            let ask = || site.claim(&site.owner, json!({}));
            insisting(ask).await.status
        });
    }
    let path = format!("/sessions/{door}");
    insisting(|| site.delete(&site.mate, &path)).await.is(200);
    serve(&site, &waiters, &line).await;
    while let Some(answer) = crowd.join_next().await {
        // Who came when the line was through may have got it; nobody else.
        assert!(matches!(answer.unwrap(), 201 | 409));
    }
    check(&told(&site).await, &line);
}

/// Each of the line looks after its session until its turn has come, and lets go.
async fn serve(site: &Site, waiters: &[Caller], line: &[String]) {
    for (number, session) in line.iter().enumerate() {
        let waiter = &waiters[number / 50];
        let path = format!("/sessions/{session}");
        let started = Instant::now();
        loop {
            let seen = insisting(|| site.get(waiter, &path)).await.is(200);
            if seen["data"]["status"] == "active" {
                break;
            }
            assert_eq!(seen["data"]["status"], "queued", "{seen}");
            assert!(started.elapsed() < PATIENCE, "its turn never came");
        }
        insisting(|| site.delete(waiter, &path)).await.is(200);
    }
}

/// Comes back when the server says that it has too much to do.
async fn insisting<F: Future<Output = Reply>>(ask: impl Fn() -> F) -> Reply {
    let started = Instant::now();
    loop {
        let reply = ask().await;
        if reply.status != 503 || started.elapsed() > PATIENCE {
            return reply;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// What was told of sessions, in order, when all of it has its number.
async fn told(site: &Site) -> Vec<Value> {
    let waiting = || async {
        let left = sqlx::query_scalar::<_, i64>("select count(*) from event_intake").fetch_one(&site.pool);
        left.await.unwrap() == 0
    };
    assert!(eventually(PATIENCE, waiting).await);
    sqlx::query_scalar::<_, Value>(
        "select jsonb_build_object('type', type, 'after', data -> 'after') from events
         where type like 'session.%' order by sequence",
    )
    .fetch_all(&site.pool)
    .await
    .unwrap()
}

/// One holder at a time, and those of the line in its order, with nobody in between.
fn check(told: &[Value], line: &[String]) {
    let mut holder: Option<String> = None;
    let mut served = Vec::new();
    let mut last_fence = 0;
    let place: HashMap<&String, usize> = line.iter().enumerate().map(|(at, session)| (session, at)).collect();
    let mut ended = HashSet::new();
    for event in told {
        let session = event["after"]["sessionId"].as_str().unwrap().to_owned();
        match event["type"].as_str().unwrap() {
            "session.claimed" | "session.granted" => {
                assert_eq!(holder, None, "two hold it");
                let fence = event["after"]["fence"].as_i64().unwrap();
                assert!(fence > last_fence, "a fence fell");
                last_fence = fence;
                if place.contains_key(&session) {
                    served.push(session.clone());
                } else {
                    assert!(served.is_empty() || served.len() == line.len(), "somebody got past the line");
                }
                holder = Some(session);
            }
            "session.queued" => {}
            _ => {
                assert!(ended.insert(session.clone()), "ended twice");
                assert_eq!(holder.take(), Some(session), "somebody else's end");
            }
        }
    }
    assert_eq!(served, line, "the line was not served in its order");
}
