//! Leases: they run out by the database's clock, whether or not anybody looks.

use reqwest::Method;
use serde_json::json;
use sqlx::PgPool;

use crate::site::Site;

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn expiry_frees_the_lock_when_nothing_runs(pool: PgPool) {
    let site = Site::new(&pool).await;
    let first = site.claim(&site.dev, json!({ "ttlSeconds": 60, "commitId": "0123abc" })).await.session();
    site.age(61).await;
    let seen = site.get(&site.mate, "").await.is(200);
    assert_eq!(seen["data"]["lock"]["status"], "free");
    let old = site.get(&site.dev, &format!("/sessions/{first}")).await.is(200);
    assert_eq!(old["data"]["status"], "expired");
    let path = format!("/sessions/{first}/deploy");
    let late = site.send(&site.dev, Method::POST, &path, json!({ "commitId": "0123abc" }));
    assert_eq!(late.await.is(409)["code"], "session_expired");
    let next = site.claim(&site.mate, json!({})).await.is(201);
    assert_eq!(next["data"]["fence"], 3);
    let old = site.get(&site.dev, &format!("/sessions/{first}")).await.is(200);
    assert_eq!(old["data"]["status"], "expired");
    assert_eq!(old["data"]["endedBy"], json!(null), "the clock did it, not who noticed");
    assert_eq!(old["data"]["deployments"][0]["status"], "canceled");
    site.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn the_sweeper_writes_it_down_once(pool: PgPool) {
    let site = Site::new(&pool).await;
    site.claim(&site.dev, json!({ "ttlSeconds": 60 })).await.is(201);
    assert_eq!(site.sweep().await, 0, "nothing is due yet");
    site.age(61).await;
    assert_eq!(site.sweep().await, 1);
    assert_eq!(site.sweep().await, 0);
    let expired: i64 = sqlx::query_scalar(
        "select (select count(*) from event_intake where type = 'session.expired')
              + (select count(*) from events where type = 'session.expired')",
    )
    .fetch_one(&pool)
    .await
    .unwrap();
    assert_eq!(expired, 1);
    site.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn renewing_slides_and_has_an_end(pool: PgPool) {
    let site = Site::new(&pool).await;
    let session = site.claim(&site.dev, json!({})).await.session();
    for _ in 0..4 {
        site.age(30 * 60).await;
        let path = format!("/sessions/{session}/renew");
        let renewed = site.send(&site.dev, Method::POST, &path, json!({})).await;
        if renewed.status == 409 {
            assert_eq!(renewed.json["code"], "session_expired");
            site.end().await;
            return;
        }
        let data = renewed.is(200)["data"].clone();
        assert!(data["expiresAt"].as_str().unwrap() <= data["maxExpiresAt"].as_str().unwrap());
        // The sweeper may look too early; it puts the session off.
        site.sweep().await;
    }
    site.age(61).await;
    assert_eq!(site.get(&site.dev, "").await.is(200)["data"]["lock"]["status"], "free");
    site.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_lease_has_its_bounds(pool: PgPool) {
    let site = Site::new(&pool).await;
    for ttl in [0, -1, 7_201] {
        assert_eq!(
            site.claim(&site.dev, json!({ "ttlSeconds": ttl })).await.is(422)["errors"][0]["pointer"],
            "/ttlSeconds"
        );
    }
    site.claim(&site.dev, json!({ "ttlSeconds": 7_200 })).await.is(201);
    site.end().await;
}
