//! Contention for one environment: 200 sessions wait in its queue while 1,000 concurrent requests claim it.
//! There is one holder at a time, the queue is served in order, and no waiter is lost.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use greenroom_app::limits::{LimitSettings, Limits, Switch};
use serde_json::{Value, json};
use sqlx::ConnectOptions;
use tokio::task::JoinSet;

use crate::fixture::{DEFINITION, EnvironmentFixture, Reply};
use crate::support::database::TestDatabase;
use crate::support::{Caller, TestServer, eventually};

const WAITERS: usize = 200;
const CLAIMERS: usize = 1_000;
const TIMEOUT: Duration = Duration::from_secs(100);

#[tokio::test]
async fn heavy_a_long_queue_is_served_in_order() {
    let (_database, pool) = TestDatabase::create().await;
    let url = pool.connect_options().to_url_lossy();
    // A thousand concurrent requests of one token are over the limits, so the limits are off.
    let settings =
        LimitSettings { max_in_flight: 2 * CLAIMERS, limits: Switch::Off, ..LimitSettings::default() };
    let limits = Limits::with(Duration::from_secs(15), settings);
    let server = TestServer::start_with_full_pools(url.as_str(), limits).await;
    let fixture = Arc::new(EnvironmentFixture::on(server, &pool, DEFINITION).await);
    let first_holder = fixture.claim(&fixture.mate, json!({})).await.session();
    let mut waiters = Vec::new();
    let mut queue = Vec::new();
    for number in 0..WAITERS {
        // One user's programs may have 50 places in queues.
        if number % 50 == 0 {
            let member = fixture.server.member(&fixture.owner, "acme", "developer").await;
            waiters.push(fixture.token(&member, json!({ "name": "line", "kind": "ci" })).await);
        }
        let session = fixture.claim(&waiters[number / 50], json!({ "queue": true })).await.session();
        queue.push(session);
    }
    assert_eq!(fixture.get(&fixture.dev, "").await.json["data"]["lock"]["queueLength"], WAITERS);

    let mut claims = JoinSet::new();
    for _ in 0..CLAIMERS {
        let fixture = Arc::clone(&fixture);
        claims.spawn(async move {
            let send = || fixture.claim(&fixture.owner, json!({}));
            retry_while_overloaded(send).await.status
        });
    }
    let path = format!("/sessions/{first_holder}");
    retry_while_overloaded(|| fixture.delete(&fixture.mate, &path)).await.is(200);
    serve(&fixture, &waiters, &queue).await;
    while let Some(status) = claims.join_next().await {
        // Claims that arrive after the queue was served may be granted; all others are refused.
        assert!(matches!(status.unwrap(), 201 | 409));
    }
    check(&session_events(&fixture).await, &queue);
}

/// Polls each waiting session until it is granted, and releases it.
async fn serve(fixture: &EnvironmentFixture, waiters: &[Caller], queue: &[String]) {
    for (number, session) in queue.iter().enumerate() {
        let waiter = &waiters[number / 50];
        let path = format!("/sessions/{session}");
        let started = Instant::now();
        loop {
            let session_record = retry_while_overloaded(|| fixture.get(waiter, &path)).await.is(200);
            if session_record["data"]["status"] == "active" {
                break;
            }
            assert_eq!(session_record["data"]["status"], "queued", "{session_record}");
            assert!(started.elapsed() < TIMEOUT, "the session was not granted");
        }
        retry_while_overloaded(|| fixture.delete(waiter, &path)).await.is(200);
    }
}

/// Retries while the server responds that it is overloaded.
async fn retry_while_overloaded<F: Future<Output = Reply>>(send: impl Fn() -> F) -> Reply {
    let started = Instant::now();
    loop {
        let reply = send().await;
        if reply.status != 503 || started.elapsed() > TIMEOUT {
            return reply;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Returns all session events in order, once all of them are sequenced.
async fn session_events(fixture: &EnvironmentFixture) -> Vec<Value> {
    let waiting = || async {
        let left = sqlx::query_scalar::<_, i64>("select count(*) from event_intake").fetch_one(&fixture.pool);
        left.await.unwrap() == 0
    };
    assert!(eventually(TIMEOUT, waiting).await);
    sqlx::query_scalar::<_, Value>(
        "select jsonb_build_object('type', type, 'after', data -> 'after') from events
         where type like 'session.%' order by sequence",
    )
    .fetch_all(&fixture.pool)
    .await
    .unwrap()
}

/// Checks that there is one holder at a time, and that the queue is served in order without other grants in
/// between.
fn check(session_events: &[Value], queue: &[String]) {
    let mut holder: Option<String> = None;
    let mut served = Vec::new();
    let mut last_fence = 0;
    let place: HashMap<&String, usize> =
        queue.iter().enumerate().map(|(at, session)| (session, at)).collect();
    let mut ended = HashSet::new();
    for event in session_events {
        let session = event["after"]["sessionId"].as_str().unwrap().to_owned();
        match event["type"].as_str().unwrap() {
            "session.claimed" | "session.granted" => {
                assert_eq!(holder, None, "two concurrent holders");
                let fence = event["after"]["fence"].as_i64().unwrap();
                assert!(fence > last_fence, "a fence did not increase");
                last_fence = fence;
                if place.contains_key(&session) {
                    served.push(session.clone());
                } else {
                    assert!(served.is_empty() || served.len() == queue.len(), "a claim bypassed the queue");
                }
                holder = Some(session);
            }
            "session.queued" => {}
            _ => {
                assert!(ended.insert(session.clone()), "ended twice");
                assert_eq!(holder.take(), Some(session), "a session ended that was not the holder");
            }
        }
    }
    assert_eq!(served, queue, "the queue was not served in order");
}
