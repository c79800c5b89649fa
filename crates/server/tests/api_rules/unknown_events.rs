//! Events that a newer version has written: this version skips them and continues with all others.

use reqwest::Method;
use sqlx::PgPool;

use crate::requests::problem;
use crate::sse::Stream;
use crate::support::database::TestDatabase;
use crate::support::{Caller, TestServer};

/// Writes events as a newer version would, with a category or type that this version does not have.
async fn write_unknown(pool: &PgPool, owner: &Caller) {
    for (event_type, category) in [("budget.exceeded", "billing"), ("pipeline.forked", "deployment")] {
        let insert = "insert into event_intake (organization_id, type, category, subject, data)
                      values ($1::uuid, $2, $3, 'pipelines/x', '{}')";
        let organization = owner.organization.strip_prefix("org_").unwrap();
        sqlx::query(insert).bind(organization).bind(event_type).bind(category).execute(pool).await.unwrap();
    }
}

#[tokio::test]
async fn streams_of_all_organizations_continue() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let (owner, other) = (server.organization("acme").await, server.organization("other").await);
    let head = server.head(&pool, &owner).await;
    let (mut own, mut others) =
        (Stream::open(&server, &owner, "").await, Stream::open(&server, &other, "").await);
    write_unknown(&pool, &owner).await;
    server.events_are_sequenced(&pool).await;
    server.pipeline(&other, "Theirs").await;
    assert_eq!(others.message().await.event, "pipeline.created");
    server.pipeline(&owner, "Ours").await;
    let message = own.message().await;
    assert_eq!((message.event.as_str(), message.id), ("pipeline.created", head + 3));
    // A reader that resumes before the gap gets past it too.
    let mut resumed = Stream::resume(&server, &owner, "", head).await;
    assert_eq!(resumed.message().await.id, head + 3);
    server.end().await;
}

#[tokio::test]
async fn unknown_events_are_not_listed_or_found_by_id() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let head = server.head(&pool, &owner).await;
    write_unknown(&pool, &owner).await;
    server.pipeline(&owner, "Ours").await;
    server.events_are_sequenced(&pool).await;
    for query in ["limit=1&offset=0".to_owned(), format!("after={head}&limit=1")] {
        let list = server.get(&owner, &format!("/events?{query}")).await;
        assert_eq!(list["data"][0]["sequence"], head + 3, "{list}");
    }
    let unknown: Vec<String> =
        sqlx::query_scalar("select 'evt_' || id::text from events where sequence between $1 and $2")
            .bind(head + 1)
            .bind(head + 2)
            .fetch_all(&pool)
            .await
            .unwrap();
    assert_eq!(unknown.len(), 2);
    for id in unknown {
        let response = server.request(&owner, Method::GET, &format!("/events/{id}")).send().await.unwrap();
        problem(response, 404, "not_found").await;
    }
    server.end().await;
}
