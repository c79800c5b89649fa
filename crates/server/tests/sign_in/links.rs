//! A sign-in link is stolen, repeated or guessed.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::fixture::{Browser, SignInFixture, session_cookie};
use crate::support::database::TestDatabase;

/// Attacks 11 and 12: a link is used twice, and a link that a newer one has replaced.
#[tokio::test]
async fn a_link_is_valid_once_and_only_the_newest() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = SignInFixture::new(&pool).await;
    let user = fixture.add(&fixture.acme, "ada@acme.test", "developer").await;
    let old = fixture.code(&fixture.acme, &user).await;
    let new = fixture.code(&fixture.acme, &user).await;
    assert_eq!(fixture.use_link(&old).await.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(fixture.use_link(&new).await.status(), StatusCode::OK);
    for code in [&old, &new] {
        let again = fixture.use_link(code).await;
        assert!(session_cookie(&again).is_none());
        assert_eq!(again.status(), StatusCode::UNAUTHORIZED);
    }
    fixture.end().await;
}

/// Attack 13: a link from an old message.
#[tokio::test]
async fn a_link_expires() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = SignInFixture::new(&pool).await;
    let code = fixture.operator_code("owner@acme.test").await;
    let sql = "update sign_in_links set expires_at = clock_timestamp() - interval '1 second'";
    sqlx::query(sql).execute(&pool).await.unwrap();
    assert_eq!(fixture.use_link(&code).await.status(), StatusCode::UNAUTHORIZED);
    fixture.end().await;
}

/// Attack 14: a link is used several times at the same moment.
#[tokio::test]
async fn of_concurrent_uses_one_succeeds() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = SignInFixture::new(&pool).await;
    let code = fixture.operator_code("owner@acme.test").await;
    let uses = futures_util::future::join_all((0..8).map(|_| fixture.use_link(&code))).await;
    let successes = uses.iter().filter(|response| response.status() == StatusCode::OK).count();
    assert_eq!(successes, 1);
    fixture.end().await;
}

/// Attack 15: codes are guessed, or what the database stores is used as a code.
#[tokio::test]
async fn a_code_cannot_be_guessed_nor_read_from_the_database() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = SignInFixture::new(&pool).await;
    let code = fixture.operator_code("owner@acme.test").await;
    let stored: String = sqlx::query_scalar("select encode(secret_hash, 'hex') from sign_in_links")
        .fetch_one(&pool)
        .await
        .unwrap();
    let guesses =
        [stored.as_str(), "", "0", &code[1..], &code.to_uppercase(), &"0".repeat(64), "' or 1=1 --"];
    let mut bodies = Vec::new();
    for guess in guesses {
        let response = fixture.use_link(guess).await;
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED, "{guess}");
        let mut body: Value = response.json().await.unwrap();
        body.as_object_mut().unwrap().remove("requestId");
        bodies.push(body);
    }
    bodies.dedup();
    assert_eq!(bodies.len(), 1, "the response differs: {bodies:?}");
    // A code is no cookie, and a cookie is no code.
    assert_eq!(fixture.status(&Browser::with_cookie(&code), Method::GET, "/me", None).await.0, 401);
    let browser = fixture.signed_in_with(&code).await;
    let cookie = browser.cookie.clone().unwrap();
    assert_eq!(fixture.use_link(&cookie).await.status(), StatusCode::UNAUTHORIZED);
    let unknown = json!({ "code": cookie, "user": "usr_x" });
    assert_eq!(fixture.status(&Browser::default(), Method::POST, "/auth/link", Some(unknown)).await.0, 422);
    fixture.end().await;
}
