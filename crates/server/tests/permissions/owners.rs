//! An organization always keeps an owner, whoever removes whom and when.

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::answer::Answer;
use crate::gate::Gate;
use crate::support::{Caller, TestServer};
use crate::world::World;

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn the_last_owner_stays(pool: PgPool) {
    let world = World::new(&pool).await;
    let (server, owner) = (&world.server, &world.owner);
    let path = format!("/organizations/acme/members/{}", owner.user);
    // An admin beside them is no owner.
    world.member("admin").await;
    server.delete(&path, &owner.token).await.refused(409, "last_owner");
    for role in ["viewer", "developer", "maintainer", "admin"] {
        server.patch(&path, &owner.token, json!({ "role": role })).await.refused(409, "last_owner");
    }
    server.patch(&path, &owner.token, json!({ "name": "Renamed", "role": "owner" })).await.succeeded(200);

    // With a second one the first may go; then the second is the last.
    let second = world.member("owner").await;
    server.patch(&path, &owner.token, json!({ "role": "admin" })).await.succeeded(200);
    let path = format!("/organizations/acme/members/{}", second.user);
    server.delete(&path, &second.token).await.refused(409, "last_owner");
    world.server.stop().await;
}

/// The second owner's member row as the first asks for its end, and the other way round.
async fn each_other(pool: &PgPool, method: Method, body: Option<Value>) {
    let (one, two) = (TestServer::start(pool).await, TestServer::start(pool).await);
    let mut first = one.organization("acme").await;
    for _ in 0..3 {
        let second = one.member(&first, "acme", "owner").await;
        let end = async |server: &TestServer, of: &Caller, by: &Caller| {
            let path = format!("/organizations/acme/members/{}", of.user);
            server.ask(method.clone(), &path, Some(&by.token), body.clone()).await
        };
        let gate = Gate::before_members(pool).await;
        let (by_first, by_second, ()) =
            tokio::join!(end(&one, &second, &first), end(&two, &first, &second), gate.open_for(2));
        let refused = |answer: &Answer| answer.not_refused_as(409, "last_owner").is_none();
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

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn two_owners_who_remove_each_other(pool: PgPool) {
    each_other(&pool, Method::DELETE, None).await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn two_owners_who_demote_each_other(pool: PgPool) {
    each_other(&pool, Method::PATCH, Some(json!({ "role": "admin" }))).await;
}
