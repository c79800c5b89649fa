//! The queue: first in, first out, for as long as one is there.

use reqwest::Method;
use serde_json::json;
use sqlx::PgPool;

use crate::site::Site;

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn first_in_first_out(pool: PgPool) {
    let site = Site::new(&pool).await;
    let held = site.claim(&site.dev, json!({})).await.session();
    let second = site.claim(&site.mate, json!({ "queue": true, "commitId": "0123abc" })).await;
    assert_eq!(second.status, 202);
    assert_eq!(second.json["data"]["position"], 1);
    let third = site.claim(&site.owner, json!({ "queue": true })).await;
    assert_eq!(third.json["data"]["position"], 2);
    let waiting = site.get(&site.dev, "/queue").await.is(200);
    assert_eq!(waiting["data"][0]["sessionId"], second.session().as_str());
    assert_eq!(waiting["data"].as_array().unwrap().len(), 2);
    site.delete(&site.dev, &format!("/sessions/{held}")).await.is(200);
    // The second was granted with a first lease of a minute; a heartbeat makes it a full one.
    let lock = site.get(&site.dev, "").await.is(200)["data"]["lock"].clone();
    assert_eq!(lock["sessionId"], second.session().as_str());
    let path = format!("/sessions/{}/heartbeat", second.session());
    let taken_up = site.send(&site.mate, Method::POST, &path, json!({})).await.is(200);
    assert_eq!(taken_up["data"]["status"], "active");
    assert!(taken_up["data"]["expiresAt"].as_str() > lock["expiresAt"].as_str());
    assert_eq!(taken_up["data"]["deployments"][0]["commitId"], "0123abc", "what it waited with is deployed");
    // A plain claim does not overtake.
    assert_eq!(site.claim(&site.dev, json!({})).await.is(409)["code"], "environment_locked");
    site.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_turn_that_is_not_taken_up_goes_to_the_next(pool: PgPool) {
    let site = Site::new(&pool).await;
    let held = site.claim(&site.dev, json!({})).await.session();
    let second = site.claim(&site.mate, json!({ "queue": true })).await.session();
    let third = site.claim(&site.owner, json!({ "queue": true })).await.session();
    site.delete(&site.dev, &format!("/sessions/{held}")).await.is(200);
    site.age(61).await;
    site.sweep().await;
    let lock = site.get(&site.dev, "").await.is(200)["data"]["lock"].clone();
    assert_eq!(lock["sessionId"], third.as_str());
    assert_eq!(
        site.get(&site.dev, &format!("/sessions/{second}")).await.is(200)["data"]["status"],
        "canceled"
    );
    site.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn the_silent_leave_and_nobody_else_is_held_up(pool: PgPool) {
    let site = Site::new(&pool).await;
    site.claim(&site.dev, json!({})).await.is(201);
    let silent = site.claim(&site.mate, json!({ "queue": true })).await.session();
    site.age(121).await;
    assert_eq!(site.sweep().await, 1);
    assert_eq!(
        site.get(&site.dev, &format!("/sessions/{silent}")).await.is(200)["data"]["status"],
        "canceled"
    );
    assert_eq!(site.get(&site.dev, "").await.is(200)["data"]["lock"]["queueLength"], 0);
    assert_eq!(site.sweep().await, 0, "it is not looked at again and again");
    site.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn leaving_the_queue_and_force_past_it(pool: PgPool) {
    let site = Site::new(&pool).await;
    site.claim(&site.dev, json!({})).await.is(201);
    let waiting = site.claim(&site.mate, json!({ "queue": true })).await.session();
    let path = format!("/sessions/{waiting}/deploy");
    let not_yet = site.send(&site.mate, Method::POST, &path, json!({ "commitId": "0123abc" }));
    assert_eq!(not_yet.await.is(409)["code"], "session_queued");
    let forced = site.send(&site.owner, Method::POST, "/force-claim", json!({})).await.is(201);
    assert_eq!(forced["data"]["lock"]["queueLength"], 1, "the queue stays");
    let left = site.delete(&site.mate, &format!("/sessions/{waiting}")).await.is(200);
    assert_eq!(left["data"]["status"], "canceled");
    assert_eq!(left["data"]["lock"]["queueLength"], 0);
    site.end().await;
}
