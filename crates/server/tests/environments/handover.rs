//! Requests for hand-over.

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::fixture::{EnvironmentFixture, Reply};
use crate::support::Caller;
use crate::support::database::TestDatabase;

async fn request_handover(fixture: &EnvironmentFixture, by: &Caller, session: &str, body: Value) -> Reply {
    fixture.send(by, Method::POST, &format!("/sessions/{session}/request-handover"), body).await
}

async fn respond(fixture: &EnvironmentFixture, by: &Caller, session: &str, decision: &str) -> Reply {
    fixture.send(by, Method::POST, &format!("/sessions/{session}/handover/{decision}"), json!({})).await
}

async fn count_events(pool: &PgPool, event_type: &str) -> i64 {
    sqlx::query_scalar(
        "select (select count(*) from event_intake where type = $1) + (select count(*) from events where type = $1)",
    )
    .bind(event_type)
    .fetch_one(pool)
    .await
    .unwrap()
}

#[tokio::test]
async fn a_hand_over_is_requested_and_accepted() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let held = fixture.claim(&fixture.dev, json!({ "commitId": "0123abc" })).await.session();
    let requested =
        request_handover(&fixture, &fixture.mate, &held, json!({ "context": "hotfix", "graceSeconds": 60 }))
            .await;
    let waiting = requested.session();
    let requested = requested.is(202)["data"].clone();
    assert_eq!(
        (&requested["status"], &requested["position"], &requested["handover"]),
        (&json!("queued"), &json!(1), &Value::Null)
    );
    let record = fixture.get(&fixture.dev, &format!("/sessions/{held}")).await.is(200)["data"].clone();
    assert_eq!(record["handover"], record["lock"]["handover"]);
    assert_eq!(record["handover"]["requestedBy"]["id"], fixture.mate.user.as_str());
    assert_eq!(record["handover"]["onSilence"], "accept", "a developer could also force");
    assert_eq!(
        (&record["handover"]["context"], &record["handover"]["sessionId"]),
        (&json!("hotfix"), &json!(waiting))
    );

    let pending = request_handover(&fixture, &fixture.owner, &held, json!({})).await.is(409);
    assert_eq!((&pending["code"], &pending["handover"]), (&json!("handover_pending"), &record["handover"]));
    assert_eq!(
        request_handover(&fixture, &fixture.dev, &held, json!({})).await.is(409)["code"],
        "held_by_you"
    );
    respond(&fixture, &fixture.mate, &held, "accept").await.is(403);
    for grace in [59, 3_601] {
        let refused =
            request_handover(&fixture, &fixture.owner, &held, json!({ "graceSeconds": grace })).await.is(422);
        assert_eq!(refused["errors"][0]["pointer"], "/graceSeconds");
    }

    let released = respond(&fixture, &fixture.dev, &held, "accept").await.is(200)["data"].clone();
    assert_eq!(
        (&released["status"], &released["endedBy"]["id"]),
        (&json!("released"), &json!(fixture.dev.user))
    );
    assert_eq!(released["deployments"][0]["status"], "canceled");
    assert_eq!(released["lock"]["sessionId"], waiting.as_str());
    assert_eq!(released["lock"]["handover"], Value::Null);
    assert_eq!(respond(&fixture, &fixture.dev, &held, "accept").await.is(409)["code"], "session_released");
    assert_eq!(
        (
            count_events(&pool, "session.handover_requested").await,
            count_events(&pool, "session.granted").await
        ),
        (1, 1)
    );
    fixture.end().await;
}

#[tokio::test]
async fn a_hand_over_is_declined_or_withdrawn() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let held = fixture.claim(&fixture.dev, json!({})).await.session();
    assert_eq!(
        respond(&fixture, &fixture.dev, &held, "decline").await.is(409)["code"],
        "handover_not_requested"
    );
    let waiting = request_handover(&fixture, &fixture.mate, &held, json!({})).await.session();
    let path = format!("/sessions/{held}/handover/decline");
    let no = json!({ "context": "a demo runs" });
    let kept = fixture.send(&fixture.dev, Method::POST, &path, no).await.is(200)["data"].clone();
    assert_eq!((&kept["status"], &kept["handover"]), (&json!("active"), &Value::Null));
    assert_eq!(kept["lock"]["queueLength"], 1, "the requester keeps their place in the queue");
    let declined = fixture.get(&fixture.mate, &format!("/sessions/{waiting}")).await.is(200)["data"].clone();
    let declined = &declined["handoverDeclined"];
    assert_eq!(
        (&declined["by"]["id"], &declined["context"]),
        (&json!(fixture.dev.user), &json!("a demo runs"))
    );
    assert!(declined["at"].is_string());
    assert_eq!(count_events(&pool, "session.handover_declined").await, 1);
    // A user who waits already requests the hand-over with the session that waits.
    assert_eq!(request_handover(&fixture, &fixture.mate, &held, json!({})).await.session(), waiting);
    fixture.delete(&fixture.mate, &format!("/sessions/{waiting}")).await.is(200);
    assert_eq!(
        respond(&fixture, &fixture.dev, &held, "accept").await.is(409)["code"],
        "handover_not_requested"
    );
    fixture.age(600).await;
    fixture.sweep().await;
    let record = fixture.get(&fixture.dev, &format!("/sessions/{held}")).await.is(200);
    assert_eq!(record["data"]["status"], "active", "the request was withdrawn");
    fixture.end().await;
}

