//! `ETag` and `If-Match`: a change is meant for the record as its author saw it.

use futures_util::future::join_all;
use reqwest::{Method, Response};
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::ask::{good, header, problem};
use crate::support::{Caller, TestServer};

async fn rename(server: &TestServer, caller: &Caller, condition: &str, name: &str) -> Response {
    let request = server.ask(caller, Method::PUT, "/pipelines/web").header("if-match", condition.as_bytes());
    request.json(&json!({ "name": name })).send().await.unwrap()
}

async fn etag(server: &TestServer, caller: &Caller, path: &str) -> String {
    header(&server.ask(caller, Method::GET, path).send().await.unwrap(), "etag")
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_record_has_an_etag_that_follows_its_changes(pool: PgPool) {
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    server.pipeline(&owner, "Web").await;
    assert_eq!(etag(&server, &owner, "/pipelines/web").await, "\"1\"");
    for (number, (path, body)) in [
        ("/pipelines/web/stop", json!({})),
        ("/pipelines/web/stop", json!({ "mode": "cancel" })),
        ("/pipelines/web/resume", json!({})),
    ]
    .into_iter()
    .enumerate()
    {
        let response = server.ask(&owner, Method::POST, path).json(&body).send().await.unwrap();
        assert_eq!(header(&response, "etag"), format!("\"{}\"", number + 2), "{path}");
        assert_eq!(etag(&server, &owner, "/pipelines/web").await, format!("\"{}\"", number + 2));
    }
    // What changes nothing leaves it.
    server.post(&owner, "/pipelines/web/resume", json!({})).await;
    assert_eq!(etag(&server, &owner, "/pipelines/web").await, "\"4\"");
    for path in ["", &format!("/members/{}", owner.user)] {
        assert_eq!(etag(&server, &owner, path).await, "\"1\"", "{path}");
    }
    server.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_change_is_made_only_to_what_was_seen(pool: PgPool) {
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    server.pipeline(&owner, "Web").await;
    // Each of these is tried on the newest revision; `good` ones raise it.
    let mut revision = 1;
    for (condition, matches) in [
        ("\"{}\"", true),
        ("\"0\"", false),
        ("*", true),
        ("\"77\", \"{}\"", true),
        ("\"77\",\"{}\",\"78\"", true),
        ("\"77\", \"78\"", false),
        ("\"abc\"", false),
        ("\"\"", false),
        ("\" {}\"", false),
        ("\"99999999999999999999\"", false),
        ("  \"{}\"  ", true),
    ] {
        let condition = condition.replace("{}", &revision.to_string());
        let response = rename(&server, &owner, &condition, &format!("Name {revision}")).await;
        if matches {
            revision += 1;
            assert_eq!(header(&response, "etag"), format!("\"{revision}\""), "{condition}");
            good(response, 200).await;
        } else {
            problem(response, 412, "precondition_failed").await;
        }
        assert_eq!(etag(&server, &owner, "/pipelines/web").await, format!("\"{revision}\""), "{condition}");
    }
    // A strong comparison never matches a weak tag, but the header is as it should be.
    let weak = rename(&server, &owner, &format!("W/\"{revision}\""), "Weak").await;
    problem(weak, 412, "precondition_failed").await;
    server.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_condition_that_cannot_be_read_is_refused(pool: PgPool) {
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    server.pipeline(&owner, "Web").await;
    for condition in ["", "1", "\"1", "1\"", "\"", "garbage", "\"1\", 2", ",", "ä"] {
        let response = rename(&server, &owner, condition, "New").await;
        problem(response, 400, "invalid_header").await;
    }
    assert_eq!(server.get(&owner, "/pipelines/web").await["data"]["name"], "Web");
    server.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn every_update_honours_it(pool: PgPool) {
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let member = server.member(&owner, "acme", "viewer").await;
    server.pipeline(&owner, "Web").await;
    let none = Value::Null;
    let person = format!("/members/{}", member.user);
    for (method, path, body) in [
        (Method::PATCH, "", json!({ "name": "Acme" })),
        (Method::PATCH, &person, json!({ "role": "developer" })),
        (Method::PUT, "/pipelines/web", json!({ "repository": "https://git.test/web" })),
        (Method::POST, "/pipelines/web/stop", json!({ "reason": "why" })),
        (Method::POST, "/pipelines/web/resume", json!({})),
        (Method::DELETE, "/pipelines/web", none.clone()),
        (Method::DELETE, &person, none),
    ] {
        let ask = |condition: &str| {
            let request = server.ask(&owner, method.clone(), path).header("if-match", condition);
            if body.is_null() { request } else { request.json(&body) }
        };
        let tag = etag(&server, &owner, path.trim_end_matches("/stop").trim_end_matches("/resume")).await;
        problem(ask("\"9999\"").send().await.unwrap(), 412, "precondition_failed").await;
        problem(ask("nonsense").send().await.unwrap(), 400, "invalid_header").await;
        good(ask(&tag).send().await.unwrap(), 200).await;
    }
    server.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn of_many_that_saw_the_same_one_wins(pool: PgPool) {
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    server.pipeline(&owner, "Web").await;
    let names: Vec<String> = (0..10).map(|number| format!("Name {number}")).collect();
    let all = join_all(names.iter().map(|name| rename(&server, &owner, "\"1\"", name))).await;
    let mut won = Vec::new();
    for response in all {
        if response.status() == 200 {
            won.push(good(response, 200).await["data"]["name"].clone());
        } else {
            problem(response, 412, "precondition_failed").await;
        }
    }
    assert_eq!(won.len(), 1);
    assert_eq!(server.get(&owner, "/pipelines/web").await["data"]["name"], won[0]);
    assert_eq!(etag(&server, &owner, "/pipelines/web").await, "\"2\"");
    server.end().await;
}
