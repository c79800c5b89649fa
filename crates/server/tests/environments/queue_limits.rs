//! The limits on places in queues, by user and environment, and the refusals.

use reqwest::Method;
use serde_json::json;

use crate::fixture::EnvironmentFixture;
use crate::support::database::TestDatabase;

/// Adds waiting sessions of other users to a queue, as if they were queued a moment ago.
pub async fn fill(fixture: &EnvironmentFixture, environment: &str, count: i64) {
    let sql = "with place as (
            update environments set waiters = waiters + $2, sessions = sessions + $2 where name = $1
            returning organization_id, id, sessions - $2 as before
        )
        insert into sessions (organization_id, id, environment_id, ordinal, status, user_id, user_name, user_kind,
                              lease_seconds, longest_seconds, queued_at, heard_at, waiting)
        select organization_id, gen_random_uuid(), id, before + number, 'queued', gen_random_uuid(), 'Somebody', 'user',
               3600, 7200, clock_timestamp(), clock_timestamp(), true
        from place, generate_series(1, $2) as number";
    sqlx::query(sql).bind(environment).bind(count).execute(&fixture.pool).await.unwrap();
}

#[tokio::test]
async fn a_person_waits_once() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let held = fixture.claim(&fixture.dev, json!({})).await.session();
    fixture.claim(&fixture.owner, json!({ "queue": true })).await.is(202);
    let waiting = fixture.claim(&fixture.mate, json!({ "queue": true })).await.session();
    let second = fixture.token(&fixture.mate, json!({ "name": "second", "kind": "user" })).await;
    for caller in [&fixture.mate, &second] {
        let refused = fixture.claim(caller, json!({ "queue": true })).await.is(409);
        assert_eq!(
            (&refused["code"], &refused["sessionId"], &refused["position"]),
            (&json!("already_queued"), &json!(waiting), &json!(2))
        );
    }
    // A request for hand-over uses the existing place in the queue.
    let path = format!("/sessions/{held}/request-handover");
    assert_eq!(fixture.send(&fixture.mate, Method::POST, &path, json!({})).await.session(), waiting);
    // The same user may wait in another environment, and programs have separate places.
    fixture.send(&fixture.dev, Method::POST, "//pr-1/sessions", json!({})).await.is(201);
    fixture.send(&fixture.mate, Method::POST, "//pr-1/sessions", json!({ "queue": true })).await.is(202);
    let bot = fixture.token(&fixture.mate, json!({ "name": "bot", "kind": "ci" })).await;
    for _ in 0..2 {
        fixture.claim(&bot, json!({ "queue": true })).await.is(202);
    }
    let lock = fixture.get(&fixture.dev, "").await.is(200)["data"]["lock"].clone();
    assert_eq!(lock["queueLength"], 4, "a refused claim leaves no session");
    fixture.end().await;
}

#[tokio::test]
async fn programs_share_fifty_places() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let bot = fixture.token(&fixture.mate, json!({ "name": "bot", "kind": "ci" })).await;
    let agent = fixture.token(&fixture.mate, json!({ "name": "agent", "kind": "agent" })).await;
    let held = fixture.claim(&fixture.dev, json!({})).await.session();
    fixture.send(&fixture.dev, Method::POST, "//pr-1/sessions", json!({})).await.is(201);
    for _ in 0..25 {
        fixture.claim(&bot, json!({ "queue": true })).await.is(202);
        fixture.send(&agent, Method::POST, "//pr-1/sessions", json!({ "queue": true })).await.is(202);
    }
    let refused = fixture.claim(&agent, json!({ "queue": true })).await.is(409);
    assert_eq!(
        (&refused["code"], &refused["limit"], &refused["limitedBy"]),
        (&json!("queue_full"), &json!(50), &json!("user"))
    );
    // Their user, and programs of other users, can still wait.
    fixture.claim(&fixture.mate, json!({ "queue": true })).await.is(202);
    let other = fixture.token(&fixture.dev, json!({ "name": "bot", "kind": "ci" })).await;
    fixture.claim(&other, json!({ "queue": true })).await.is(202);
    // A granted session frees its place.
    fixture.delete(&fixture.dev, &format!("/sessions/{held}")).await.is(200);
    fixture.claim(&agent, json!({ "queue": true })).await.is(202);
    fixture.end().await;
}

/// The limit holds for concurrent claims in two environments.
#[tokio::test]
async fn programs_that_queue_concurrently_share_fifty_places() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = std::sync::Arc::new(EnvironmentFixture::new(&pool).await);
    let bot = fixture.token(&fixture.mate, json!({ "name": "bot", "kind": "ci" })).await;
    fixture.claim(&fixture.dev, json!({})).await.is(201);
    fixture.send(&fixture.dev, Method::POST, "//pr-1/sessions", json!({})).await.is(201);
    let mut claims = tokio::task::JoinSet::new();
    for number in 0..64 {
        let (fixture, bot) = (std::sync::Arc::clone(&fixture), bot.clone());
        let path = if number % 2 == 0 { "/sessions" } else { "//pr-1/sessions" };
        claims.spawn(async move {
            loop {
                let status = fixture.send(&bot, Method::POST, path, json!({ "queue": true })).await.status;
                // Retry if the server is overloaded, which is not tested here.
                if status != 503 {
                    return status;
                }
            }
        });
    }
    let responses = claims.join_all().await;
    assert_eq!(responses.iter().filter(|status| **status == 202).count(), 50, "{responses:?}");
    std::sync::Arc::into_inner(fixture).unwrap().end().await;
}

#[tokio::test]
async fn a_queue_has_five_hundred_places() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let held = fixture.claim(&fixture.dev, json!({})).await.session();
    fill(&fixture, "qa-1", 499).await;
    fixture.claim(&fixture.mate, json!({ "queue": true })).await.is(202);
    let path = format!("/sessions/{held}/request-handover");
    for refused in [
        fixture.claim(&fixture.owner, json!({ "queue": true })).await,
        fixture.send(&fixture.owner, Method::POST, &path, json!({})).await,
    ] {
        let refused = refused.is(409);
        assert_eq!(
            (&refused["code"], &refused["limit"], &refused["limitedBy"]),
            (&json!("queue_full"), &json!(500), &json!("environment"))
        );
    }
    // A user who waits already can still request a hand-over.
    fixture.send(&fixture.mate, Method::POST, &path, json!({})).await.is(202);
    fixture.end().await;
}
