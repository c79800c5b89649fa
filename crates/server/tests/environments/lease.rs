//! Leases: they expire by the clock of the database, also before a sweeper or a request records it.

use reqwest::Method;
use serde_json::{Value, json};

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
    assert_eq!(record["data"]["freeSince"], old["data"]["endedAt"], "since the lease ended");
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

/// Returns `leaseRemainingMs` and `maxRemainingMs` of a session.
fn remaining(session: &Value) -> (i64, i64) {
    let ms = |name: &str| session[name].as_i64().unwrap();
    (ms("leaseRemainingMs"), ms("maxRemainingMs"))
}

#[track_caller]
fn has_no_remaining_times(session: &Value) {
    for name in ["leaseRemainingMs", "maxRemainingMs"] {
        assert!(session.get(name).is_none(), "{session}");
    }
}

const SECOND: i64 = 1_000;
const HOUR: i64 = 3_600 * SECOND;
/// How much later than its grant a session may be read here.
const SLACK: i64 = 30 * SECOND;

#[tokio::test]
async fn a_session_shows_how_long_its_lease_lasts() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let is_about = |ms: i64, expected: i64| (expected - SLACK..=expected).contains(&ms);
    // The fast path, and the slow path with a commit.
    let fast = fixture.claim(&fixture.dev, json!({})).await.is(201)["data"].clone();
    let (lease, max) = remaining(&fast);
    assert!(is_about(lease, HOUR) && is_about(max, 2 * HOUR), "{fast}");
    assert_eq!(fast["lock"]["maxExpiresAt"], fast["maxExpiresAt"]);
    let path = format!("/sessions/{}", fast["sessionId"].as_str().unwrap());
    has_no_remaining_times(&fixture.delete(&fixture.dev, &path).await.is(200)["data"]);
    let claim = json!({ "commitId": "0123abc", "ttlSeconds": 600 });
    let slow = fixture.claim(&fixture.dev, claim).await.is(201)["data"].clone();
    assert!(is_about(remaining(&slow).0, 600 * SECOND), "{slow}");

    let path = format!("/sessions/{}", slow["sessionId"].as_str().unwrap());
    fixture.age(300).await;
    let read = fixture.get(&fixture.mate, &path).await.is(200)["data"].clone();
    let (lease, max) = remaining(&read);
    assert!(is_about(lease, 300 * SECOND) && is_about(max, 2 * HOUR - 300 * SECOND), "{read}");
    let beat =
        fixture.send(&fixture.dev, Method::POST, &format!("{path}/heartbeat"), json!({})).await.is(200);
    assert!(is_about(remaining(&beat["data"]).0, 300 * SECOND), "a heartbeat does not renew: {beat}");
    let renewed = fixture.send(&fixture.dev, Method::POST, &format!("{path}/renew"), json!({})).await.is(200);
    assert!(is_about(remaining(&renewed["data"]).0, 600 * SECOND), "{renewed}");

    // A waiting session and one that has ended have no lease.
    let queued = fixture.claim(&fixture.mate, json!({ "queue": true })).await.is(202);
    has_no_remaining_times(&queued["data"]);
    fixture.age(601).await;
    let ended = fixture.get(&fixture.dev, &path).await.is(200);
    assert_eq!(ended["data"]["status"], "expired");
    has_no_remaining_times(&ended["data"]);
    fixture.end().await;
}

#[tokio::test]
async fn the_passing_of_time_changes_neither_the_etag_nor_a_list() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let session = fixture.claim(&fixture.dev, json!({})).await.session();
    fixture.claim(&fixture.mate, json!({ "queue": true })).await.is(202);
    let base = format!("/organizations/acme/pipelines/{}/ephemeral-environments", fixture.pipeline);
    let path = format!("{base}/qa-1/sessions/{session}");
    let read = async || fixture.server.send(Method::GET, &path, Some(&fixture.dev.token), None).await;
    let tag = read().await.headers()["etag"].clone();
    tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    assert_eq!(read().await.headers()["etag"], tag);
    let url = format!("{}{path}", fixture.server.base);
    let known = fixture.server.client.get(url).bearer_auth(&fixture.dev.token).header("if-none-match", &tag);
    assert_eq!(known.send().await.unwrap().status(), 304);
    for list in
        [base.clone(), format!("{base}/qa-1"), format!("{base}/qa-1/queue"), format!("{base}/qa-1/history")]
    {
        let read = async || fixture.server.json(Method::GET, &list, &fixture.dev.token, None).await;
        let first = read().await;
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        assert_eq!(read().await, first, "{list}");
    }
    let renew = format!("/sessions/{session}/renew");
    fixture.send(&fixture.dev, Method::POST, &renew, json!({})).await.is(200);
    assert_ne!(read().await.headers()["etag"], tag, "a renewal changes the session");
    fixture.end().await;
}

/// A client that repeats a claim an hour later must not take the lease for a new one.
#[tokio::test]
async fn a_repeated_claim_returns_the_time_that_is_left_now() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let first = fixture.keyed(&fixture.dev, Method::POST, "/sessions", "k").await;
    fixture.age(600).await;
    let repeated = fixture.keyed(&fixture.dev, Method::POST, "/sessions", "k").await;
    assert_eq!((first.is_replayed, repeated.is_replayed), (false, true));
    let (first, repeated) = (first.reply.is(201), repeated.reply.is(201));
    assert_eq!(repeated["data"]["sessionId"], first["data"]["sessionId"]);
    let left = |claimed: &Value| remaining(&claimed["data"]).0;
    assert!(left(&first) - left(&repeated) >= 600_000, "{first} {repeated}");
    fixture.end().await;
}
