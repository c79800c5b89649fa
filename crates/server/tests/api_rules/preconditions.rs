//! `ETag` and `If-Match`: a conditional change applies only to the revision that the client has read.

use futures_util::future::join_all;
use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::requests::{header, problem, success};
use crate::support::database::TestDatabase;
use crate::support::{Caller, TestServer};

async fn rename(server: &TestServer, caller: &Caller, condition: &str, name: &str) -> Response {
    let request =
        server.request(caller, Method::PUT, "/pipelines/web").header("if-match", condition.as_bytes());
    request.json(&json!({ "name": name })).send().await.unwrap()
}

async fn etag(server: &TestServer, caller: &Caller, path: &str) -> String {
    header(&server.request(caller, Method::GET, path).send().await.unwrap(), "etag")
}

#[tokio::test]
async fn the_etag_changes_with_the_record() {
    let (_database, pool) = TestDatabase::create().await;
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
        let response = server.request(&owner, Method::POST, path).json(&body).send().await.unwrap();
        assert_eq!(header(&response, "etag"), format!("\"{}\"", number + 2), "{path}");
        assert_eq!(etag(&server, &owner, "/pipelines/web").await, format!("\"{}\"", number + 2));
    }
    // A request without a change keeps the tag.
    server.post(&owner, "/pipelines/web/resume", json!({})).await;
    assert_eq!(etag(&server, &owner, "/pipelines/web").await, "\"4\"");
    for path in ["", &format!("/members/{}", owner.user)] {
        assert_eq!(etag(&server, &owner, path).await, "\"1\"", "{path}");
    }
    server.end().await;
}

#[tokio::test]
async fn a_change_needs_a_matching_etag() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    server.pipeline(&owner, "Web").await;
    // Each condition is tested on the newest revision; matching ones increase it.
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
            success(response, 200).await;
        } else {
            problem(response, 412, "precondition_failed").await;
        }
        assert_eq!(etag(&server, &owner, "/pipelines/web").await, format!("\"{revision}\""), "{condition}");
    }
    // A strong comparison never matches a weak tag, but the header is valid.
    let weak = rename(&server, &owner, &format!("W/\"{revision}\""), "Weak").await;
    problem(weak, 412, "precondition_failed").await;
    server.end().await;
}

#[tokio::test]
async fn an_invalid_if_match_header_is_refused() {
    let (_database, pool) = TestDatabase::create().await;
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

#[tokio::test]
async fn every_update_honors_if_match() {
    let (_database, pool) = TestDatabase::create().await;
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
        let request = |condition: &str| {
            let request = server.request(&owner, method.clone(), path).header("if-match", condition);
            if body.is_null() { request } else { request.json(&body) }
        };
        let tag = etag(&server, &owner, path.trim_end_matches("/stop").trim_end_matches("/resume")).await;
        problem(request("\"9999\"").send().await.unwrap(), 412, "precondition_failed").await;
        problem(request("nonsense").send().await.unwrap(), 400, "invalid_header").await;
        success(request(&tag).send().await.unwrap(), 200).await;
    }
    server.end().await;
}

#[tokio::test]
async fn of_concurrent_updates_with_one_etag_one_wins() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    server.pipeline(&owner, "Web").await;
    let names: Vec<String> = (0..10).map(|number| format!("Name {number}")).collect();
    let all = join_all(names.iter().map(|name| rename(&server, &owner, "\"1\"", name))).await;
    let mut won = Vec::new();
    for response in all {
        if response.status() == 200 {
            won.push(success(response, 200).await["data"]["name"].clone());
        } else {
            problem(response, 412, "precondition_failed").await;
        }
    }
    assert_eq!(won.len(), 1);
    assert_eq!(server.get(&owner, "/pipelines/web").await["data"]["name"], won[0]);
    assert_eq!(etag(&server, &owner, "/pipelines/web").await, "\"2\"");
    server.end().await;
}
