//! Heartbeats: which requests keep a place in the queue and confirm a grant, and which do not.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::fixture::{DEFINITION, EnvironmentFixture, Reply};
use crate::support::database::TestDatabase;
use crate::support::{Caller, eventually};

async fn heartbeat(fixture: &EnvironmentFixture, by: &Caller, session: &str) -> Reply {
    fixture.send(by, Method::POST, &format!("/sessions/{session}/heartbeat"), Value::Null).await
}

async fn status(fixture: &EnvironmentFixture, session: &str) -> Value {
    fixture.get(&fixture.owner, &format!("/sessions/{session}")).await.is(200)["data"]["status"].clone()
}

#[tokio::test]
async fn a_get_does_not_keep_a_place_in_the_queue() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    fixture.claim(&fixture.dev, json!({})).await.is(201);
    let waiting = fixture.claim(&fixture.mate, json!({ "queue": true })).await.session();
    let path = format!("/sessions/{waiting}");
    let by = fixture.get(&fixture.mate, &path).await.is(200)["data"]["heartbeatBy"].clone();
    assert!(by.is_string());
    fixture.age(100).await;
    let later = fixture.get(&fixture.mate, &path).await.is(200)["data"].clone();
    assert!(later["heartbeatBy"].as_str() < by.as_str(), "a read is not a heartbeat");
    fixture.get(&fixture.mate, "/queue").await.is(200);
    fixture.age(21).await;
    fixture.sweep().await;
    assert_eq!(status(&fixture, &waiting).await, "canceled");
    fixture.end().await;
}

#[tokio::test]
async fn a_get_does_not_confirm_a_grant() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let held = fixture.claim(&fixture.dev, json!({})).await.session();
    let waiting = fixture.claim(&fixture.mate, json!({ "queue": true })).await.session();
    let next = fixture.claim(&fixture.owner, json!({ "queue": true })).await.session();
    fixture.delete(&fixture.dev, &format!("/sessions/{held}")).await.is(200);
    let granted = fixture.get(&fixture.mate, &format!("/sessions/{waiting}")).await.is(200)["data"].clone();
    assert_eq!((&granted["status"], &granted["heartbeatBy"]), (&json!("active"), &Value::Null));
    assert!(granted["confirmBy"].is_string());
    assert_eq!(
        (&granted["lock"]["confirmBy"], &granted["lock"]["expiresAt"]),
        (&granted["confirmBy"], &granted["confirmBy"])
    );
    fixture.age(61).await;
    fixture.sweep().await;
    assert_eq!(status(&fixture, &waiting).await, "canceled");
    assert_eq!(status(&fixture, &next).await, "active");
    fixture.end().await;
}

#[tokio::test]
async fn a_heartbeat_keeps_a_place_and_confirms_a_grant() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let held = fixture.claim(&fixture.dev, json!({})).await.session();
    let waiting = fixture.claim(&fixture.mate, json!({ "queue": true })).await.session();
    for _ in 0..3 {
        fixture.age(100).await;
        let kept = heartbeat(&fixture, &fixture.mate, &waiting).await.is(200)["data"].clone();
        assert_eq!((&kept["status"], &kept["position"]), (&json!("queued"), &json!(1)));
    }
    fixture.delete(&fixture.dev, &format!("/sessions/{held}")).await.is(200);
    let confirmed = heartbeat(&fixture, &fixture.mate, &waiting).await.is(200)["data"].clone();
    assert_eq!((&confirmed["status"], &confirmed["confirmBy"]), (&json!("active"), &Value::Null));
    assert_eq!(confirmed["lock"].get("confirmBy"), None);
    // A second heartbeat does not renew the lease.
    let again = heartbeat(&fixture, &fixture.mate, &waiting).await.is(200)["data"].clone();
    assert_eq!(again["expiresAt"], confirmed["expiresAt"]);
    let events: i64 = sqlx::query_scalar(
        "select (select count(*) from event_intake where type like 'session.%')
              + (select count(*) from events where type like 'session.%')",
    )
    .fetch_one(&pool)
    .await
    .unwrap();
    assert_eq!(events, 4, "claimed, queued, released, granted: heartbeats record nothing");
    fixture.delete(&fixture.mate, &format!("/sessions/{waiting}")).await.is(200);
    assert_eq!(heartbeat(&fixture, &fixture.mate, &waiting).await.is(409)["code"], "session_released");
    fixture.end().await;
}

