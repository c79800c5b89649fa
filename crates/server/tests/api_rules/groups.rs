//! Groups: their records, members and events, and attempts to reach those of others.

use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::requests::{header, problem, success, wrong_field};
use crate::support::database::TestDatabase;
use crate::support::{Caller, TestServer};

async fn group(server: &TestServer, owner: &Caller, name: &str) -> String {
    let created = server.post(owner, "/groups", json!({ "name": name })).await;
    created["id"].as_str().unwrap().to_owned()
}

/// Sends a request without a body, and returns the status and the response.
async fn send(server: &TestServer, by: &Caller, method: Method, path: &str) -> (u16, Value) {
    let response = server.request(by, method, path).send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

#[tokio::test]
async fn a_group_is_created_changed_and_deleted() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let post =
        async |body: Value| server.request(&owner, Method::POST, "/groups").json(&body).send().await.unwrap();
    let created = post(json!({ "name": "release-managers", "description": "On call" })).await;
    assert_eq!(header(&created, "etag"), "\"1\"");
    let created = success(created, 201).await["data"].take();
    problem(post(json!({ "name": "release-managers" })).await, 409, "group_name_taken").await;
    for name in ["", "Ops", "1ops", "a b", "a_b"] {
        wrong_field(post(json!({ "name": name })).await, "/name").await;
    }
    let path = format!("/groups/{}", created["id"].as_str().unwrap());
    let patch = async |condition: &str, body: Value| {
        let request = server.request(&owner, Method::PATCH, &path).header("If-Match", condition);
        request.json(&body).send().await.unwrap()
    };
    let changed = success(patch("\"1\"", json!({ "description": null })).await, 200).await["data"].take();
    assert_eq!((&changed["description"], &changed["name"]), (&json!(null), &created["name"]));
    problem(patch("\"1\"", json!({ "name": "ops" })).await, 412, "precondition_failed").await;
    assert_eq!(header(&patch("\"2\"", json!({ "name": "release-managers" })).await, "etag"), "\"2\"");
    group(&server, &owner, "ops").await;
    problem(patch("*", json!({ "name": "ops" })).await, 409, "group_name_taken").await;

    let (status, deleted) = send(&server, &owner, Method::DELETE, &path).await;
    assert_eq!((status, &deleted["data"]["ended"]), (200, &json!([])), "{deleted}");
    assert!(deleted["data"]["deletedAt"].is_string());
    let (_, again) = send(&server, &owner, Method::DELETE, &path).await;
    assert_eq!(again, deleted);
    assert_eq!(server.get(&owner, &path).await["data"]["deletedAt"], deleted["data"]["deletedAt"]);
    assert_eq!(server.get(&owner, "/groups").await["pagination"]["total"], 1);
    problem(patch("*", json!({ "name": "late" })).await, 409, "invalid_state").await;
    let (status, _) = send(&server, &owner, Method::PUT, &format!("{path}/members/{}", owner.user)).await;
    assert_eq!(status, 409);
    // The name is free again.
    group(&server, &owner, "release-managers").await;

    let events = server.events(&pool, &owner).await;
    let events: Vec<_> = events.iter().filter(|event| event["subject"] == path[1..]).collect();
    let types: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["group.created", "group.updated", "group.deleted"]);
    assert!(events.iter().all(|event| event["category"] == "audit"), "{events:?}");
    server.end().await;
}

