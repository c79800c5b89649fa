//! Paths that name nothing: all of them have the same response.

use reqwest::Method;
use serde_json::Value;

use crate::requests::problem;
use crate::support::TestServer;
use crate::support::database::TestDatabase;
use crate::wire::Wire;

fn without_id(mut body: Value) -> Value {
    assert!(body.as_object_mut().unwrap().remove("requestId").is_some());
    body
}

#[tokio::test]
async fn missing_and_foreign_records_have_the_same_response() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let (acme, other) = (server.organization("acme").await, server.organization("other").await);
    let theirs = server.pipeline(&other, "Theirs").await;
    let their_event = server.events(&pool, &other).await[0]["id"].as_str().unwrap().to_owned();

    let missing = server.request(&acme, Method::GET, "/pipelines/nothing").send().await.unwrap();
    let missing = without_id(problem(missing, 404, "not_found").await);
    let none = "0190a0b0-0000-7000-8000-000000000001";
    for path in [
        format!("/organizations/acme/pipelines/{theirs}"),
        "/organizations/acme/pipelines/theirs".to_owned(),
        format!("/organizations/acme/pipelines/pip_{none}"),
        format!("/organizations/acme/pipelines/{theirs}/versions"),
        format!("/organizations/acme/pipelines/{theirs}/versions/1"),
        format!("/organizations/acme/members/{}", other.user),
        format!("/organizations/acme/members/usr_{none}"),
        format!("/organizations/acme/api-tokens/{}", other.token_id),
        format!("/organizations/acme/events/{their_event}"),
        format!("/organizations/acme/events/evt_{none}"),
        "/organizations/other".to_owned(),
        "/organizations/other/pipelines".to_owned(),
        format!("/organizations/{}/pipelines/{theirs}", other.organization),
        "/organizations/nobody/pipelines".to_owned(),
        format!("/organizations/org_{none}/events/stream"),
        "/nothing".to_owned(),
    ] {
        let response = server.send(Method::GET, &path, Some(&acme.token), None).await;
        assert_eq!(without_id(problem(response, 404, "not_found").await), missing, "{path}");
    }
    for (method, path) in [
        (Method::PUT, format!("/organizations/acme/pipelines/{theirs}")),
        (Method::DELETE, format!("/organizations/acme/pipelines/{theirs}")),
        (Method::POST, format!("/organizations/acme/pipelines/{theirs}/stop")),
        (Method::POST, format!("/organizations/other/pipelines/{theirs}/stop")),
        (Method::DELETE, format!("/organizations/acme/api-tokens/{}", other.token_id)),
    ] {
        let response = server.send(method, &path, Some(&acme.token), None).await;
        assert_eq!(without_id(problem(response, 404, "not_found").await), missing, "{path}");
    }
    assert_eq!(server.get(&other, "/pipelines/theirs").await["data"]["status"], "active");
    server.end().await;
}

#[tokio::test]
async fn invalid_text_in_a_path_is_not_found() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    server.pipeline(&owner, "Web").await;
    let headers = format!("Authorization: Bearer {}\r\n", owner.token);
    for path in [
        "/api/v1/me//",
        "/api/v1//me",
        "/api/v1/me/x",
        "/api/v1/ME",
        "/api/v2/me",
        "/api/v1/organizations/acme/pipelines//",
        "/api/v1/organizations/acme/pipelines/web//",
        "/api/v1/organizations/acme/pipelines/web/x/y",
        "/api/v1/organizations/acme/pipelines/Web",
        "/api/v1/organizations/acme/pipelines/%00",
        "/api/v1/organizations/acme/pipelines/web%00",
        "/api/v1/organizations/acme/pipelines/%ff%fe",
        "/api/v1/organizations/acme/pipelines/web%2fversions",
        "/api/v1/organizations/acme/pipelines/..",
        "/api/v1/organizations/acme/pipelines/../../acme",
        "/api/v1/organizations/acme/pipelines/%2e%2e",
        "/api/v1/organizations/acme/pipelines/web'--",
        "/api/v1/organizations/%ff/pipelines",
        "/api/v1/organizations/%00/pipelines",
        "/api/v1/organizations/acme%00/pipelines",
        "/api/v1/organizations/ACME/pipelines",
        "/api/v1/organizations//pipelines",
        "/api/v1/organizations/acme/pipelines/web/versions/0",
        "/api/v1/organizations/acme/pipelines/web/versions/-1",
        "/api/v1/organizations/acme/pipelines/web/versions/abc",
        "/api/v1/organizations/acme/pipelines/web/versions/99999999999",
        "/api/v1/organizations/acme/events/1",
        "/api/v1/organizations/acme/members/%F0%9F%92%A9",
        "/docs/errors/%2e%2e%2fetc",
        "/.git/config",
    ] {
        let reply = Wire::get(&server, path, &headers).await;
        assert_eq!(reply.status, 404, "{path}: {reply:?}");
        assert!(reply.head.contains("content-type: application/problem+json"), "{path}: {reply:?}");
        assert_eq!(reply.json()["code"], "not_found", "{path}");
    }
    // The assets of the API reference are served by another handler, whose response has no details.
    for path in ["/docs/nothing.js", "/docs/errors/../../etc/passwd", "/docs/..%2f..%2fetc/passwd"] {
        assert_eq!(Wire::get(&server, path, &headers).await.status, 404, "{path}");
    }
    assert_eq!(Wire::get(&server, "*", &headers).await.status / 100, 4);
    assert_eq!(Wire::get(&server, "api/v1/me", &headers).await.status, 400);
    assert_eq!(Wire::get(&server, "http://elsewhere/api/v1/me", &headers).await.status, 200);
    server.end().await;
}
