//! Notices: what ended a person's sessions without them, until they have read it.

use reqwest::Method;
use serde_json::{Value, json};

use crate::fixture::EnvironmentFixture;
use crate::support::Caller;
use crate::support::database::TestDatabase;

const NOTICES: &str = "/organizations/acme/me/notices";

async fn notices(fixture: &EnvironmentFixture, caller: &Caller) -> Vec<Value> {
    let (status, list) = fixture.server.json(Method::GET, NOTICES, &caller.token, None).await;
    assert_eq!(status, 200, "{list}");
    let rows = list["data"].as_array().unwrap().clone();
    assert_eq!(list["pagination"]["total"], rows.len(), "{list}");
    rows
}

async fn mark(fixture: &EnvironmentFixture, caller: &Caller, until: &str) -> (u16, Value) {
    let path = format!("{NOTICES}/read");
    let body = json!({ "until": until });
    let (status, json) = fixture.server.json(Method::PUT, &path, &caller.token, Some(body)).await;
    (status.as_u16(), json)
}

async fn force(fixture: &EnvironmentFixture, by: &Caller, env: &str, reason: &str) {
    let path = format!("//{env}/force-claim");
    fixture.send(by, Method::POST, &path, json!({ "context": reason })).await.is(201);
}

fn kinds(notices: &[Value]) -> Vec<&str> {
    notices.iter().map(|notice| notice["kind"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn who_is_overridden_has_a_notice_until_it_is_read() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let session = fixture.claim(&fixture.dev, json!({})).await.session();
    force(&fixture, &fixture.mate, "qa-1", "the shop is down").await;

    let found = notices(&fixture, &fixture.dev).await;
    assert_eq!(kinds(&found), ["overridden"]);
    let notice = &found[0];
    let ended = fixture.get(&fixture.dev, &format!("/sessions/{session}")).await.is(200);
    assert_eq!(notice["sessionId"], session.as_str());
    assert_eq!((&notice["envName"], &notice["pipeline"]), (&json!("qa-1"), &json!("shop")));
    assert_eq!(notice["pipelineId"], fixture.pipeline.as_str());
    assert_eq!(notice["context"], "the shop is down");
    assert_eq!(notice["by"]["id"], fixture.mate.user.as_str());
    assert_eq!(notice["at"], ended["data"]["endedAt"]);
    // No other user has it: neither who forced, nor an owner.
    assert_eq!(notices(&fixture, &fixture.mate).await, Vec::<Value>::new());
    assert_eq!(notices(&fixture, &fixture.owner).await, Vec::<Value>::new());

    // What others mark is theirs, and reading the list marks nothing.
    let at = notice["at"].as_str().unwrap();
    assert_eq!(mark(&fixture, &fixture.mate, at).await.0, 200);
    assert_eq!(notices(&fixture, &fixture.dev).await, found);
    for _ in 0..2 {
        let (status, read) = mark(&fixture, &fixture.dev, at).await;
        assert_eq!((status, &read["data"]["until"]), (200, &notice["at"]), "{read}");
        assert_eq!(notices(&fixture, &fixture.dev).await, Vec::<Value>::new());
    }
    // The mark does not go back, so an old page does not bring a notice back.
    let (status, read) = mark(&fixture, &fixture.dev, "2020-01-01T00:00:00Z").await;
    assert_eq!((status, &read["data"]["until"]), (200, &notice["at"]), "{read}");
    assert_eq!(notices(&fixture, &fixture.dev).await, Vec::<Value>::new());
    fixture.end().await;
}

#[tokio::test]
async fn a_notice_after_the_mark_is_kept() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    fixture.claim(&fixture.dev, json!({})).await.is(201);
    fixture.send(&fixture.dev, Method::POST, "//pr-1/sessions", json!({})).await.is(201);
    force(&fixture, &fixture.mate, "qa-1", "first").await;
    let shown = notices(&fixture, &fixture.dev).await;
    // It happens after the page was loaded, and before it is marked as read.
    force(&fixture, &fixture.mate, "pr-1", "second").await;
    let both = notices(&fixture, &fixture.dev).await;
    assert_eq!((&both[0]["context"], &both[1]["context"]), (&json!("second"), &json!("first")));
    mark(&fixture, &fixture.dev, shown[0]["at"].as_str().unwrap()).await;
    let left = notices(&fixture, &fixture.dev).await;
    assert_eq!((left.len(), &left[0]["context"]), (1, &json!("second")));

    // A time in the future marks only what is there now.
    let (_, read) = mark(&fixture, &fixture.dev, "9999-01-01T00:00:00Z").await;
    assert!(read["data"]["until"].as_str().unwrap() < "2999", "{read}");
    assert_eq!(notices(&fixture, &fixture.dev).await, Vec::<Value>::new());
    fixture.send(&fixture.dev, Method::POST, "//pr-2/sessions", json!({})).await.is(201);
    force(&fixture, &fixture.mate, "pr-2", "third").await;
    assert_eq!(notices(&fixture, &fixture.dev).await.len(), 1);
    fixture.end().await;
}

#[tokio::test]
async fn what_a_person_does_has_no_notice() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    // Displaced by oneself, released, and left.
    fixture.claim(&fixture.dev, json!({})).await.is(201);
    force(&fixture, &fixture.dev, "qa-1", "again").await;
    let waiting = fixture.claim(&fixture.mate, json!({ "queue": true })).await.session();
    fixture.delete(&fixture.mate, &format!("/sessions/{waiting}")).await.is(200);
    let held = fixture.get(&fixture.dev, "").await.is(200)["data"]["lock"]["sessionId"].clone();
    fixture.delete(&fixture.dev, &format!("/sessions/{}", held.as_str().unwrap())).await.is(200);
    assert_eq!(notices(&fixture, &fixture.dev).await, Vec::<Value>::new());
    assert_eq!(notices(&fixture, &fixture.mate).await, Vec::<Value>::new());
    // A program's session is not its person's.
    let program = fixture.token(&fixture.dev, json!({ "name": "ci", "kind": "ci" })).await;
    fixture.claim(&program, json!({})).await.is(201);
    force(&fixture, &fixture.mate, "qa-1", "mine now").await;
    assert_eq!(notices(&fixture, &fixture.dev).await, Vec::<Value>::new());
    fixture.end().await;
}

