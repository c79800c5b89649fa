//! Settling in bounded pieces: a queue that falls silent as a whole, and a database that is not next door.

use std::time::{Duration, Instant};

use greenroom_server::http::Limits;
use serde_json::json;
use sqlx::PgPool;

use crate::places::fill;
use crate::proxy::{Network, Proxy};
use crate::site::{DEFINITION, Site};
use crate::support::TestServer;

async fn queued(pool: &PgPool) -> i64 {
    sqlx::query_scalar("select count(*) from sessions where waiting").fetch_one(pool).await.unwrap()
}

/// 8,000 waiters from before there was a limit, all silent, and a millisecond to the database and back.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_queue_that_expires_at_once(pool: PgPool) {
    let proxy = Proxy::start(&pool, Network::Good).await;
    let server = TestServer::start_on(&proxy.database_url, Limits::new(Duration::from_secs(15), 512)).await;
    let site = Site::on(server, &pool, DEFINITION).await;
    let held = site.claim(&site.dev, json!({})).await.session();
    fill(&site, "qa-1", 8_000).await;
    let waiting = site.claim(&site.mate, json!({})).await.is(409);
    assert_eq!(waiting["queueLength"], 8_000);
    proxy.set(Network::Slow);
    site.age(121).await;
    // A command does not pay for all of them.
    let began = Instant::now();
    let next = site.claim(&site.mate, json!({ "queue": true })).await.session();
    assert!(began.elapsed() < Duration::from_secs(4), "{:?}", began.elapsed());
    let mut rounds = 0;
    while queued(&pool).await > 1 {
        let began = Instant::now();
        assert_eq!(site.sweep().await, 1, "what is left is due at once");
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
    site.delete(&site.dev, &format!("/sessions/{held}")).await.is(200);
    let lock = site.get(&site.mate, "").await.is(200)["data"]["lock"].clone();
    assert_eq!((&lock["sessionId"], &lock["queueLength"]), (&json!(next), &json!(0)));
    site.end().await;
}

/// Silent waiters whose ends are not written yet are in nobody's way.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn silent_waiters_hold_up_nobody(pool: PgPool) {
    let site = Site::new(&pool).await;
    let held = site.claim(&site.dev, json!({})).await.session();
    fill(&site, "qa-1", 1_000).await;
    site.age(121).await;
    site.delete(&site.dev, &format!("/sessions/{held}")).await.is(200);
    assert!(queued(&pool).await > 0, "not all of them in one go");
    site.claim(&site.mate, json!({})).await.is(201);
    site.end().await;
}

/// Organizations take turns, so that one with many due environments does not hold up another with one.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn organizations_are_swept_in_turn(pool: PgPool) {
    let names: Vec<String> = (1..=20).map(|number| format!("  qa-{number}: {{}}\n")).collect();
    let definition = DEFINITION.replace("  \"pr-*\"", &format!("{}  \"pr-*\"", names[1..].concat()));
    let site = Site::with(&pool, &definition).await;
    let globex = site.server.organization("globex").await;
    let path = format!("/organizations/{}/pipelines", globex.organization);
    let body = json!({ "name": "Shop", "definition": DEFINITION });
    site.server.json(reqwest::Method::POST, &path, &globex.token, Some(body)).await;
    let sql = "update environments e set sweep_at = clock_timestamp() - interval '1 hour' * case o.slug when 'acme' then 2 else 1 end
         from organizations o where o.id = e.organization_id and e.listed";
    sqlx::query(sql).execute(&pool).await.unwrap();
    let store = &site.server.server.app.store;
    let first = store.due_environments(2, &[]).await.unwrap();
    assert_ne!(first[0].organization_id, first[1].organization_id, "both are among the first two");
    let all = store.due_environments(100, &[]).await.unwrap();
    assert_eq!(all.len(), 21);
    let rest = store.due_environments(100, &[all[0].environment_id]).await.unwrap();
    assert_eq!(rest.len(), 20);
    assert!(!rest.contains(&all[0]), "one that is delayed is left out");
    site.end().await;
}
