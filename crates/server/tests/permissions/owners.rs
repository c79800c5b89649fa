//! An organization always has an owner, also after concurrent removals.

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::fixture::PermissionFixture;
use crate::response::TestResponse;
use crate::row_locks::RowLocks;
use crate::support::database::TestDatabase;
use crate::support::{Caller, TestServer};

#[tokio::test]
async fn the_last_owner_stays() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    let (server, owner) = (&fixture.server, &fixture.owner);
    let path = format!("/organizations/acme/members/{}", owner.user);
    // An admin does not count as an owner.
    fixture.member("admin").await;
    server.delete(&path, &owner.token).await.refused(409, "last_owner");
    for role in ["viewer", "developer", "maintainer", "admin"] {
        server.patch(&path, &owner.token, json!({ "role": role })).await.refused(409, "last_owner");
    }
    server.patch(&path, &owner.token, json!({ "name": "Renamed", "role": "owner" })).await.succeeded(200);

    // With a second owner the first can leave; then the second is the last.
    let second = fixture.member("owner").await;
    server.patch(&path, &owner.token, json!({ "role": "admin" })).await.succeeded(200);
    let path = format!("/organizations/acme/members/{}", second.user);
    server.delete(&path, &second.token).await.refused(409, "last_owner");
    fixture.server.stop().await;
}

/// Two owners concurrently send the same request about each other; exactly one succeeds.
async fn each_other(pool: &PgPool, method: Method, body: Option<Value>) {
    let (one, two) = (TestServer::start(pool).await, TestServer::start(pool).await);
    let mut first = one.organization("acme").await;
    for _ in 0..3 {
        let second = one.member(&first, "acme", "owner").await;
        let end = async |server: &TestServer, of: &Caller, by: &Caller| {
            let path = format!("/organizations/acme/members/{}", of.user);
            server.request(method.clone(), &path, Some(&by.token), body.clone()).await
        };
        let locks = RowLocks::on_memberships(pool).await;
        let (by_first, by_second, ()) = tokio::join!(
            end(&one, &second, &first),
            end(&two, &first, &second),
            locks.release_when_blocked(2)
        );
        let refused = |response: &TestResponse| response.not_refused_as(409, "last_owner").is_none();
        match (by_first.status, by_second.status) {
            (200, _) => assert!(refused(&by_second), "{}", by_second.text),
            (_, 200) => {
                assert!(refused(&by_first), "{}", by_first.text);
                first = second;
            }
            _ => assert_eq!((by_first.text, by_second.text), (String::new(), String::new())),
        }
        let owners: i64 = sqlx::query_scalar(
            "select count(*) from memberships where role = 'owner' and removed_at is null",
        )
        .fetch_one(pool)
        .await
        .unwrap();
        assert_eq!(owners, 1);
        one.get("/me", &first.token).await.succeeded(200);
    }
    one.stop().await;
    two.stop().await;
}

#[tokio::test]
async fn two_owners_cannot_remove_each_other() {
    let (_database, pool) = TestDatabase::create().await;
    each_other(&pool, Method::DELETE, None).await;
}

#[tokio::test]
async fn two_owners_cannot_demote_each_other() {
    let (_database, pool) = TestDatabase::create().await;
    each_other(&pool, Method::PATCH, Some(json!({ "role": "admin" }))).await;
}
