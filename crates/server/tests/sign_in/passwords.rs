//! Passwords are guessed, and accounts are looked for.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::fixture::{Browser, PASSWORD, SignInFixture, session_cookie};
use crate::support::database::TestDatabase;

async fn with_password(fixture: &SignInFixture, email: &str) -> Browser {
    let (_, browser) = fixture.person(email, "developer").await;
    fixture.set_password(&browser, PASSWORD).await;
    browser
}

#[tokio::test]
async fn the_right_password_signs_in() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = SignInFixture::new(&pool).await;
    with_password(&fixture, "ada@acme.test").await;
    let response = fixture.sign_in("Ada@ACME.test", PASSWORD).await;
    assert_eq!(response.status(), StatusCode::OK);
    let browser = Browser::with_cookie(&session_cookie(&response).unwrap());
    let me: Value = response.json().await.unwrap();
    assert_eq!(me["data"]["organizationSlug"], "acme");
    assert!(me["data"].get("token").is_none(), "{me}");
    assert_eq!(fixture.status(&browser, Method::GET, "/me", None).await.0, 200);
    fixture.end().await;
}

/// Attack 30: brute force, one after the other and concurrently.
#[tokio::test]
async fn ten_attempts_within_fifteen_minutes() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = SignInFixture::new(&pool).await;
    with_password(&fixture, "ada@acme.test").await;
    let attempts = (0..30).map(|number| {
        let fixture = &fixture;
        async move { fixture.sign_in("ada@acme.test", &format!("guess-number-{number}")).await.status() }
    });
    let statuses = futures_util::future::join_all(attempts).await;
    assert!(statuses.iter().all(|status| matches!(status.as_u16(), 401 | 429 | 503)), "{statuses:?}");
    assert!(statuses.iter().filter(|status| status.as_u16() == 401).count() <= 10, "{statuses:?}");
    // The right password does not help any more, and the response states when it will.
    let limited = fixture.sign_in("ada@acme.test", PASSWORD).await;
    assert_eq!(limited.status(), StatusCode::TOO_MANY_REQUESTS);
    let wait: u64 = limited.headers()["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=900).contains(&wait), "{wait}");
    // Another spelling is the same account, and other people are not affected.
    assert_eq!(fixture.sign_in("ADA@acme.test", PASSWORD).await.status(), StatusCode::TOO_MANY_REQUESTS);
    with_password(&fixture, "ben@acme.test").await;
    assert_eq!(fixture.sign_in("ben@acme.test", PASSWORD).await.status(), StatusCode::OK);
    fixture.end().await;
}

/// Attack 31: which accounts exist, by the response.
#[tokio::test]
async fn the_response_does_not_disclose_accounts() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = SignInFixture::new(&pool).await;
    with_password(&fixture, "ada@acme.test").await;
    fixture.add(&fixture.acme, "no-password@acme.test", "viewer").await;
    let gone = with_password_and_removed(&fixture).await;
    let mut bodies = Vec::new();
    for (email, password) in [
        ("ada@acme.test", "wrong-password-123"),
        ("nobody@acme.test", "wrong-password-123"),
        ("no-password@acme.test", ""),
        ("not an address", "wrong-password-123"),
        (gone.as_str(), PASSWORD),
    ] {
        let response = fixture.sign_in(email, password).await;
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED, "{email}");
        assert!(session_cookie(&response).is_none());
        let mut body: Value = response.json().await.unwrap();
        body.as_object_mut().unwrap().remove("requestId");
        bodies.push(body);
    }
    bodies.dedup();
    assert_eq!(bodies.len(), 1, "{bodies:?}");
    fixture.end().await;
}

/// A person with a password who is not a member of any organization any more.
async fn with_password_and_removed(fixture: &SignInFixture) -> String {
    let (user, browser) = fixture.person("gone@acme.test", "viewer").await;
    fixture.set_password(&browser, PASSWORD).await;
    let path = format!("/organizations/acme/members/{user}");
    fixture.server.json(Method::DELETE, &path, &fixture.acme.token, None).await;
    "gone@acme.test".to_owned()
}

/// Attack 32: weak, huge and malformed passwords.
#[tokio::test]
async fn what_is_no_password_is_rejected() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = SignInFixture::new(&pool).await;
    let (_, browser) = fixture.person("ada.lovelace@acme.test", "developer").await;
    for weak in ["", "short", "password1234", "aaaaaaaaaaaaaaaa", "ada.lovelace@acme.test", &"x".repeat(129)]
    {
        let body = Some(json!({ "newPassword": weak }));
        let refused = fixture.status(&browser, Method::PUT, "/me/password", body).await;
        assert_eq!(refused, (422, "invalid_request".to_owned()), "{weak}");
    }
    let huge = json!({ "email": "ada.lovelace@acme.test", "password": "x".repeat(100_000) });
    let refused = fixture.status(&Browser::default(), Method::POST, "/auth/password", Some(huge)).await;
    assert_eq!(refused.0, 413);
    let long = fixture.sign_in("ada.lovelace@acme.test", &"x".repeat(1_000)).await;
    assert_eq!(long.status(), StatusCode::UNAUTHORIZED);
    fixture.end().await;
}

/// Attack 33: passwords, cookies and codes in what the server stores.
#[tokio::test]
async fn no_secret_is_stored() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = SignInFixture::new(&pool).await;
    let browser = with_password(&fixture, "ada@acme.test").await;
    let code = fixture.operator_code("owner@acme.test").await;
    let tables: Vec<String> = sqlx::query_scalar(
        "select format('%I.%I', table_schema, table_name) from information_schema.tables
         where table_schema not in ('pg_catalog', 'information_schema')",
    )
    .fetch_all(&pool)
    .await
    .unwrap();
    let mut text = String::new();
    for table in tables {
        let sql = sqlx::AssertSqlSafe(format!("select t::text from {table} t"));
        let rows: Vec<String> = sqlx::query_scalar(sql).fetch_all(&pool).await.unwrap();
        text += &rows.join("\n");
    }
    for secret in [PASSWORD, browser.cookie.as_deref().unwrap(), &code] {
        let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
        assert!(!text.contains(secret) && !text.contains(&hex));
    }
    fixture.end().await;
}
