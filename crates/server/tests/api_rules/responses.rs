//! What every response has: the envelope and a request id.

use std::collections::HashSet;

use reqwest::Method;
use serde_json::Value;

use crate::requests::{header, new_pipeline, problem, success};
use crate::support::TestServer;
use crate::support::database::TestDatabase;

#[tokio::test]
async fn a_new_pipeline_is_listed() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let id = server.pipeline(&owner, "Web shop").await;
    let (status, list) = server.json(Method::GET, "/organizations/acme/pipelines", &owner.token, None).await;
    assert_eq!(status, 200);
    assert_eq!(list["data"][0]["id"], id);
    assert_eq!(list["pagination"]["total"], 1);
    server.end().await;
}

#[tokio::test]
async fn records_and_lists_have_their_envelope() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let pipeline = server.pipeline(&owner, "Web").await;
    server.events(&pool, &owner).await;
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();

    let (_, me) = server.json(Method::GET, "/me", &owner.token, None).await;
    assert_eq!(keys(&me), ["data"]);
    let event = server.get(&owner, "/events").await["data"][0]["id"].as_str().unwrap().to_owned();
    for path in [
        String::new(),
        format!("/members/{}", owner.user),
        format!("/api-tokens/{}", owner.token_id),
        format!("/pipelines/{pipeline}"),
        format!("/pipelines/{pipeline}/versions/1"),
        format!("/events/{event}"),
    ] {
        let record = server.get(&owner, &path).await;
        assert_eq!(keys(&record), ["data"], "{path}");
        assert!(record["data"].is_object(), "{path}");
    }
    for path in ["/members", "/api-tokens", "/pipelines", "/pipelines/web/versions", "/events"] {
        let list = server.get(&owner, path).await;
        assert_eq!(keys(&list), ["data", "pagination"], "{path}");
        assert_eq!(keys(&list["pagination"]), ["limit", "offset", "total"], "{path}");
        assert!(list["data"].as_array().is_some_and(|records| !records.is_empty()), "{path}");
    }
    server.end().await;
}

#[tokio::test]
async fn every_response_has_a_request_id() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let mut ids = HashSet::new();
    for (method, path, status) in [
        (Method::GET, "/", 200),
        (Method::GET, "/docs/", 200),
        (Method::GET, "/docs/errors", 200),
        (Method::POST, "/docs/errors", 405),
        (Method::GET, "/docs/errors/nonsense", 404),
        (Method::GET, "/nothing", 404),
        (Method::GET, "/api/v1", 200),
        (Method::GET, "/api/v1/", 200),
        (Method::GET, "/api/v1/nothing", 404),
        (Method::GET, "/api/v1/openapi.json", 200),
        (Method::POST, "/api/v1/openapi.json", 405),
        (Method::GET, "/api/v1/schemas/pipeline-definition.json", 200),
        (Method::GET, "/api/v1/me", 200),
        (Method::HEAD, "/api/v1/me", 200),
        (Method::POST, "/api/v1/me", 405),
        (Method::OPTIONS, "/api/v1/me", 405),
        (Method::TRACE, "/api/v1/me", 405),
        (Method::GET, "/api/v1/organizations/acme/events/stream", 200),
        (Method::GET, "/api/v1/organizations/acme/pipelines?limit=0", 422),
        (Method::POST, "/api/v1/organizations/acme/pipelines", 422),
        (Method::GET, "/api/v1/organizations/other/pipelines", 404),
    ] {
        let what = format!("{method} {path}");
        let request = server.client.request(method, format!("{}{path}", server.origin));
        let response = request.bearer_auth(&owner.token).send().await.unwrap();
        assert_eq!(response.status(), status, "{what}");
        assert_eq!(header(&response, "x-content-type-options"), "nosniff", "{what}");
        let id = header(&response, "x-request-id");
        assert!(id.starts_with("req_") && id.len() == 40, "{what}: {id}");
        assert!(ids.insert(id), "{what}: a repeated id");
        // Including HTML pages: every failure is a problem document.
        if status >= 400 {
            assert_eq!(header(&response, "content-type"), "application/problem+json", "{what}");
        }
    }
    server.end().await;
}

#[tokio::test]
async fn a_valid_request_id_is_kept_and_an_invalid_one_replaced() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let long = "x".repeat(64);
    for id in ["a", "job-17.step_2", &long] {
        let request = server.request(&owner, Method::GET, "/pipelines").header("x-request-id", id);
        assert_eq!(header(&request.send().await.unwrap(), "x-request-id"), id);
    }
    let too_long = "x".repeat(65);
    for id in ["", "a b", "a/b", "a\tb", "<script>", "a:b", "ä", &too_long] {
        let request = server.request(&owner, Method::GET, "/pipelines").header("x-request-id", id.as_bytes());
        let kept = header(&request.send().await.unwrap(), "x-request-id");
        assert!(kept.starts_with("req_"), "{id:?} became {kept}");
    }

    let request = server.request(&owner, Method::GET, "/pipelines/nothing").header("x-request-id", "mine");
    let refused = problem_of(request).await;
    assert_eq!(refused["requestId"], "mine");

    let request = server.request(&owner, Method::POST, "/pipelines").header("x-request-id", "set-by-client");
    success(request.json(&new_pipeline("Web")).send().await.unwrap(), 201).await;
    let event = server.events(&pool, &owner).await.pop().unwrap();
    assert_eq!(event["data"]["context"]["requestId"], "set-by-client");
    server.end().await;
}

async fn problem_of(request: reqwest::RequestBuilder) -> Value {
    // `problem` checks the length of generated ids; this one is of the client.
    request.send().await.unwrap().json().await.unwrap()
}

#[tokio::test]
async fn method_not_allowed_lists_the_allowed_methods() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    for (method, path, allowed) in [
        (Method::PATCH, "/pipelines", vec!["GET", "HEAD", "POST"]),
        (Method::POST, "/pipelines/web", vec!["DELETE", "GET", "HEAD", "PUT"]),
        (Method::GET, "/pipelines/web/stop", vec!["POST"]),
        (Method::DELETE, "/events", vec!["GET", "HEAD"]),
    ] {
        let response = server.request(&owner, method, path).send().await.unwrap();
        let mut allow: Vec<String> =
            header(&response, "allow").split(',').map(|m| m.trim().to_owned()).collect();
        allow.sort_unstable();
        assert_eq!(allow, allowed, "{path}");
        problem(response, 405, "method_not_allowed").await;
    }
    server.end().await;
}

#[tokio::test]
async fn the_version_needs_no_token() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start_at(&pool, "https://greenroom.example.com").await;
    let mut bodies = Vec::new();
    for path in ["", "/"] {
        let response = server.send(Method::GET, path, None, None).await;
        assert_eq!(response.status(), 200, "{path}");
        bodies.push(response.json::<Value>().await.unwrap());
    }
    let data = &bodies[0]["data"];
    assert_eq!(bodies[1], bodies[0]);
    assert_eq!(data["version"], env!("CARGO_PKG_VERSION"));
    let features: Vec<&str> =
        data["features"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    assert!(features.is_sorted() && features.contains(&"web_urls"), "{features:?}");
    server.end().await;
    let server = TestServer::start(&pool).await;
    let (_, other) = server.json(Method::GET, "", "none", None).await;
    assert!(!other["data"]["features"].to_string().contains("web_urls"), "{other}");
    server.end().await;
}
