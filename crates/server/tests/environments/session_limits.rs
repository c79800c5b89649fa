//! `maxSessions`: how many sessions a token, and those made by it, hold at a time.

use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::fixture::{EnvironmentFixture, Reply};
use crate::support::Caller;
use crate::support::database::TestDatabase;

const MANY: &str = "ephemeralEnvironments:\n  qa-1: { lease: { default: 1h, max: 2h } }\n  \"pr-*\": { max: 20 }\nstages:\n  build:\n    steps:\n      - image: busybox\n        run: 'true'\n";

async fn claim(fixture: &EnvironmentFixture, by: &Caller, name: &str, body: Value) -> Reply {
    fixture.send(by, Method::POST, &format!("//{name}/sessions"), body).await
}

async fn is_refused(fixture: &EnvironmentFixture, by: &Caller, name: &str, body: Value) {
    let refused = claim(fixture, by, name, body).await.is(409);
    assert_eq!(refused["code"], "session_limit", "{refused}");
}

fn limited(max_sessions: i64) -> Value {
    json!({ "name": "limited", "maxSessions": max_sessions, "allowForce": true, "scopes": ["read", "hold", "deploy", "write"] })
}

#[tokio::test]
async fn a_token_holds_no_more_than_its_maximum() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::with(&pool, MANY).await;
    // Any kind of token, and any kind of user.
    let account = fixture.service_account("developer").await;
    let programs = fixture.service_token(&account, limited(1)).await;
    let persons = fixture.token(&fixture.dev, json!({ "name": "limited", "maxSessions": 1 })).await;
    for (by, [first, second]) in [(programs, ["pr-1", "pr-2"]), (persons, ["pr-3", "pr-4"])] {
        let held = claim(&fixture, &by, first, json!({})).await.session();
        for body in [json!({}), json!({ "queue": true }), json!({ "commitId": "0123abc" })] {
            is_refused(&fixture, &by, second, body).await;
        }
        let forced = fixture.send(&by, Method::POST, &format!("//{second}/force-claim"), json!({})).await;
        assert_eq!(forced.is(409)["code"], "session_limit");
        // A session that its own grant ends does not count.
        let forced = fixture.send(&by, Method::POST, &format!("//{first}/force-claim"), json!({})).await;
        let again = forced.session();
        assert_ne!(again, held);
        fixture.delete(&by, &format!("//{first}/sessions/{again}")).await.is(200);
        claim(&fixture, &by, second, json!({})).await.session();
    }
    // Other tokens of the same user are not limited.
    claim(&fixture, &fixture.dev, "pr-5", json!({})).await.session();
    fixture.end().await;
}

#[tokio::test]
async fn an_expired_lease_does_not_count() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::with(&pool, MANY).await;
    let by = fixture.token(&fixture.dev, json!({ "name": "limited", "maxSessions": 1 })).await;
    claim(&fixture, &by, "qa-1", json!({ "ttlSeconds": 60 })).await.session();
    is_refused(&fixture, &by, "pr-1", json!({})).await;
    fixture.age(120).await;
    claim(&fixture, &by, "pr-1", json!({})).await.session();
    fixture.end().await;
}

#[tokio::test]
async fn sessions_of_children_count_for_their_parents() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::with(&pool, MANY).await;
    let account = fixture.service_account("developer").await;
    let parent = fixture.service_token(&account, limited(2)).await;
    let child = fixture
        .token(&parent, json!({ "name": "child", "maxSessions": 1, "scopes": ["read", "hold", "write"] }))
        .await;
    let inherits = fixture.token(&child, json!({ "name": "grandchild", "scopes": ["read", "hold"] })).await;
    let path = format!("/organizations/acme/api-tokens/{}", inherits.token_id);
    let (_, record) = fixture.server.json(Method::GET, &path, &fixture.owner.token, None).await;
    assert_eq!(record["data"]["maxSessions"], 1, "{record}");
    let body = json!({ "name": "more", "maxSessions": 3 });
    let (status, refused) =
        fixture.server.json(Method::POST, "/organizations/acme/api-tokens", &parent.token, Some(body)).await;
    assert_eq!((status.as_u16(), &refused["code"]), (403, &json!("token_exceeds_parent")), "{refused}");

    claim(&fixture, &inherits, "pr-1", json!({})).await.session();
    is_refused(&fixture, &child, "pr-2", json!({})).await;
    claim(&fixture, &parent, "pr-2", json!({})).await.session();
    is_refused(&fixture, &parent, "pr-3", json!({})).await;
    // A sibling family of the same account has its own sessions.
    let other = fixture.service_token(&account, limited(1)).await;
    claim(&fixture, &other, "pr-3", json!({})).await.session();
    fixture.end().await;
}

#[tokio::test]
async fn concurrent_claims_do_not_exceed_the_maximum() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = std::sync::Arc::new(EnvironmentFixture::with(&pool, MANY).await);
    let account = fixture.service_account("developer").await;
    let by = fixture.service_token(&account, limited(3)).await;
    // The environments exist before, so that creating them does not serialize the claims.
    for number in 0..10 {
        let name = format!("pr-{number}");
        let held = claim(&fixture, &fixture.dev, &name, json!({})).await.session();
        fixture.delete(&fixture.dev, &format!("//{name}/sessions/{held}")).await.is(200);
    }
    let mut claims = JoinSet::new();
    for number in 0..10 {
        let (fixture, by) = (std::sync::Arc::clone(&fixture), by.clone());
        claims.spawn(async move { claim(&fixture, &by, &format!("pr-{number}"), json!({})).await.status });
    }
    let mut statuses = claims.join_all().await;
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 201, 201, 409, 409, 409, 409, 409, 409, 409]);
    std::sync::Arc::into_inner(fixture).unwrap().end().await;
}

#[tokio::test]
async fn the_queue_skips_a_token_at_its_maximum() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::with(&pool, MANY).await;
    let account = fixture.service_account("developer").await;
    let by = fixture.service_token(&account, limited(1)).await;
    let held = claim(&fixture, &fixture.dev, "qa-1", json!({})).await.session();
    // It may wait for several, and holds one.
    let waiting = claim(&fixture, &by, "qa-1", json!({ "queue": true })).await.session();
    let next = claim(&fixture, &fixture.mate, "qa-1", json!({ "queue": true })).await.session();
    let own = claim(&fixture, &by, "pr-1", json!({})).await.session();
    fixture.delete(&fixture.dev, &format!("/sessions/{held}")).await.is(200);
    let ended = fixture.get(&by, &format!("/sessions/{waiting}")).await.is(200)["data"].clone();
    assert_eq!((&ended["status"], &ended["lock"]["sessionId"]), (&json!("canceled"), &json!(next)));
    let sql = "select data->>'reason' from (select type, data from event_intake union all select type, data from events) e
         where type = 'session.canceled' and data->'after'->>'sessionId' = $1";
    let reason: String = sqlx::query_scalar(sql).bind(&waiting).fetch_one(&pool).await.unwrap();
    assert!(reason.contains("as many sessions as it may"), "{reason}");

    // With room it is granted.
    let waiting = claim(&fixture, &by, "qa-1", json!({ "queue": true })).await.session();
    fixture.delete(&by, &format!("//pr-1/sessions/{own}")).await.is(200);
    fixture.delete(&fixture.mate, &format!("/sessions/{next}")).await.is(200);
    let granted = fixture.get(&by, &format!("/sessions/{waiting}")).await.is(200)["data"].clone();
    assert_eq!(granted["status"], "active", "{granted}");
    is_refused(&fixture, &by, "pr-1", json!({})).await;
    fixture.end().await;
}
