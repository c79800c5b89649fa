//! The queue: first in, first out, for sessions that send heartbeats.

use reqwest::Method;
use serde_json::json;

use crate::fixture::EnvironmentFixture;
use crate::support::database::TestDatabase;

#[tokio::test]
async fn first_in_first_out() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let held = fixture.claim(&fixture.dev, json!({})).await.session();
    let second = fixture.claim(&fixture.mate, json!({ "queue": true, "commitId": "0123abc" })).await;
    assert_eq!(second.status, 202);
    assert_eq!(second.json["data"]["position"], 1);
    let third = fixture.claim(&fixture.owner, json!({ "queue": true })).await;
    assert_eq!(third.json["data"]["position"], 2);
    let waiting = fixture.get(&fixture.dev, "/queue").await.is(200);
    assert_eq!(waiting["data"][0]["sessionId"], second.session().as_str());
    assert_eq!(waiting["data"].as_array().unwrap().len(), 2);
    fixture.delete(&fixture.dev, &format!("/sessions/{held}")).await.is(200);
    // The second was granted with a first lease of a minute; a heartbeat makes it a full one.
    let lock = fixture.get(&fixture.dev, "").await.is(200)["data"]["lock"].clone();
    assert_eq!(lock["sessionId"], second.session().as_str());
    let path = format!("/sessions/{}/heartbeat", second.session());
    let taken_up = fixture.send(&fixture.mate, Method::POST, &path, json!({})).await.is(200);
    assert_eq!(taken_up["data"]["status"], "active");
    assert!(taken_up["data"]["expiresAt"].as_str() > lock["expiresAt"].as_str());
    assert_eq!(
        taken_up["data"]["deployments"][0]["commitId"], "0123abc",
        "the commit of the waiting session is deployed"
    );
    // A plain claim does not overtake.
    assert_eq!(fixture.claim(&fixture.dev, json!({})).await.is(409)["code"], "environment_locked");
    fixture.end().await;
}

#[tokio::test]
async fn a_grant_that_is_not_confirmed_passes_to_the_next() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let held = fixture.claim(&fixture.dev, json!({})).await.session();
    let second = fixture.claim(&fixture.mate, json!({ "queue": true })).await.session();
    let third = fixture.claim(&fixture.owner, json!({ "queue": true })).await.session();
    fixture.delete(&fixture.dev, &format!("/sessions/{held}")).await.is(200);
    fixture.age(61).await;
    fixture.sweep().await;
    let lock = fixture.get(&fixture.dev, "").await.is(200)["data"]["lock"].clone();
    assert_eq!(lock["sessionId"], third.as_str());
    assert_eq!(
        fixture.get(&fixture.dev, &format!("/sessions/{second}")).await.is(200)["data"]["status"],
        "canceled"
    );
    fixture.end().await;
}

#[tokio::test]
async fn waiters_without_heartbeats_are_removed_and_do_not_block_others() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    fixture.claim(&fixture.dev, json!({})).await.is(201);
    let silent = fixture.claim(&fixture.mate, json!({ "queue": true })).await.session();
    fixture.age(121).await;
    assert_eq!(fixture.sweep().await, 1);
    assert_eq!(
        fixture.get(&fixture.dev, &format!("/sessions/{silent}")).await.is(200)["data"]["status"],
        "canceled"
    );
    assert_eq!(fixture.get(&fixture.dev, "").await.is(200)["data"]["lock"]["queueLength"], 0);
    assert_eq!(fixture.sweep().await, 0, "it is not swept again");
    fixture.end().await;
}

#[tokio::test]
async fn a_waiter_leaves_and_force_bypasses_the_queue() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    fixture.claim(&fixture.dev, json!({})).await.is(201);
    let waiting = fixture.claim(&fixture.mate, json!({ "queue": true })).await.session();
    let path = format!("/sessions/{waiting}/deploy");
    let not_yet = fixture.send(&fixture.mate, Method::POST, &path, json!({ "commitId": "0123abc" }));
    assert_eq!(not_yet.await.is(409)["code"], "session_queued");
    let forced = fixture.send(&fixture.owner, Method::POST, "/force-claim", json!({})).await.is(201);
    assert_eq!(forced["data"]["lock"]["queueLength"], 1, "the queue stays");
    let left = fixture.delete(&fixture.mate, &format!("/sessions/{waiting}")).await.is(200);
    assert_eq!(left["data"]["status"], "canceled");
    assert_eq!(left["data"]["lock"]["queueLength"], 0);
    fixture.end().await;
}