#[tokio::test]
async fn a_heartbeat_is_accepted_for_the_callers_live_session_only() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    fixture.claim(&fixture.dev, json!({})).await.is(201);
    let waiting = fixture.claim(&fixture.mate, json!({ "queue": true })).await.session();
    assert_eq!(heartbeat(&fixture, &fixture.owner, &waiting).await.is(403)["code"], "forbidden");
    heartbeat(&fixture, &fixture.mate, "ses_00000000-0000-7000-8000-000000000000").await.is(404);
    heartbeat(&fixture, &fixture.mate, "x").await.is(404);
    fixture.age(121).await;
    // A late heartbeat is rejected and changes nothing.
    assert_eq!(heartbeat(&fixture, &fixture.mate, &waiting).await.is(409)["code"], "session_canceled");
    assert_eq!(status(&fixture, &waiting).await, "canceled");
    fixture.end().await;
}

/// The role is checked with every heartbeat: a demoted member does not keep a place.
#[tokio::test]
async fn a_heartbeat_of_a_viewer_is_rejected() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    fixture.claim(&fixture.dev, json!({})).await.is(201);
    let waiting = fixture.claim(&fixture.mate, json!({ "queue": true })).await.session();
    fixture.set_role(&fixture.mate, "viewer").await;
    assert_eq!(heartbeat(&fixture, &fixture.mate, &waiting).await.is(403)["code"], "forbidden");
    // A stream is authorized by cached token data, which is up to half a second old.
    let path = format!(
        "/organizations/acme/pipelines/{}/ephemeral-environments/qa-1/events?sessionId={waiting}",
        fixture.pipeline
    );
    let refused = async || {
        fixture.server.send(Method::GET, &path, Some(&fixture.mate.token), None).await.status() == 403
    };
    assert!(eventually(Duration::from_secs(5), refused).await);
    fixture.end().await;
}

/// People keep a place for `queue.maxStay`, programs for 120 s. The turn is confirmed within 60 s by either.
#[tokio::test]
async fn a_person_keeps_a_place_without_a_page() {
    let (_database, pool) = TestDatabase::create().await;
    let definition = DEFINITION.replace(
        "lease: { default: 1h, max: 2h }, queue: { maxStay: 2m }",
        "lease: { default: 20h }, queue: { maxStay: 10h }",
    );
    let fixture = EnvironmentFixture::with(&pool, &definition).await;
    let held = fixture.claim(&fixture.dev, json!({})).await.session();
    let person = fixture.claim(&fixture.mate, json!({ "queue": true })).await.session();
    let mut programs = Vec::new();
    for kind in ["ci", "agent"] {
        let program = fixture.token(&fixture.mate, json!({ "name": kind, "kind": kind })).await;
        programs.push(fixture.claim(&program, json!({ "queue": true })).await.session());
    }
    fixture.age(121).await;
    fixture.sweep().await;
    for program in &programs {
        assert_eq!(status(&fixture, program).await, "canceled");
    }
    fixture.age(10 * 3_600 - 121 - 5).await;
    fixture.sweep().await;
    assert_eq!(status(&fixture, &person).await, "queued");
    let kept = heartbeat(&fixture, &fixture.mate, &person).await.is(200)["data"].clone();
    let hours: f64 = sqlx::query_scalar(
        "select (extract(epoch from $1::text::timestamptz - clock_timestamp()) / 3600)::float8",
    )
    .bind(kept["heartbeatBy"].as_str().unwrap())
    .fetch_one(&pool)
    .await
    .unwrap();
    assert!((9.9..=10.0).contains(&hours), "the place is kept for {hours} hours");
    // The turn comes while the page is closed.
    fixture.age(5 * 3_600).await;
    fixture.delete(&fixture.dev, &format!("/sessions/{held}")).await.is(200);
    assert_eq!(status(&fixture, &person).await, "active");
    fixture.age(61).await;
    fixture.sweep().await;
    assert_eq!(status(&fixture, &person).await, "canceled");
    fixture.end().await;
}

#[tokio::test]
async fn a_persons_place_that_times_out_ends_with_a_reason() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    fixture.claim(&fixture.dev, json!({})).await.is(201);
    let person = fixture.claim(&fixture.mate, json!({ "queue": true })).await.session();
    let program = fixture.token(&fixture.mate, json!({ "name": "bot", "kind": "ci" })).await;
    let program = fixture.claim(&program, json!({ "queue": true })).await.session();
    fixture.age(121).await;
    fixture.sweep().await;
    for (session, reason) in [(person, Some("no heartbeat within `queue.maxStay`")), (program, None)] {
        let found: Option<String> = sqlx::query_scalar(
            "select data->>'reason' from (select type, data from event_intake union all select type, data from events) all_events
             where type = 'session.canceled' and data->'after'->>'sessionId' = $1",
        )
        .bind(&session)
        .fetch_one(&pool)
        .await
        .unwrap();
        assert_eq!(found.as_deref(), reason);
    }
    fixture.end().await;
}
