//! Giving a session to somebody else.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::site::{Reply, Site};
use crate::support::{Caller, eventually};

async fn transfer(site: &Site, by: &Caller, session: &str, to: &str) -> Reply {
    let path = format!("/sessions/{session}/transfer");
    site.send(by, Method::POST, &path, json!({ "userId": to })).await
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn past_the_queue_with_a_new_fence(pool: PgPool) {
    let site = Site::new(&pool).await;
    let body = json!({ "commitId": "0123abc", "context": "demo", "ttlSeconds": 600 });
    let first = site.claim(&site.dev, body).await.session();
    let waiting = site.claim(&site.owner, json!({ "queue": true })).await.session();
    let given = transfer(&site, &site.dev, &first, &site.mate.user).await.is(201)["data"].clone();
    assert_eq!((&given["fence"], &given["context"]), (&json!(3), &json!("demo")));
    assert_eq!(given["claimedBy"]["id"], site.mate.user.as_str());
    assert_eq!(given["lock"]["sessionId"], given["sessionId"]);
    assert_eq!(given["lock"]["queueLength"], 1, "the queue stays");
    let old = site.get(&site.dev, &format!("/sessions/{first}")).await.is(200)["data"].clone();
    assert_eq!((&old["status"], &old["endedBy"]["id"]), (&json!("released"), &json!(site.dev.user)));
    assert_eq!(old["deployments"][0]["status"], "canceled");
    assert_eq!(transfer(&site, &site.dev, &first, &site.mate.user).await.is(409)["code"], "session_released");
    // Whom it was given to holds it, and is the only one who can give it on.
    let session = given["sessionId"].as_str().unwrap();
    let deploy = format!("/sessions/{session}/deploy");
    site.send(&site.mate, Method::POST, &deploy, json!({ "commitId": "0123abc" })).await.is(202);
    site.delete(&site.mate, &format!("/sessions/{session}")).await.is(200);
    assert_eq!(site.get(&site.dev, "").await.is(200)["data"]["lock"]["sessionId"], waiting.as_str());

    // Each grant and each end is told once.
    let path = "/organizations/acme/events?limit=100";
    let told = async || {
        let (_, listed) = site.server.json(Method::GET, path, &site.owner.token, None).await;
        let events = listed["data"].as_array().unwrap().clone();
        let of =
            |name: &str| events.iter().filter(|event| event["type"] == name).cloned().collect::<Vec<Value>>();
        (of("session.claimed"), of("session.granted"), of("session.released"))
    };
    let all = async || {
        let (claimed, granted, released) = told().await;
        (claimed.len(), granted.len(), released.len()) == (2, 1, 2)
    };
    assert!(eventually(Duration::from_secs(5), all).await, "{:?}", told().await);
    let (claimed, _, released) = told().await;
    assert_eq!(claimed[0]["data"]["reason"], "transferred by A developer");
    assert_eq!(released[1]["data"]["reason"], "transferred to A developer");
    site.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn to_whom_it_can_not_be_given(pool: PgPool) {
    let site = Site::new(&pool).await;
    let viewer = site.server.member(&site.owner, "acme", "viewer").await;
    let stranger = site.server.organization("globex").await;
    let session = site.claim(&site.dev, json!({})).await.session();
    for to in [site.dev.user.as_str(), viewer.user.as_str(), stranger.user.as_str(), "usr_x", "\u{0}"] {
        let refused = transfer(&site, &site.dev, &session, to).await.is(422);
        assert_eq!(refused["errors"][0]["pointer"], "/userId", "{to}");
    }
    for by in [&site.mate, &site.owner] {
        assert_eq!(transfer(&site, by, &session, &site.mate.user).await.is(403)["code"], "forbidden");
    }
    let lock = site.get(&site.dev, "").await.is(200)["data"]["lock"].clone();
    assert_eq!((&lock["sessionId"], &lock["fence"]), (&json!(session), &json!(1)), "nothing has changed");
    site.end().await;
}
