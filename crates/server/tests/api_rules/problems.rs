//! Problems: the fields of each class, and the page that explains each code.

use greenroom_app::failure::Code;
use greenroom_app::token::new_secret;
use greenroom_domain::role::Role;
use reqwest::{Method, Response};
use serde_json::json;

use crate::requests::{header, new_pipeline, problem};
use crate::support::database::TestDatabase;
use crate::support::{COOKIE, DEFINITION, TestServer};

async fn sent(request: reqwest::RequestBuilder) -> Response {
    request.send().await.unwrap()
}

#[tokio::test]
async fn each_class_has_its_code_and_status() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let viewer = server.member(&owner, "acme", Role::Viewer.as_str()).await;
    let (taken, gone) = (server.pipeline(&owner, "Taken").await, server.pipeline(&owner, "Gone").await);
    sent(server.request(&owner, Method::DELETE, &format!("/pipelines/{gone}"))).await;
    let post = |path: &str| server.request(&owner, Method::POST, path);
    let get = |path: &str| server.request(&owner, Method::GET, path);

    let bad = sent(post("/pipelines").body("{")).await;
    problem(bad, 400, "malformed_json").await;
    let bad = sent(post("/pipelines").header("idempotency-key", "").json(&new_pipeline("x"))).await;
    problem(bad, 400, "invalid_header").await;
    let forbidden = sent(server.request(&viewer, Method::POST, "/pipelines").json(&new_pipeline("x"))).await;
    let forbidden = problem(forbidden, 403, "forbidden").await;
    assert_eq!(forbidden["requiredRole"], "maintainer");
    assert_eq!((&forbidden["role"], &forbidden["action"]), (&json!("viewer"), &json!("pipeline.edit")));
    problem(sent(get("/pipelines/nothing")).await, 404, "not_found").await;
    problem(sent(post("/events")).await, 405, "method_not_allowed").await;
    let conflict =
        problem(sent(post("/pipelines").json(&new_pipeline("Taken"))).await, 409, "slug_taken").await;
    assert_eq!(conflict["slug"], "taken");
    let member = json!({ "email": "owner@acme.test", "name": "Again", "role": "viewer" });
    problem(sent(post("/members").json(&member)).await, 409, "already_member").await;
    let leave = sent(server.request(&owner, Method::DELETE, &format!("/members/{}", owner.user))).await;
    problem(leave, 409, "last_owner").await;
    problem(sent(post(&format!("/pipelines/{gone}/stop"))).await, 409, "pipeline_archived").await;
    let stale =
        server.request(&owner, Method::PUT, &format!("/pipelines/{taken}")).header("if-match", "\"99\"");
    problem(sent(stale.json(&json!({ "name": "New" }))).await, 412, "precondition_failed").await;
    problem(sent(post("/members").body(" ".repeat(300_000))).await, 413, "body_too_large").await;
    problem(sent(get(&format!("/pipelines?x={}", "x".repeat(5_000)))).await, 414, "uri_too_long").await;
    let cookie = server.browser(&owner.user).await.replace(COOKIE, "__Host-greenroom=");
    let form = server.client.post(format!("{}/organizations/acme/pipelines", server.base));
    let form = form.header("cookie", cookie).header("origin", &server.origin);
    problem(sent(form.header("content-type", "text/plain").body("{}")).await, 415, "unsupported_media_type")
        .await;
    problem(sent(post("/pipelines").json(&json!({ "name": 1 }))).await, 422, "invalid_request").await;
    let wrong = json!({ "name": "x", "definition": "stages: {}" });
    let wrong = problem(sent(post("/pipelines").json(&wrong)).await, 422, "invalid_definition").await;
    assert!(wrong["errors"][0]["line"].as_u64().is_some_and(|line| line >= 1), "{wrong}");
    sent(post("/pipelines").header("idempotency-key", "k").json(&new_pipeline("First"))).await;
    let reused = post("/pipelines").header("idempotency-key", "k").json(&new_pipeline("Second"));
    problem(sent(reused).await, 422, "idempotency_key_reused").await;
    server.end().await;
}

