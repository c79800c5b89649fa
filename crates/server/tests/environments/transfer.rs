//! Transfers of a session to another user.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::fixture::{EnvironmentFixture, Reply};
use crate::support::database::TestDatabase;
use crate::support::{Caller, eventually};

async fn transfer(fixture: &EnvironmentFixture, by: &Caller, session: &str, to: &str) -> Reply {
    let path = format!("/sessions/{session}/transfer");
    fixture.send(by, Method::POST, &path, json!({ "userId": to })).await
}

#[tokio::test]
async fn a_transfer_bypasses_the_queue_and_raises_the_fence() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let body = json!({ "commitId": "0123abc", "context": "demo", "ttlSeconds": 600 });
    let first = fixture.claim(&fixture.dev, body).await.session();
    let waiting = fixture.claim(&fixture.owner, json!({ "queue": true })).await.session();
    let given = transfer(&fixture, &fixture.dev, &first, &fixture.mate.user).await.is(201)["data"].clone();
    assert_eq!((&given["fence"], &given["context"]), (&json!(3), &json!("demo")));
    assert_eq!(given["claimedBy"]["id"], fixture.mate.user.as_str());
    assert_eq!(given["lock"]["sessionId"], given["sessionId"]);
    assert_eq!(given["lock"]["queueLength"], 1, "the queue stays");
    let old = fixture.get(&fixture.dev, &format!("/sessions/{first}")).await.is(200)["data"].clone();
    assert_eq!((&old["status"], &old["endedBy"]["id"]), (&json!("released"), &json!(fixture.dev.user)));
    assert_eq!(old["deployments"][0]["status"], "canceled");
    assert_eq!(
        transfer(&fixture, &fixture.dev, &first, &fixture.mate.user).await.is(409)["code"],
        "session_released"
    );
    // The recipient is the holder, and only the holder can transfer the session again.
    let session = given["sessionId"].as_str().unwrap();
    let deploy = format!("/sessions/{session}/deploy");
    fixture.send(&fixture.mate, Method::POST, &deploy, json!({ "commitId": "0123abc" })).await.is(202);
    fixture.delete(&fixture.mate, &format!("/sessions/{session}")).await.is(200);
    assert_eq!(fixture.get(&fixture.dev, "").await.is(200)["data"]["lock"]["sessionId"], waiting.as_str());

    // Each grant and each end is recorded once.
    let path = "/organizations/acme/events?limit=100";
    let session_events = async || {
        let (_, list) = fixture.server.json(Method::GET, path, &fixture.owner.token, None).await;
        let events = list["data"].as_array().unwrap().clone();
        let of =
            |name: &str| events.iter().filter(|event| event["type"] == name).cloned().collect::<Vec<Value>>();
        (of("session.claimed"), of("session.granted"), of("session.released"))
    };
    let all = async || {
        let (claimed, granted, released) = session_events().await;
        (claimed.len(), granted.len(), released.len()) == (2, 1, 2)
    };
    assert!(eventually(Duration::from_secs(5), all).await, "{:?}", session_events().await);
    let (claimed, _, released) = session_events().await;
    assert_eq!(claimed[0]["data"]["reason"], "transferred by A developer");
    assert_eq!(released[1]["data"]["reason"], "transferred to A developer");
    fixture.end().await;
}

#[tokio::test]
async fn a_transfer_to_an_ineligible_user_is_rejected() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let viewer = fixture.server.member(&fixture.owner, "acme", "viewer").await;
    let stranger = fixture.server.organization("globex").await;
    let session = fixture.claim(&fixture.dev, json!({})).await.session();
    for to in [fixture.dev.user.as_str(), viewer.user.as_str(), stranger.user.as_str(), "usr_x", "\u{0}"] {
        let refused = transfer(&fixture, &fixture.dev, &session, to).await.is(422);
        assert_eq!(refused["errors"][0]["pointer"], "/userId", "{to}");
    }
    for by in [&fixture.mate, &fixture.owner] {
        assert_eq!(transfer(&fixture, by, &session, &fixture.mate.user).await.is(403)["code"], "forbidden");
    }
    let lock = fixture.get(&fixture.dev, "").await.is(200)["data"]["lock"].clone();
    assert_eq!((&lock["sessionId"], &lock["fence"]), (&json!(session), &json!(1)), "nothing has changed");
    fixture.end().await;
}
