//! How many places in queues there are, for whom, and what a refusal says.

use reqwest::Method;
use serde_json::json;
use sqlx::PgPool;

use crate::site::Site;

/// Puts waiting sessions of strangers into a queue, as if they had been there for a moment.
pub async fn fill(site: &Site, environment: &str, count: i64) {
    let sql = "with place as (
            update environments set waiters = waiters + $2, sessions = sessions + $2 where name = $1
            returning organization_id, id, sessions - $2 as before
        )
        insert into sessions (organization_id, id, environment_id, ordinal, status, user_id, user_name, user_kind,
                              lease_seconds, longest_seconds, queued_at, heard_at, waiting)
        select organization_id, gen_random_uuid(), id, before + number, 'queued', gen_random_uuid(), 'Somebody', 'user',
               3600, 7200, clock_timestamp(), clock_timestamp(), true
        from place, generate_series(1, $2) as number";
    sqlx::query(sql).bind(environment).bind(count).execute(&site.pool).await.unwrap();
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_person_waits_once(pool: PgPool) {
    let site = Site::new(&pool).await;
    let held = site.claim(&site.dev, json!({})).await.session();
    site.claim(&site.owner, json!({ "queue": true })).await.is(202);
    let waiting = site.claim(&site.mate, json!({ "queue": true })).await.session();
    let second = site.token(&site.mate, json!({ "name": "second", "kind": "user" })).await;
    for caller in [&site.mate, &second] {
        let refused = site.claim(caller, json!({ "queue": true })).await.is(409);
        assert_eq!(
            (&refused["code"], &refused["sessionId"], &refused["position"]),
            (&json!("already_queued"), &json!(waiting), &json!(2))
        );
    }
    // A request for hand-over is made with the place that they have.
    let path = format!("/sessions/{held}/request-handover");
    assert_eq!(site.send(&site.mate, Method::POST, &path, json!({})).await.session(), waiting);
    // In another environment they may wait as well, and a program has places of its own.
    site.send(&site.dev, Method::POST, "//pr-1/sessions", json!({})).await.is(201);
    site.send(&site.mate, Method::POST, "//pr-1/sessions", json!({ "queue": true })).await.is(202);
    let bot = site.token(&site.mate, json!({ "name": "bot", "kind": "ci" })).await;
    for _ in 0..2 {
        site.claim(&bot, json!({ "queue": true })).await.is(202);
    }
    let lock = site.get(&site.dev, "").await.is(200)["data"]["lock"].clone();
    assert_eq!(lock["queueLength"], 4, "what was refused left nothing behind");
    site.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn programs_share_fifty_places(pool: PgPool) {
    let site = Site::new(&pool).await;
    let bot = site.token(&site.mate, json!({ "name": "bot", "kind": "ci" })).await;
    let agent = site.token(&site.mate, json!({ "name": "agent", "kind": "agent" })).await;
    let held = site.claim(&site.dev, json!({})).await.session();
    site.send(&site.dev, Method::POST, "//pr-1/sessions", json!({})).await.is(201);
    for _ in 0..25 {
        site.claim(&bot, json!({ "queue": true })).await.is(202);
        site.send(&agent, Method::POST, "//pr-1/sessions", json!({ "queue": true })).await.is(202);
    }
    let refused = site.claim(&agent, json!({ "queue": true })).await.is(409);
    assert_eq!(
        (&refused["code"], &refused["limit"], &refused["limitedBy"]),
        (&json!("queue_full"), &json!(50), &json!("user"))
    );
    // The person behind them, and other people's programs, wait as ever.
    site.claim(&site.mate, json!({ "queue": true })).await.is(202);
    let other = site.token(&site.dev, json!({ "name": "bot", "kind": "ci" })).await;
    site.claim(&other, json!({ "queue": true })).await.is(202);
    // A turn that has come is a place that is free again.
    site.delete(&site.dev, &format!("/sessions/{held}")).await.is(200);
    site.claim(&agent, json!({ "queue": true })).await.is(202);
    site.end().await;
}

/// Many at once in two environments: the limit holds.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn programs_that_queue_at_once_share_fifty_places(pool: PgPool) {
    let site = std::sync::Arc::new(Site::new(&pool).await);
    let bot = site.token(&site.mate, json!({ "name": "bot", "kind": "ci" })).await;
    site.claim(&site.dev, json!({})).await.is(201);
    site.send(&site.dev, Method::POST, "//pr-1/sessions", json!({})).await.is(201);
    let mut asking = tokio::task::JoinSet::new();
    for number in 0..64 {
        let (site, bot) = (std::sync::Arc::clone(&site), bot.clone());
        let path = if number % 2 == 0 { "/sessions" } else { "//pr-1/sessions" };
        asking.spawn(async move {
            loop {
                let status = site.send(&bot, Method::POST, path, json!({ "queue": true })).await.status;
                // Too many at once for this server: that is not what is tried here.
                if status != 503 {
                    return status;
                }
            }
        });
    }
    let answers = asking.join_all().await;
    assert_eq!(answers.iter().filter(|status| **status == 202).count(), 50, "{answers:?}");
    std::sync::Arc::into_inner(site).unwrap().end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_queue_has_five_hundred_places(pool: PgPool) {
    let site = Site::new(&pool).await;
    let held = site.claim(&site.dev, json!({})).await.session();
    fill(&site, "qa-1", 499).await;
    site.claim(&site.mate, json!({ "queue": true })).await.is(202);
    let path = format!("/sessions/{held}/request-handover");
    for refused in [
        site.claim(&site.owner, json!({ "queue": true })).await,
        site.send(&site.owner, Method::POST, &path, json!({})).await,
    ] {
        let refused = refused.is(409);
        assert_eq!(
            (&refused["code"], &refused["limit"], &refused["limitedBy"]),
            (&json!("queue_full"), &json!(500), &json!("environment"))
        );
    }
    // Who waits already can still ask for it.
    site.send(&site.mate, Method::POST, &path, json!({})).await.is(202);
    site.end().await;
}
