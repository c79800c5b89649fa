//! Leases: they expire by the clock of the database, also before a sweeper or a request records it.

use reqwest::Method;
use serde_json::json;

use crate::fixture::EnvironmentFixture;
use crate::support::database::TestDatabase;

#[tokio::test]
async fn expiry_frees_the_lock_when_nothing_runs() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let first =
        fixture.claim(&fixture.dev, json!({ "ttlSeconds": 60, "commitId": "0123abc" })).await.session();
    fixture.age(61).await;
    let record = fixture.get(&fixture.mate, "").await.is(200);
    assert_eq!(record["data"]["lock"]["status"], "free");
    let old = fixture.get(&fixture.dev, &format!("/sessions/{first}")).await.is(200);
    assert_eq!(old["data"]["status"], "expired");
    let path = format!("/sessions/{first}/deploy");
    let late = fixture.send(&fixture.dev, Method::POST, &path, json!({ "commitId": "0123abc" }));
    assert_eq!(late.await.is(409)["code"], "session_expired");
    let next = fixture.claim(&fixture.mate, json!({})).await.is(201);
    assert_eq!(next["data"]["fence"], 3);
    let old = fixture.get(&fixture.dev, &format!("/sessions/{first}")).await.is(200);
    assert_eq!(old["data"]["status"], "expired");
    assert_eq!(old["data"]["endedBy"], json!(null), "expired, not ended by a user");
    assert_eq!(old["data"]["deployments"][0]["status"], "canceled");
    fixture.end().await;
}

#[tokio::test]
async fn the_sweeper_records_an_expiry_once() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    fixture.claim(&fixture.dev, json!({ "ttlSeconds": 60 })).await.is(201);
    assert_eq!(fixture.sweep().await, 0, "nothing is due yet");
    fixture.age(61).await;
    assert_eq!(fixture.sweep().await, 1);
    assert_eq!(fixture.sweep().await, 0);
    let expired: i64 = sqlx::query_scalar(
        "select (select count(*) from event_intake where type = 'session.expired')
              + (select count(*) from events where type = 'session.expired')",
    )
    .fetch_one(&pool)
    .await
    .unwrap();
    assert_eq!(expired, 1);
    fixture.end().await;
}

#[tokio::test]
async fn renewing_extends_a_lease_up_to_its_maximum() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let session = fixture.claim(&fixture.dev, json!({})).await.session();
    for _ in 0..4 {
        fixture.age(30 * 60).await;
        let path = format!("/sessions/{session}/renew");
        let renewed = fixture.send(&fixture.dev, Method::POST, &path, json!({})).await;
        if renewed.status == 409 {
            assert_eq!(renewed.json["code"], "session_expired");
            fixture.end().await;
            return;
        }
        let data = renewed.is(200)["data"].clone();
        assert!(data["expiresAt"].as_str().unwrap() <= data["maxExpiresAt"].as_str().unwrap());
        // A sweep that runs too early reschedules the session.
        fixture.sweep().await;
    }
    fixture.age(61).await;
    assert_eq!(fixture.get(&fixture.dev, "").await.is(200)["data"]["lock"]["status"], "free");
    fixture.end().await;
}

#[tokio::test]
async fn a_lease_duration_outside_the_bounds_is_rejected() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    for ttl in [0, -1, 7_201] {
        assert_eq!(
            fixture.claim(&fixture.dev, json!({ "ttlSeconds": ttl })).await.is(422)["errors"][0]["pointer"],
            "/ttlSeconds"
        );
    }
    fixture.claim(&fixture.dev, json!({ "ttlSeconds": 7_200 })).await.is(201);
    fixture.end().await;
}