#[tokio::test]
async fn a_lost_place_and_a_missed_turn_have_notices() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let held = fixture.claim(&fixture.dev, json!({})).await.session();
    fixture.claim(&fixture.mate, json!({ "queue": true })).await.is(202);
    fixture.age(121).await;
    fixture.sweep().await;
    let lost = notices(&fixture, &fixture.mate).await;
    assert_eq!(kinds(&lost), ["place_lost"]);
    assert_eq!((&lost[0]["by"], &lost[0]["context"]), (&Value::Null, &Value::Null));

    fixture.claim(&fixture.mate, json!({ "queue": true })).await.is(202);
    fixture.delete(&fixture.dev, &format!("/sessions/{held}")).await.is(200);
    fixture.age(61).await;
    fixture.sweep().await;
    let mut all = notices(&fixture, &fixture.mate).await;
    all.sort_by_key(|notice| notice["kind"].to_string());
    assert_eq!(kinds(&all), ["place_lost", "turn_missed"]);
    assert_eq!(all[1]["by"], Value::Null);

    // After a week they are gone, read or not.
    let age = "update sessions set ended_at = ended_at - interval '7 days' where ended_at is not null";
    sqlx::query(age).execute(&pool).await.unwrap();
    assert_eq!(notices(&fixture, &fixture.mate).await, Vec::<Value>::new());
    fixture.end().await;
}

#[tokio::test]
async fn a_limited_token_sees_notices_of_its_pipelines_and_marks_none() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let body = json!({ "name": "API", "slug": "api", "definition": crate::fixture::DEFINITION });
    let path = "/organizations/acme/pipelines";
    let (_, other) = fixture.server.json(Method::POST, path, &fixture.owner.token, Some(body)).await;
    let other = other["data"]["id"].as_str().unwrap();
    let sessions = "/organizations/acme/pipelines/api/ephemeral-environments/qa-1";
    for (caller, command) in [(&fixture.dev, "sessions"), (&fixture.mate, "force-claim")] {
        let path = format!("{sessions}/{command}");
        let (status, json) = fixture.server.json(Method::POST, &path, &caller.token, Some(json!({}))).await;
        assert_eq!(status, 201, "{json}");
    }
    fixture.claim(&fixture.dev, json!({})).await.is(201);
    force(&fixture, &fixture.mate, "qa-1", "of the shop").await;
    assert_eq!(notices(&fixture, &fixture.dev).await.len(), 2);

    let limited = fixture.token(&fixture.dev, json!({ "name": "limited", "pipelines": [other] })).await;
    let seen = notices(&fixture, &limited).await;
    assert_eq!((seen.len(), &seen[0]["pipeline"]), (1, &json!("api")));
    // The mark would hide what the token does not see.
    let (status, json) = mark(&fixture, &limited, seen[0]["at"].as_str().unwrap()).await;
    assert_eq!((status, &json["code"]), (403, &json!("token_limited")), "{json}");
    assert_eq!(notices(&fixture, &fixture.dev).await.len(), 2);
    fixture.end().await;
}
