//! Suggested actions of a refusal: complete requests that contain what the caller sent and can be sent
//! unchanged.

use reqwest::Method;
use serde_json::{Value, json};

use crate::fixture::{EnvironmentFixture, Reply};
use crate::support::Caller;
use crate::support::database::TestDatabase;

/// Returns the suggested request with this name.
#[track_caller]
fn suggested(refusal: &Value, action: &str) -> Value {
    let mut actions = refusal["actions"].as_array().unwrap().iter();
    let found = actions.find(|suggested| suggested["action"] == action);
    assert!(found.is_some(), "{refusal}");
    found.unwrap().clone()
}

fn names(refusal: &Value) -> Vec<&str> {
    let actions = refusal["actions"].as_array().unwrap().iter();
    actions.map(|action| action["action"].as_str().unwrap()).collect()
}

/// Sends a suggested request to its `href`.
async fn follow(fixture: &EnvironmentFixture, by: &Caller, suggested: &Value) -> Reply {
    let path = suggested["href"].as_str().unwrap().strip_prefix("/api/v1").unwrap();
    let method: Method = suggested["method"].as_str().unwrap().parse().unwrap();
    let body = suggested.get("body").cloned();
    let (status, json) = fixture.server.json(method, path, &by.token, body).await;
    Reply { status: status.as_u16(), json }
}

fn claim_body() -> Value {
    json!({ "commitId": "0123abc", "branch": "main", "context": "checkout fix", "ttlSeconds": 600 })
}

#[tokio::test]
async fn the_queue_keeps_the_callers_request() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let held = fixture.claim(&fixture.dev, json!({})).await.session();
    let refused = fixture.claim(&fixture.mate, claim_body()).await.is(409);
    let queue = suggested(&refused, "queue");
    let mut expected = claim_body();
    expected["queue"] = json!(true);
    assert_eq!(queue["body"], expected);
    assert_eq!(queue["path"], "sessions");
    let href = format!(
        "/api/v1/organizations/acme/pipelines/{}/ephemeral-environments/qa-1/sessions",
        fixture.pipeline
    );
    assert_eq!(queue["href"], href.as_str());

    let waiting = follow(&fixture, &fixture.mate, &queue).await;
    let session = waiting.session();
    assert_eq!(waiting.is(202)["data"]["context"], "checkout fix");
    fixture.delete(&fixture.dev, &format!("/sessions/{held}")).await.is(200);
    fixture
        .send(&fixture.mate, Method::POST, &format!("/sessions/{session}/heartbeat"), json!({}))
        .await
        .is(200);
    let granted = fixture.get(&fixture.mate, &format!("/sessions/{session}")).await.is(200)["data"].clone();
    assert_eq!(granted["status"], "active");
    assert_eq!(
        granted["deployments"][0]["commitId"], "0123abc",
        "the commit is deployed when the session is granted"
    );
    fixture.end().await;
}

#[tokio::test]
async fn a_hand_over_is_offered_and_keeps_the_request() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let held = fixture.claim(&fixture.dev, json!({})).await.session();
    let refused = fixture.claim(&fixture.mate, claim_body()).await.is(409);
    assert_eq!(names(&refused), ["queue", "request_handover", "force_claim"]);
    assert!(refused["detail"].as_str().unwrap().contains("hand it over"), "{refused}");
    let handover = suggested(&refused, "request_handover");
    assert_eq!(handover["path"], format!("sessions/{held}/request-handover"));
    assert_eq!(handover["body"], claim_body());
    let waiting = follow(&fixture, &fixture.mate, &handover).await.session();

    // Only one request for hand-over can be pending.
    let refused = fixture.claim(&fixture.owner, json!({ "context": "demo" })).await.is(409);
    assert!(!names(&refused).contains(&"request_handover"), "{refused}");
    let path = format!("/sessions/{held}/request-handover");
    let pending =
        fixture.send(&fixture.owner, Method::POST, &path, json!({ "context": "demo" })).await.is(409);
    assert_eq!(suggested(&pending, "queue")["body"], json!({ "context": "demo", "queue": true }));
    follow(&fixture, &fixture.owner, &suggested(&pending, "queue")).await.is(202);

    let path = format!("/sessions/{held}/handover/accept");
    fixture.send(&fixture.dev, Method::POST, &path, json!({})).await.is(200);
    let granted = fixture.get(&fixture.mate, &format!("/sessions/{waiting}")).await.is(200)["data"].clone();
    assert_eq!((&granted["status"], &granted["context"]), (&json!("active"), &json!("checkout fix")));
    assert_eq!(granted["deployments"][0]["commitId"], "0123abc");
    fixture.end().await;
}

#[tokio::test]
async fn force_and_deploy_keep_the_request() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    fixture.claim(&fixture.dev, json!({})).await.is(201);
    let refused = fixture.claim(&fixture.mate, claim_body()).await.is(409);
    let taken =
        follow(&fixture, &fixture.mate, &suggested(&refused, "force_claim")).await.is(201)["data"].clone();
    assert_eq!((&taken["commitId"], &taken["context"]), (&json!("0123abc"), &json!("checkout fix")));

    let yours =
        fixture.claim(&fixture.mate, json!({ "commitId": "4567def", "branch": "main" })).await.is(409);
    assert_eq!(names(&yours), ["queue", "continue", "deploy", "release", "force_claim"]);
    let deploy = suggested(&yours, "deploy");
    assert_eq!(deploy["body"], json!({ "commitId": "4567def", "branch": "main" }));
    assert_eq!(follow(&fixture, &fixture.mate, &deploy).await.is(202)["data"]["commitId"], "4567def");
    // Without a commit the caller has to add one.
    let yours = fixture.claim(&fixture.mate, json!({})).await.is(409);
    assert_eq!(suggested(&yours, "deploy").get("body"), None);
    follow(&fixture, &fixture.mate, &suggested(&yours, "release")).await.is(200);
    fixture.end().await;
}

/// A claim with `Prefer: wait` that times out gets the same suggestions.
#[tokio::test]
async fn a_wait_that_times_out_keeps_the_request() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    fixture.claim(&fixture.dev, json!({})).await.is(201);
    let (base, pipeline) = (&fixture.server.base, &fixture.pipeline);
    let url = format!("{base}/organizations/acme/pipelines/{pipeline}/ephemeral-environments/qa-1/sessions");
    let request = fixture.server.client.post(url).bearer_auth(&fixture.mate.token).header("Prefer", "wait=1");
    let refused: Value = request.json(&claim_body()).send().await.unwrap().json().await.unwrap();
    assert_eq!(refused["code"], "environment_locked", "{refused}");
    assert_eq!(suggested(&refused, "request_handover")["body"], claim_body());
    fixture.end().await;
}