#[tokio::test]
async fn silence_accepts_and_the_first_in_the_queue_is_granted() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let held = fixture.claim(&fixture.dev, json!({})).await.session();
    let first = fixture.claim(&fixture.owner, json!({ "queue": true })).await.session();
    let requested =
        request_handover(&fixture, &fixture.mate, &held, json!({ "graceSeconds": 60 })).await.is(202);
    assert_eq!(requested["data"]["position"], 2);
    // Renewing does not decline the request.
    fixture.send(&fixture.dev, Method::POST, &format!("/sessions/{held}/renew"), json!({})).await.is(200);
    assert_eq!(fixture.sweep().await, 0, "not yet");
    fixture.age(61).await;
    assert_eq!(fixture.sweep().await, 1, "the sweeper finds it when it is due");
    let ended = fixture.get(&fixture.dev, &format!("/sessions/{held}")).await.is(200)["data"].clone();
    assert_eq!((&ended["status"], &ended["endedBy"]), (&json!("released"), &Value::Null));
    assert_eq!(ended["lock"]["sessionId"], first.as_str());
    assert_eq!(ended["lock"]["queueLength"], 1);
    let late = fixture.send(&fixture.dev, Method::POST, &format!("/sessions/{held}/renew"), json!({})).await;
    assert_eq!(late.is(409)["code"], "session_released");
    fixture.end().await;
}

#[tokio::test]
async fn a_request_ends_when_its_requester_sends_no_heartbeat() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let held = fixture.claim(&fixture.dev, json!({})).await.session();
    request_handover(&fixture, &fixture.mate, &held, json!({ "graceSeconds": 600 })).await.is(202);
    fixture.age(121).await;
    fixture.sweep().await;
    let record = fixture.get(&fixture.dev, &format!("/sessions/{held}")).await.is(200)["data"].clone();
    assert_eq!((&record["handover"], &record["lock"]["queueLength"]), (&Value::Null, &json!(0)));
    fixture.age(600).await;
    fixture.sweep().await;
    assert_eq!(
        fixture.get(&fixture.dev, &format!("/sessions/{held}")).await.is(200)["data"]["status"],
        "active"
    );
    fixture.end().await;
}

/// The deadline, a release and an acceptance are concurrent: the session ends once, and the next is granted
/// once.
#[tokio::test]
async fn a_due_hand_over_races_a_release() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    for round in 1..=5 {
        let held = fixture.claim(&fixture.dev, json!({})).await.session();
        let waiting =
            request_handover(&fixture, &fixture.mate, &held, json!({ "graceSeconds": 60 })).await.session();
        fixture.age(61).await;
        let path = format!("/sessions/{held}");
        let (released, _, accepted) = tokio::join!(
            fixture.delete(&fixture.dev, &path),
            fixture.sweep(),
            respond(&fixture, &fixture.dev, &held, "accept")
        );
        released.is(200);
        assert!(matches!(accepted.status, 200 | 409), "{}", accepted.json);
        let lock = fixture.get(&fixture.owner, "").await.is(200)["data"]["lock"].clone();
        assert_eq!((&lock["sessionId"], &lock["queueLength"]), (&json!(waiting), &json!(0)));
        assert_eq!(count_events(&pool, "session.granted").await, round);
        assert_eq!(count_events(&pool, "session.released").await, 2 * round - 1);
        fixture.delete(&fixture.mate, &format!("/sessions/{waiting}")).await.is(200);
    }
    fixture.end().await;
}

/// The grace time of the definition is the default and the minimum.
#[tokio::test]
async fn the_definition_sets_the_grace_time() {
    let (_database, pool) = TestDatabase::create().await;
    let definition = crate::fixture::DEFINITION.replace("qa-1: {", "qa-1: { handover: { grace: 10m },");
    let fixture = EnvironmentFixture::with(&pool, &definition).await;
    let held = fixture.claim(&fixture.dev, json!({})).await.session();
    let refused =
        request_handover(&fixture, &fixture.mate, &held, json!({ "graceSeconds": 599 })).await.is(422);
    assert_eq!(refused["errors"][0]["pointer"], "/graceSeconds");
    request_handover(&fixture, &fixture.mate, &held, json!({})).await.is(202);
    let requested =
        fixture.get(&fixture.dev, &format!("/sessions/{held}")).await.is(200)["data"]["handover"].clone();
    let at = |field: &str| requested[field].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    assert_eq!(at("dueAt").duration_since(at("requestedAt")).as_secs(), 600);
    fixture.end().await;
}
