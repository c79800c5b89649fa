//! Sweeping in bounded batches: a queue that expires as a whole, with a slow connection to the database.

use std::time::{Duration, Instant};

use greenroom_server::http::Limits;
use serde_json::json;
use sqlx::PgPool;

use crate::fixture::{DEFINITION, EnvironmentFixture};
use crate::proxy::{Network, Proxy};
use crate::queue_limits::fill;
use crate::support::TestServer;
use crate::support::database::TestDatabase;

async fn queued(pool: &PgPool) -> i64 {
    sqlx::query_scalar("select count(*) from sessions where waiting").fetch_one(pool).await.unwrap()
}

/// 8,000 waiters from before there was a limit, all without heartbeats, and a millisecond of latency to the
/// database.
#[tokio::test]
async fn a_queue_that_expires_as_a_whole_is_swept_in_batches() {
    let (_database, pool) = TestDatabase::create().await;
    let proxy = Proxy::start(&pool, Network::Good).await;
    let server = TestServer::start_on(&proxy.database_url, Limits::new(Duration::from_secs(15), 512)).await;
    let fixture = EnvironmentFixture::on(server, &pool, DEFINITION).await;
    let held = fixture.claim(&fixture.dev, json!({})).await.session();
    fill(&fixture, "qa-1", 8_000).await;
    let waiting = fixture.claim(&fixture.mate, json!({})).await.is(409);
    assert_eq!(waiting["queueLength"], 8_000);
    proxy.set(Network::Slow);
    fixture.age(121).await;
    // A command ends only a bounded number of them.
    let began = Instant::now();
    let next = fixture.claim(&fixture.mate, json!({ "queue": true })).await.session();
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    let mut rounds = 0;
    while queued(&pool).await > 1 {
        let began = Instant::now();
        assert_eq!(fixture.sweep().await, 1, "the rest is due immediately");
        assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
        rounds += 1;
    }
    assert!(rounds <= 41, "{rounds}");
    let ended: i64 = sqlx::query_scalar(
        "select (select count(*) from event_intake where type = 'session.canceled')
              + (select count(*) from events where type = 'session.canceled')",
    )
    .fetch_one(&pool)
    .await
    .unwrap();
    assert_eq!(ended, 8_000, "one event for each");
    fixture.delete(&fixture.dev, &format!("/sessions/{held}")).await.is(200);
    let lock = fixture.get(&fixture.mate, "").await.is(200)["data"]["lock"].clone();
    assert_eq!((&lock["sessionId"], &lock["queueLength"]), (&json!(next), &json!(0)));
    fixture.end().await;
}

/// Waiters without heartbeats whose end is not recorded yet do not delay others.
#[tokio::test]
async fn waiters_without_heartbeats_do_not_block_grants() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let held = fixture.claim(&fixture.dev, json!({})).await.session();
    fill(&fixture, "qa-1", 1_000).await;
    fixture.age(121).await;
    fixture.delete(&fixture.dev, &format!("/sessions/{held}")).await.is(200);
    assert!(queued(&pool).await > 0, "more than one batch");
    fixture.claim(&fixture.mate, json!({})).await.is(201);
    fixture.end().await;
}

/// Organizations are swept in turn, so that one with many due environments does not delay another with one.
#[tokio::test]
async fn organizations_are_swept_in_turn() {
    let (_database, pool) = TestDatabase::create().await;
    let names: Vec<String> = (1..=20).map(|number| format!("  qa-{number}: {{}}\n")).collect();
    let definition = DEFINITION.replace("  \"pr-*\"", &format!("{}  \"pr-*\"", names[1..].concat()));
    let fixture = EnvironmentFixture::with(&pool, &definition).await;
    let globex = fixture.server.organization("globex").await;
    let path = format!("/organizations/{}/pipelines", globex.organization);
    let body = json!({ "name": "Shop", "definition": DEFINITION });
    fixture.server.json(reqwest::Method::POST, &path, &globex.token, Some(body)).await;
    let sql = "update environments e set sweep_at = clock_timestamp() - interval '1 hour' * case o.slug when 'acme' then 2 else 1 end
         from organizations o where o.id = e.organization_id and e.listed";
    sqlx::query(sql).execute(&pool).await.unwrap();
    let store = &fixture.server.server.app.store;
    let first = store.due_environments(2, &[]).await.unwrap();
    assert_ne!(first[0].organization_id, first[1].organization_id, "both are among the first two");
    let all = store.due_environments(100, &[]).await.unwrap();
    assert_eq!(all.len(), 21);
    let rest = store.due_environments(100, &[all[0].environment_id]).await.unwrap();
    assert_eq!(rest.len(), 20);
    assert!(!rest.contains(&all[0]), "a delayed environment is left out");
    fixture.end().await;
}
