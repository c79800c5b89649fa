//! `total`: exact for pipelines, also under concurrency, and capped for events.

use std::time::Duration;

use futures_util::future::join_all;
use greenroom_domain::id::OrganizationId;
use reqwest::Method;
use sqlx::PgPool;

use crate::requests::{new_pipeline, success};
use crate::support::database::TestDatabase;
use crate::support::{Caller, TestServer};

async fn total(server: &TestServer, caller: &Caller, query: &str) -> i64 {
    server.get(caller, &format!("/pipelines{query}")).await["pagination"]["total"].as_i64().unwrap()
}

#[tokio::test]
async fn pipelines_are_counted_as_they_are_created_and_archived() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let (owner, other) = (server.organization("acme").await, server.organization("other").await);
    assert_eq!(total(&server, &owner, "").await, 0);
    let mut ids = Vec::new();
    for number in 1..=4 {
        ids.push(server.pipeline(&owner, &format!("P{number}")).await);
        assert_eq!(total(&server, &owner, "").await, number);
    }
    // Failed requests and those without a change do not count.
    let taken =
        server.request(&owner, Method::POST, "/pipelines").json(&new_pipeline("P1")).send().await.unwrap();
    assert_eq!(taken.status(), 409);
    server.post(&owner, "/pipelines/p1/stop", serde_json::json!({})).await;
    assert_eq!(total(&server, &owner, "").await, 4);
    for (left, id) in [(3, &ids[0]), (3, &ids[0]), (2, &ids[1])] {
        success(
            server.request(&owner, Method::DELETE, &format!("/pipelines/{id}")).send().await.unwrap(),
            200,
        )
        .await;
        assert_eq!(total(&server, &owner, "").await, left);
    }
    assert_eq!(total(&server, &owner, "?status=archived").await, 2);
    assert_eq!(total(&server, &owner, "?status=active").await, 2);
    assert_eq!(total(&server, &other, "").await, 0);
    server.end().await;
}

#[tokio::test]
async fn pipelines_are_counted_exactly_under_concurrency() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let made = join_all((0..20).map(|number| {
        let body = new_pipeline(&format!("P{number}"));
        server.request(&owner, Method::POST, "/pipelines").json(&body).send()
    }));
    let made: Vec<u16> = made.await.into_iter().map(|response| response.unwrap().status().as_u16()).collect();
    assert_eq!(made, [201; 20]);
    assert_eq!(total(&server, &owner, "").await, 20);

    // Ten concurrent requests with one name: one pipeline is created.
    let same = join_all(
        (0..10)
            .map(|_| server.request(&owner, Method::POST, "/pipelines").json(&new_pipeline("Same")).send()),
    );
    let mut same: Vec<u16> =
        same.await.into_iter().map(|response| response.unwrap().status().as_u16()).collect();
    same.sort_unstable();
    assert_eq!(same, [201, 409, 409, 409, 409, 409, 409, 409, 409, 409]);
    assert_eq!(total(&server, &owner, "").await, 21);

    // Ten concurrent requests archive one pipeline: it is counted once. Later requests do not find its slug.
    let gone = join_all((0..10).map(|_| server.request(&owner, Method::DELETE, "/pipelines/same").send()));
    let gone: Vec<u16> = gone.await.into_iter().map(|response| response.unwrap().status().as_u16()).collect();
    assert_eq!(gone.iter().filter(|status| **status == 200).count(), 1, "{gone:?}");
    assert!(gone.iter().all(|status| [200, 404].contains(status)), "{gone:?}");
    assert_eq!(total(&server, &owner, "").await, 20);

    // Pipelines are created and archived concurrently.
    let coming = join_all((0..10).map(|number| {
        server.request(&owner, Method::POST, "/pipelines").json(&new_pipeline(&format!("New{number}"))).send()
    }));
    let going = join_all(
        (0..10).map(|number| server.request(&owner, Method::DELETE, &format!("/pipelines/p{number}")).send()),
    );
    let (coming, going) = tokio::join!(coming, going);
    assert!(coming.into_iter().all(|response| response.unwrap().status() == 201));
    assert!(going.into_iter().all(|response| response.unwrap().status() == 200));
    assert_eq!(total(&server, &owner, "").await, 20);
    let counted: i64 = sqlx::query_scalar("select count(*) from pipelines where status <> 'archived'")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert_eq!(counted, 20);
    server.end().await;
}

/// Inserts events into the history, as the sequencer does.
pub async fn write_history(pool: &PgPool, caller: &Caller, count: i64) {
    let organization: OrganizationId = caller.organization.parse().unwrap();
    let mut transaction = pool.begin().await.unwrap();
    // The sequencer does not run while its row is locked.
    sqlx::query("select head from event_feed for update").execute(&mut *transaction).await.unwrap();
    sqlx::query(
        "insert into events (organization_id, sequence, feed, id, time, type, category, subject, data)
         select $1, h.sequence + n, f.head + n, uuid_v7(clock_timestamp()), clock_timestamp(),
                case when n % 10 = 0 then 'pipeline.stopped' else 'pipeline.updated' end, 'deployment', 'pipelines/x',
                '{}'
         from generate_series(1, $2) n, event_heads h, event_feed f where h.organization_id = $1",
    )
    .bind(organization.uuid())
    .bind(count)
    .execute(&mut *transaction)
    .await
    .unwrap();
    sqlx::query("update event_heads set sequence = sequence + $2 where organization_id = $1")
        .bind(organization.uuid())
        .bind(count)
        .execute(&mut *transaction)
        .await
        .unwrap();
    sqlx::query("update event_feed set head = head + $1")
        .bind(count)
        .execute(&mut *transaction)
        .await
        .unwrap();
    transaction.commit().await.unwrap();
}

#[tokio::test]
async fn the_total_of_events_is_capped_at_ten_thousand() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let head = server.head(&pool, &owner).await;
    write_history(&pool, &owner, 9_999).await;
    let filter = "category=deployment";
    let page = server.get(&owner, &format!("/events?{filter}")).await;
    assert_eq!(page["pagination"], serde_json::json!({ "limit": 20, "offset": 0, "total": 9_999 }));
    write_history(&pool, &owner, 1).await;
    let page = server.get(&owner, &format!("/events?{filter}")).await;
    assert_eq!(page["pagination"], serde_json::json!({ "limit": 20, "offset": 0, "total": 10_000 }));
    write_history(&pool, &owner, 1).await;
    let page = server.get(&owner, &format!("/events?{filter}")).await;
    let capped = serde_json::json!({ "limit": 20, "offset": 0, "total": 10_000, "totalCapped": true });
    assert_eq!(page["pagination"], capped);
    assert_eq!(page["data"][0]["sequence"], head + 10_001);

    // Pages beyond the capped total have events, up to the last one.
    let page = server.get(&owner, &format!("/events?{filter}&offset=10000")).await;
    assert_eq!(page["data"].as_array().unwrap().len(), 1);
    assert_eq!(page["data"][0]["sequence"], head + 1);
    let page = server.get(&owner, &format!("/events?{filter}&offset=10001")).await;
    assert_eq!(page["data"], serde_json::json!([]));
    assert_eq!(page["pagination"]["totalCapped"], true);
    // A narrower filter is counted exactly.
    let page = server.get(&owner, "/events?type=pipeline.stopped").await;
    assert_eq!(page["pagination"], serde_json::json!({ "limit": 20, "offset": 0, "total": 999 }));
    let started = std::time::Instant::now();
    server.get(&owner, "/events?limit=100").await;
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    server.end().await;
}
