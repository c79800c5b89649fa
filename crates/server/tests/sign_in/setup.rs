//! The link for the first owner: it is stolen, repeated, guessed, or used too late.

use std::time::Duration;

use greenroom_app::sign_in::setup;
use reqwest::{Method, Response, StatusCode};
use serde_json::{Value, json};
use sqlx::PgPool;
use tokio::sync::Mutex;

use crate::fixture::session_cookie;
use crate::support::database::TestDatabase;
use crate::support::{COOKIE, TestServer, eventually};

async fn new_server() -> (TestDatabase, PgPool, TestServer) {
    let (database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    (database, pool, server)
}

/// Makes the link as a daemon does when it starts, and returns its code.
async fn new_code(server: &TestServer) -> String {
    let link = setup::create_link(&server.server.app.store).await.unwrap().unwrap();
    link.secret.reveal().to_owned()
}

fn body(code: &str) -> Value {
    json!({
        "code": code, "organizationName": "Acme Inc.", "organizationSlug": "acme", "name": "Ada Lovelace",
        "email": "ada@acme.test",
    })
}

async fn send(server: &TestServer, body: &Value) -> Response {
    let request = server.client.post(format!("{}/auth/setup", server.base));
    request.header("origin", &server.origin).json(body).send().await.unwrap()
}

/// Sends the request and returns the status and the code of the problem.
async fn refused(server: &TestServer, body: &Value) -> (u16, String) {
    let response = send(server, body).await;
    assert!(session_cookie(&response).is_none());
    let status = response.status().as_u16();
    let problem: Value = response.json().await.unwrap();
    (status, problem["code"].as_str().unwrap().to_owned())
}

async fn count(pool: &PgPool, sql: &'static str) -> i64 {
    sqlx::query_scalar(sql).fetch_one(pool).await.unwrap()
}

const ORGANIZATIONS: &str = "select count(*) from organizations";

#[tokio::test]
async fn the_first_owner_creates_the_organization_and_is_signed_in() {
    let (_database, pool, server) = new_server().await;
    let code = new_code(&server).await;
    let response = send(&server, &body(&code)).await;
    assert_eq!(response.status(), StatusCode::OK);
    let cookie = format!("{COOKIE}{}", session_cookie(&response).unwrap());
    let text = response.text().await.unwrap();
    assert!(!text.contains(&code), "{text}");
    let me: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&me["data"]["role"], &me["data"]["organizationSlug"]), (&json!("owner"), &json!("acme")));

    let (status, organization) = server.json(Method::GET, "/organizations/acme", &cookie, None).await;
    assert_eq!((status, &organization["data"]["name"]), (StatusCode::OK, &json!("Acme Inc.")));
    let password = json!({ "newPassword": crate::fixture::PASSWORD });
    let (status, _) = server.json(Method::PUT, "/me/password", &cookie, Some(password)).await;
    assert_eq!(status, StatusCode::OK);

    let path = "/organizations/acme/events?category=audit";
    let events = Mutex::new(Value::Null);
    let recorded = eventually(Duration::from_secs(5), async || {
        *events.lock().await = server.json(Method::GET, path, &cookie, None).await.1;
        events.lock().await["data"].as_array().is_some_and(|events| events.len() == 3)
    });
    assert!(recorded.await, "{events:?}");
    let events = events.into_inner();
    let types = ["member.password_changed", "member.signed_in", "organization.created"];
    for recorded in types {
        let has_type = |event: &Value| event["type"] == recorded;
        assert!(events["data"].as_array().unwrap().iter().any(has_type), "{recorded}: {events}");
    }
    assert!(!events.to_string().contains(&code), "{events}");
    assert_eq!(count(&pool, ORGANIZATIONS).await, 1);
    server.server.stop(Duration::ZERO).await;
}

/// Attack 49: the link is used again.
#[tokio::test]
async fn it_is_valid_once() {
    let (_database, pool, server) = new_server().await;
    let code = new_code(&server).await;
    assert_eq!(send(&server, &body(&code)).await.status(), StatusCode::OK);
    let mut other = body(&code);
    other["organizationSlug"] = json!("other");
    for again in [body(&code), other] {
        assert_eq!(refused(&server, &again).await, (409, "already_set_up".to_owned()));
    }
    assert_eq!(count(&pool, ORGANIZATIONS).await, 1);
    assert_eq!(setup::create_link(&server.server.app.store).await.unwrap().map(|_| ()), None);
    server.server.stop(Duration::ZERO).await;
}