#[tokio::test]
async fn members_are_added_and_removed_idempotently() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let viewer = server.member(&owner, "acme", "viewer").await;
    let group = group(&server, &owner, "ops").await;
    let members = format!("/groups/{group}/members");
    let one = format!("{members}/{}", viewer.user);
    let (status, added) = send(&server, &owner, Method::PUT, &one).await;
    assert_eq!((status, &added["data"]["userId"]), (200, &json!(viewer.user)), "{added}");
    assert_eq!(send(&server, &owner, Method::PUT, &one).await, (200, added.clone()));
    assert_eq!(server.get(&viewer, &members).await["data"], json!([added["data"]]));
    for _ in 0..2 {
        let (status, removed) = send(&server, &owner, Method::DELETE, &one).await;
        assert_eq!((status, &removed["data"]["ended"]), (200, &json!([])), "{removed}");
    }
    assert_eq!(server.get(&viewer, &members).await["data"], json!([]));
    let events = server.events(&pool, &owner).await;
    let of_members = |event: &&Value| event["type"].as_str().unwrap().starts_with("group.member");
    assert_eq!(
        events.iter().filter(of_members).count(),
        2,
        "a request that changes nothing records no event"
    );
    server.end().await;
}

/// A removed member is in no group any more, and does not come back into it with the membership.
#[tokio::test]
async fn a_removed_member_leaves_the_groups_for_good() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let group = group(&server, &owner, "ops").await;
    let body = json!({ "email": "ada@acme.test", "name": "Ada", "role": "viewer" });
    let user = server.post(&owner, "/members", body.clone()).await["userId"].as_str().unwrap().to_owned();
    let (members, member) = (format!("/groups/{group}/members"), format!("/groups/{group}/members/{user}"));
    assert_eq!(send(&server, &owner, Method::PUT, &member).await.0, 200);
    assert_eq!(send(&server, &owner, Method::DELETE, &format!("/members/{user}")).await.0, 200);
    assert_eq!(server.get(&owner, &members).await["data"], json!([]));
    assert_eq!(send(&server, &owner, Method::PUT, &member).await.0, 404, "not a member of the organization");
    server.post(&owner, "/members", body).await;
    assert_eq!(server.get(&owner, &members).await["data"], json!([]));
    server.end().await;
}

#[tokio::test]
async fn groups_and_members_of_another_organization_do_not_exist() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let (owner, stranger) = (server.organization("acme").await, server.organization("globex").await);
    let (own, foreign) = (group(&server, &owner, "ops").await, group(&server, &stranger, "ops").await);
    let unknown = format!("usr_{}", Uuid::now_v7());
    for (method, path) in [
        (Method::GET, format!("/groups/{foreign}")),
        (Method::DELETE, format!("/groups/{foreign}")),
        (Method::GET, format!("/groups/{foreign}/members")),
        (Method::PUT, format!("/groups/{foreign}/members/{}", owner.user)),
        (Method::PUT, format!("/groups/{own}/members/{}", stranger.user)),
        (Method::DELETE, format!("/groups/{own}/members/{}", stranger.user)),
        (Method::PUT, format!("/groups/{own}/members/{unknown}")),
        (Method::PUT, format!("/groups/{own}/members/no-id")),
    ] {
        let (status, response) = send(&server, &owner, method.clone(), &path).await;
        assert_eq!((status, &response["code"]), (404, &json!("not_found")), "{method} {path}");
    }
    assert_eq!(server.get(&stranger, "/groups").await["pagination"]["total"], 1);
    server.end().await;
}

/// The group's row is locked, so the deletion and the addition are one after the other.
#[tokio::test]
async fn a_group_that_is_deleted_concurrently_gets_no_member() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    for round in 0..10 {
        let group = group(&server, &owner, &format!("ops-{round}")).await;
        let path = format!("/groups/{group}/members/{}", owner.user);
        let delete = format!("/groups/{group}");
        let (added, deleted) = tokio::join!(
            send(&server, &owner, Method::PUT, &path),
            send(&server, &owner, Method::DELETE, &delete),
        );
        assert_eq!(deleted.0, 200, "{deleted:?}");
        assert!([200, 409].contains(&added.0), "{added:?}");
    }
    let left: i64 = sqlx::query_scalar("select count(*) from group_members").fetch_one(&pool).await.unwrap();
    assert_eq!(left, 0);
    server.end().await;
}
