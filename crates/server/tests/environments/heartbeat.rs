//! Heartbeats: what keeps a place in the queue and confirms a turn, and what does not.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::site::{Reply, Site};
use crate::support::{Caller, eventually};

async fn heartbeat(site: &Site, by: &Caller, session: &str) -> Reply {
    site.send(by, Method::POST, &format!("/sessions/{session}/heartbeat"), Value::Null).await
}

async fn status(site: &Site, session: &str) -> Value {
    site.get(&site.owner, &format!("/sessions/{session}")).await.is(200)["data"]["status"].clone()
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_get_keeps_no_place(pool: PgPool) {
    let site = Site::new(&pool).await;
    site.claim(&site.dev, json!({})).await.is(201);
    let waiting = site.claim(&site.mate, json!({ "queue": true })).await.session();
    let path = format!("/sessions/{waiting}");
    let by = site.get(&site.mate, &path).await.is(200)["data"]["heartbeatBy"].clone();
    assert!(by.is_string());
    site.age(100).await;
    let later = site.get(&site.mate, &path).await.is(200)["data"].clone();
    assert!(later["heartbeatBy"].as_str() < by.as_str(), "a look is no heartbeat");
    site.get(&site.mate, "/queue").await.is(200);
    site.age(21).await;
    site.sweep().await;
    assert_eq!(status(&site, &waiting).await, "canceled");
    site.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_get_confirms_no_turn(pool: PgPool) {
    let site = Site::new(&pool).await;
    let held = site.claim(&site.dev, json!({})).await.session();
    let waiting = site.claim(&site.mate, json!({ "queue": true })).await.session();
    let next = site.claim(&site.owner, json!({ "queue": true })).await.session();
    site.delete(&site.dev, &format!("/sessions/{held}")).await.is(200);
    let granted = site.get(&site.mate, &format!("/sessions/{waiting}")).await.is(200)["data"].clone();
    assert_eq!((&granted["status"], &granted["heartbeatBy"]), (&json!("active"), &Value::Null));
    assert!(granted["confirmBy"].is_string());
    assert_eq!(
        (&granted["lock"]["confirmBy"], &granted["lock"]["expiresAt"]),
        (&granted["confirmBy"], &granted["confirmBy"])
    );
    site.age(61).await;
    site.sweep().await;
    assert_eq!(status(&site, &waiting).await, "canceled");
    assert_eq!(status(&site, &next).await, "active");
    site.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_heartbeat_keeps_a_place_and_confirms_a_turn(pool: PgPool) {
    let site = Site::new(&pool).await;
    let held = site.claim(&site.dev, json!({})).await.session();
    let waiting = site.claim(&site.mate, json!({ "queue": true })).await.session();
    for _ in 0..3 {
        site.age(100).await;
        let kept = heartbeat(&site, &site.mate, &waiting).await.is(200)["data"].clone();
        assert_eq!((&kept["status"], &kept["position"]), (&json!("queued"), &json!(1)));
    }
    site.delete(&site.dev, &format!("/sessions/{held}")).await.is(200);
    let confirmed = heartbeat(&site, &site.mate, &waiting).await.is(200)["data"].clone();
    assert_eq!((&confirmed["status"], &confirmed["confirmBy"]), (&json!("active"), &Value::Null));
    assert_eq!(confirmed["lock"].get("confirmBy"), None);
    // A further one changes nothing: it does not renew.
    let again = heartbeat(&site, &site.mate, &waiting).await.is(200)["data"].clone();
    assert_eq!(again["expiresAt"], confirmed["expiresAt"]);
    let told: i64 = sqlx::query_scalar(
        "select (select count(*) from event_intake where type like 'session.%')
              + (select count(*) from events where type like 'session.%')",
    )
    .fetch_one(&pool)
    .await
    .unwrap();
    assert_eq!(told, 4, "claimed, queued, released, granted: heartbeats record nothing");
    site.delete(&site.mate, &format!("/sessions/{waiting}")).await.is(200);
    assert_eq!(heartbeat(&site, &site.mate, &waiting).await.is(409)["code"], "session_released");
    site.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_heartbeat_is_for_ones_own_live_session(pool: PgPool) {
    let site = Site::new(&pool).await;
    site.claim(&site.dev, json!({})).await.is(201);
    let waiting = site.claim(&site.mate, json!({ "queue": true })).await.session();
    assert_eq!(heartbeat(&site, &site.owner, &waiting).await.is(403)["code"], "forbidden");
    heartbeat(&site, &site.mate, "ses_00000000-0000-7000-8000-000000000000").await.is(404);
    heartbeat(&site, &site.mate, "x").await.is(404);
    site.age(121).await;
    // It comes too late, and what it is told stands.
    assert_eq!(heartbeat(&site, &site.mate, &waiting).await.is(409)["code"], "session_canceled");
    assert_eq!(status(&site, &waiting).await, "canceled");
    site.end().await;
}

/// The right is checked each time: who was demoted keeps no place.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_viewer_sends_no_heartbeat(pool: PgPool) {
    let site = Site::new(&pool).await;
    site.claim(&site.dev, json!({})).await.is(201);
    let waiting = site.claim(&site.mate, json!({ "queue": true })).await.session();
    site.set_role(&site.mate, "viewer").await;
    assert_eq!(heartbeat(&site, &site.mate, &waiting).await.is(403)["code"], "forbidden");
    // A stream is opened by what the server has read of the token up to half a second ago.
    let path = format!(
        "/organizations/acme/pipelines/{}/ephemeral-environments/qa-1/events?sessionId={waiting}",
        site.pipeline
    );
    let refused =
        async || site.server.send(Method::GET, &path, Some(&site.mate.token), None).await.status() == 403;
    assert!(eventually(Duration::from_secs(5), refused).await);
    site.end().await;
}