/// Attack 50: the link is taken from an old log.
#[tokio::test]
async fn it_expires_and_a_restart_renews_it() {
    let (_database, pool, server) = new_server().await;
    let old = new_code(&server).await;
    let minutes =
        "select extract(epoch from setup_expires_at - clock_timestamp())::bigint / 60 from installation";
    assert!((13..=15).contains(&count(&pool, minutes).await));
    let expire = "update installation set setup_expires_at = clock_timestamp() - interval '1 second'";
    sqlx::query(expire).execute(&pool).await.unwrap();
    assert_eq!(refused(&server, &body(&old)).await, (401, "sign_in_failed".to_owned()));
    let (replaced, new) = (new_code(&server).await, new_code(&server).await);
    for code in [&old, &replaced] {
        assert_eq!(refused(&server, &body(code)).await, (401, "sign_in_failed".to_owned()));
    }
    assert_eq!(count(&pool, ORGANIZATIONS).await, 0);
    assert_eq!(send(&server, &body(&new)).await.status(), StatusCode::OK);
    server.server.stop(Duration::ZERO).await;
}

/// Attack 51: the link is used after the operator has created an organization.
#[tokio::test]
async fn it_is_void_once_an_organization_exists() {
    let (_database, pool, server) = new_server().await;
    let code = new_code(&server).await;
    server.organization("globex").await;
    assert_eq!(refused(&server, &body(&code)).await, (409, "already_set_up".to_owned()));
    let stored = "select count(*) from installation where setup_secret_hash is not null";
    assert_eq!(count(&pool, stored).await, 0);
    // Also if it was printed at that very moment.
    let late = greenroom_app::browser_session::new_secret();
    sqlx::query("update installation set setup_secret_hash = $1, setup_expires_at = clock_timestamp() + interval '1 hour'")
        .bind(late.hash().as_slice())
        .execute(&pool)
        .await
        .unwrap();
    assert_eq!(refused(&server, &body(late.reveal())).await, (409, "already_set_up".to_owned()));
    assert_eq!(count(&pool, ORGANIZATIONS).await, 1);
    server.server.stop(Duration::ZERO).await;
}

/// Attack 52: the link is used several times at the same moment, with different names.
#[tokio::test]
async fn of_concurrent_uses_one_succeeds() {
    let (_database, pool, server) = new_server().await;
    let code = new_code(&server).await;
    let bodies: Vec<Value> = (0..8)
        .map(|number| {
            let mut body = body(&code);
            body["organizationSlug"] = json!(format!("acme-{number}"));
            body
        })
        .collect();
    let uses = futures_util::future::join_all(bodies.iter().map(|body| send(&server, body))).await;
    let mut statuses: Vec<u16> = uses.iter().map(|response| response.status().as_u16()).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409, 409, 409, 409, 409, 409, 409]);
    assert_eq!(count(&pool, ORGANIZATIONS).await, 1);
    server.server.stop(Duration::ZERO).await;
}

/// Attacks 53 and 54: a stranger reaches the port before the owner, and guesses; a page of another site sends the link.
#[tokio::test]
async fn it_cannot_be_guessed_nor_read_from_the_database() {
    let (_database, pool, server) = new_server().await;
    let code = new_code(&server).await;
    let stored: String = sqlx::query_scalar("select encode(setup_secret_hash, 'hex') from installation")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert_ne!(stored, code);
    for guess in [stored.as_str(), "", &code[1..], &code.to_uppercase(), &"0".repeat(64), "' or true --"] {
        assert_eq!(refused(&server, &body(guess)).await, (401, "sign_in_failed".to_owned()), "{guess}");
    }
    let request = server.client.post(format!("{}/auth/setup", server.base)).json(&body(&code));
    let foreign = request.header("origin", "https://evil.example").send().await.unwrap();
    assert_eq!(foreign.status(), StatusCode::FORBIDDEN);
    let mut statuses = Vec::new();
    for number in 0..60 {
        statuses.push(refused(&server, &body(&format!("{number:064}"))).await.0);
    }
    assert_eq!(statuses.last(), Some(&429), "{statuses:?}");
    assert_eq!(count(&pool, ORGANIZATIONS).await, 0);
    server.server.stop(Duration::ZERO).await;
}

/// A mistake in the form does not use the link up.
#[tokio::test]
async fn invalid_fields_are_named_and_the_link_stays_valid() {
    let (_database, pool, server) = new_server().await;
    let code = new_code(&server).await;
    for (field, value) in
        [("organizationName", " "), ("organizationSlug", "Acme!"), ("name", "a\u{202e}b"), ("email", "ada")]
    {
        let mut wrong = body(&code);
        wrong[field] = json!(value);
        let response = send(&server, &wrong).await;
        assert_eq!(response.status(), StatusCode::UNPROCESSABLE_ENTITY, "{field}");
        let problem: Value = response.json().await.unwrap();
        assert_eq!(problem["errors"][0]["pointer"], format!("/{field}"), "{problem}");
    }
    assert_eq!(count(&pool, ORGANIZATIONS).await, 0);
    assert_eq!(send(&server, &body(&code)).await.status(), StatusCode::OK);
    server.server.stop(Duration::ZERO).await;
}
