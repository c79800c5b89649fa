//! Events of sessions contain the lock as a read of the environment returns it, on the fast path and on the
//! slow path: a client that receives the event needs no further request.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::fixture::EnvironmentFixture;
use crate::support::database::TestDatabase;
use crate::support::eventually;

/// Returns the newest event of this type about the session, once it is sequenced.
async fn event(fixture: &EnvironmentFixture, event_type: &str, session: &str) -> Value {
    let path = format!("/organizations/acme/events?type={event_type}&limit=1");
    let newest = async || {
        let (_, list) = fixture.server.json(Method::GET, &path, &fixture.owner.token, None).await;
        list["data"][0]["data"].clone()
    };
    let is_there = async || newest().await["after"]["sessionId"] == session;
    assert!(eventually(Duration::from_secs(5), is_there).await, "no {event_type} of {session}");
    newest().await
}

/// Compares the lock in the event with the environment's, which has not changed since.
async fn compare(fixture: &EnvironmentFixture, event_type: &str, session: &str) -> Value {
    let mut in_event = event(fixture, event_type, session).await["after"]["lock"].clone();
    let mut read = fixture.get(&fixture.dev, "").await.is(200)["data"]["lock"].clone();
    let max_expires_at = in_event.as_object_mut().unwrap().remove("maxExpiresAt");
    assert_eq!(max_expires_at.is_some(), in_event["status"] == "locked", "{event_type}");
    if let Some(read) = read.as_object_mut().unwrap().remove("maxExpiresAt") {
        assert_eq!(max_expires_at, Some(read), "{event_type}");
    }
    assert_eq!(in_event, read, "{event_type}");
    in_event
}

#[tokio::test]
async fn session_events_contain_the_lock() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let (dev, mate) = (&fixture.dev, &fixture.mate);

    // The fast path builds the event in SQL, also of a context that needs escaping.
    let context = r#"it's "quoted", \ and {"status": "free"}"#;
    let first = fixture.claim(dev, json!({ "context": context })).await.session();
    let lock = compare(&fixture, "session.claimed", &first).await;
    assert_eq!((&lock["context"], &lock["holder"]["kind"]), (&json!(context), &json!("user")));

    let waiting = fixture.claim(mate, json!({ "queue": true, "commitId": "0123abc" })).await.session();
    let lock = compare(&fixture, "session.queued", &waiting).await;
    assert_eq!((&lock["sessionId"], &lock["queueLength"]), (&json!(first), &json!(1)));

    let path = format!("/sessions/{first}/request-handover");
    fixture.send(mate, Method::POST, &path, json!({ "context": "demo at 5" })).await.is(202);
    let lock = compare(&fixture, "session.handover_requested", &first).await;
    assert_eq!(lock["handover"]["context"], "demo at 5");
    let path = format!("/sessions/{first}/handover/decline");
    fixture.send(dev, Method::POST, &path, json!({})).await.is(200);
    assert_eq!(compare(&fixture, "session.handover_declined", &first).await.get("handover"), None);

    // The end of a session and the turn of the next one are one change: both events contain the new lock.
    fixture.delete(dev, &format!("/sessions/{first}")).await.is(200);
    let granted = compare(&fixture, "session.granted", &waiting).await;
    assert_eq!(granted, compare(&fixture, "session.released", &first).await);
    assert_eq!((&granted["commitId"], &granted["queueLength"]), (&json!("0123abc"), &json!(0)));
    assert!(granted["confirmBy"].is_string(), "{granted}");

    let body = json!({ "context": "hotfix" });
    let forced = fixture.send(dev, Method::POST, "/force-claim", body).await.session();
    let overridden = compare(&fixture, "session.overridden", &waiting).await;
    assert_eq!(overridden, compare(&fixture, "session.claimed", &forced).await);

    fixture.delete(dev, &format!("/sessions/{forced}")).await.is(200);
    assert_eq!(compare(&fixture, "session.released", &forced).await["status"], "free");
    // Claimed and released on the fast path.
    let last = fixture.claim(mate, json!({})).await.session();
    fixture.delete(mate, &format!("/sessions/{last}")).await.is(200);
    let lock = compare(&fixture, "session.released", &last).await;
    assert_eq!(lock, json!({ "status": "free", "queueLength": 0 }));
    fixture.end().await;
}

/// The lease has ended before a command, so the next command records the end and its own change.
#[tokio::test]
async fn the_event_of_an_expiry_contains_the_lock_of_the_next_holder() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let first = fixture.claim(&fixture.dev, json!({})).await.session();
    fixture.age(2 * 3_600).await;
    let second = fixture.claim(&fixture.mate, json!({})).await.session();
    let expired = event(&fixture, "session.expired", &first).await;
    assert_eq!(expired["actor"]["kind"], "system", "{expired}");
    let lock = compare(&fixture, "session.expired", &first).await;
    assert_eq!(lock, compare(&fixture, "session.claimed", &second).await);
    assert_eq!(lock["sessionId"], second);
    fixture.end().await;
}
