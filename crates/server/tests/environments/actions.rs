//! What a refusal suggests: complete requests that keep what the caller sent, and work when they are sent as they are.

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::site::{Reply, Site};
use crate::support::Caller;

/// The suggested request of this name.
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

/// Sends a suggested request, by its `href` alone.
async fn follow(site: &Site, by: &Caller, suggested: &Value) -> Reply {
    let path = suggested["href"].as_str().unwrap().strip_prefix("/api/v1").unwrap();
    let method: Method = suggested["method"].as_str().unwrap().parse().unwrap();
    let body = suggested.get("body").cloned();
    let (status, json) = site.server.json(method, path, &by.token, body).await;
    Reply { status: status.as_u16(), json }
}

fn asked() -> Value {
    json!({ "commitId": "0123abc", "branch": "main", "context": "checkout fix", "ttlSeconds": 600 })
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn the_queue_keeps_the_callers_request(pool: PgPool) {
    let site = Site::new(&pool).await;
    let held = site.claim(&site.dev, json!({})).await.session();
    let refused = site.claim(&site.mate, asked()).await.is(409);
    let queue = suggested(&refused, "queue");
    let mut expected = asked();
    expected["queue"] = json!(true);
    assert_eq!(queue["body"], expected);
    assert_eq!(queue["path"], "sessions");
    let href = format!(
        "/api/v1/organizations/acme/pipelines/{}/ephemeral-environments/qa-1/sessions",
        site.pipeline
    );
    assert_eq!(queue["href"], href.as_str());

    let waiting = follow(&site, &site.mate, &queue).await;
    let session = waiting.session();
    assert_eq!(waiting.is(202)["data"]["context"], "checkout fix");
    site.delete(&site.dev, &format!("/sessions/{held}")).await.is(200);
    site.send(&site.mate, Method::POST, &format!("/sessions/{session}/heartbeat"), json!({})).await.is(200);
    let granted = site.get(&site.mate, &format!("/sessions/{session}")).await.is(200)["data"].clone();
    assert_eq!(granted["status"], "active");
    assert_eq!(granted["deployments"][0]["commitId"], "0123abc", "it is deployed when the turn comes");
    site.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_hand_over_is_offered_and_keeps_the_request(pool: PgPool) {
    let site = Site::new(&pool).await;
    let held = site.claim(&site.dev, json!({})).await.session();
    let refused = site.claim(&site.mate, asked()).await.is(409);
    assert_eq!(names(&refused), ["queue", "request_handover", "force_claim"]);
    assert!(refused["detail"].as_str().unwrap().contains("hand it over"), "{refused}");
    let ask = suggested(&refused, "request_handover");
    assert_eq!(ask["path"], format!("sessions/{held}/request-handover"));
    assert_eq!(ask["body"], asked());
    let waiting = follow(&site, &site.mate, &ask).await.session();

    // The holder answers one request at a time.
    let refused = site.claim(&site.owner, json!({ "context": "demo" })).await.is(409);
    assert!(!names(&refused).contains(&"request_handover"), "{refused}");
    let path = format!("/sessions/{held}/request-handover");
    let pending = site.send(&site.owner, Method::POST, &path, json!({ "context": "demo" })).await.is(409);
    assert_eq!(suggested(&pending, "queue")["body"], json!({ "context": "demo", "queue": true }));
    follow(&site, &site.owner, &suggested(&pending, "queue")).await.is(202);

    let path = format!("/sessions/{held}/handover/accept");
    site.send(&site.dev, Method::POST, &path, json!({})).await.is(200);
    let granted = site.get(&site.mate, &format!("/sessions/{waiting}")).await.is(200)["data"].clone();
    assert_eq!((&granted["status"], &granted["context"]), (&json!("active"), &json!("checkout fix")));
    assert_eq!(granted["deployments"][0]["commitId"], "0123abc");
    site.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn force_and_deploy_keep_the_request(pool: PgPool) {
    let site = Site::new(&pool).await;
    site.claim(&site.dev, json!({})).await.is(201);
    let refused = site.claim(&site.mate, asked()).await.is(409);
    let taken = follow(&site, &site.mate, &suggested(&refused, "force_claim")).await.is(201)["data"].clone();
    assert_eq!((&taken["commitId"], &taken["context"]), (&json!("0123abc"), &json!("checkout fix")));

    let yours = site.claim(&site.mate, json!({ "commitId": "4567def", "branch": "main" })).await.is(409);
    assert_eq!(names(&yours), ["queue", "deploy", "release", "force_claim"]);
    let deploy = suggested(&yours, "deploy");
    assert_eq!(deploy["body"], json!({ "commitId": "4567def", "branch": "main" }));
    assert_eq!(follow(&site, &site.mate, &deploy).await.is(202)["data"]["commitId"], "4567def");
    // Without a commit the caller has to say which one.
    let yours = site.claim(&site.mate, json!({})).await.is(409);
    assert_eq!(suggested(&yours, "deploy").get("body"), None);
    follow(&site, &site.mate, &suggested(&yours, "release")).await.is(200);
    site.end().await;
}

/// A claim that waits in its request and is refused in the end is offered the same.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_wait_that_is_over_keeps_the_request(pool: PgPool) {
    let site = Site::new(&pool).await;
    site.claim(&site.dev, json!({})).await.is(201);
    let (base, pipeline) = (&site.server.base, &site.pipeline);
    let url = format!("{base}/organizations/acme/pipelines/{pipeline}/ephemeral-environments/qa-1/sessions");
    let request = site.server.client.post(url).bearer_auth(&site.mate.token).header("Prefer", "wait=1");
    let refused: Value = request.json(&asked()).send().await.unwrap().json().await.unwrap();
    assert_eq!(refused["code"], "environment_locked", "{refused}");
    assert_eq!(suggested(&refused, "request_handover")["body"], asked());
    site.end().await;
}