#[tokio::test]
async fn without_a_valid_token_nothing_is_disclosed() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    server.pipeline(&owner, "Web").await;
    let (unknown, token) = (new_secret().reveal().to_owned(), &owner.token);
    let mut torn = token.clone();
    torn.pop();
    let url = format!("{}/organizations/acme/pipelines/web", server.base);
    for authorization in [
        None,
        Some(String::new()),
        Some("Bearer".to_owned()),
        Some("Bearer ".to_owned()),
        Some(token.clone()),
        Some(format!("Basic {token}")),
        Some(format!("Bearer{token}")),
        Some(format!("Bearer {torn}")),
        Some(format!("Bearer {token}x")),
        Some(format!("Bearer {}", token.to_uppercase())),
        Some(format!("Bearer {unknown}")),
        Some(format!("Bearer {token} {token}")),
        Some(format!("Bearer {}", "a".repeat(8_000))),
    ] {
        let mut request = server.client.get(&url);
        if let Some(text) = &authorization {
            request = request.header("authorization", text);
        }
        let response = sent(request).await;
        assert!(header(&response, "www-authenticate").starts_with("Bearer"), "{authorization:?}");
        problem(response, 401, "unauthenticated").await;
    }
    let in_the_url = server.client.get(format!("{url}?access_token={token}"));
    problem(sent(in_the_url).await, 401, "unauthenticated").await;
    let small = server.client.get(&url).header("authorization", format!("bearer {token}"));
    assert_eq!(sent(small).await.status(), 200);
    // Nor whether the body is valid.
    let body = server.client.post(format!("{}/organizations/acme/pipelines", server.base)).body("{");
    problem(sent(body).await, 401, "unauthenticated").await;
    server.end().await;
}

#[tokio::test]
async fn every_problem_has_its_page() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    for code in Code::ALL {
        let page = sent(server.client.get(format!("{}/docs/errors/{}", server.origin, code.name()))).await;
        assert_eq!(page.status(), 200, "{code:?}");
        assert!(header(&page, "content-type").starts_with("text/html"), "{code:?}");
        assert!(header(&page, "content-security-policy").contains("default-src 'self'"), "{code:?}");
        let text = page.text().await.unwrap();
        assert!(text.contains(code.name()) && text.contains(&code.status().to_string()), "{code:?}");
    }
    let list = sent(server.client.get(format!("{}/docs/errors", server.origin))).await.text().await.unwrap();
    assert!(Code::ALL.iter().all(|code| list.contains(&format!("/docs/errors/{}", code.name()))));
    assert!(list.contains("<td>409</td>") && list.contains("Another user holds the environment"), "{list}");
    server.end().await;
}

#[tokio::test]
async fn pages_have_navigation() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let page = async |path: &str| {
        let response = sent(server.client.get(format!("{}{path}", server.origin))).await;
        (response.status().as_u16(), response.text().await.unwrap())
    };
    let (status, reference) = page("/docs/").await;
    assert_eq!(status, 200);
    assert!(reference.contains("<title>Greenroom: the API</title>"), "{reference}");
    let (status, missing) = page("/docs/nope").await;
    assert_eq!(status, 404);
    assert!(missing.contains("There is no such page") && missing.contains("/docs/errors"), "{missing}");
    let (_, error) = page("/docs/errors/not_found").await;
    assert!(error.contains("<nav>"), "a page has a link back: {error}");
    server.end().await;
}

#[tokio::test]
async fn internal_errors_disclose_nothing() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    sqlx::query("alter table pipelines drop column repository").execute(&pool).await.unwrap();
    let broken = server.request(&owner, Method::POST, "/pipelines").json(&new_pipeline("Web"));
    let broken = problem(sent(broken).await, 500, "internal").await.to_string();
    for internal in
        ["pipelines\"", "relation", "sql", "postgres", "42703", "column", "insert", DEFINITION.trim()]
    {
        assert!(!broken.contains(internal), "{internal}: {broken}");
    }
    server.end().await;
}
