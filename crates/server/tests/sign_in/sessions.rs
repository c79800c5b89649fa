//! A session cookie is set by an attacker, stolen or kept.

use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::fixture::{Browser, PASSWORD, SignInFixture, session_cookie};
use crate::support::database::TestDatabase;
use crate::support::eventually;

/// Attack 16: a cookie that the attacker has set before the sign-in.
#[tokio::test]
async fn a_cookie_set_before_the_sign_in_never_becomes_valid() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = SignInFixture::new(&pool).await;
    let fixed = Browser::with_cookie(&"ab".repeat(32));
    let code = fixture.operator_code("owner@acme.test").await;
    let response = fixture.send(&fixed, Method::POST, "/auth/link", Some(json!({ "code": code }))).await;
    let cookie = session_cookie(&response).unwrap();
    assert_ne!(Some(&cookie), fixed.cookie.as_ref());
    assert_eq!(fixture.status(&fixed, Method::GET, "/me", None).await.0, 401);
    assert_eq!(fixture.status(&Browser::with_cookie(&cookie), Method::GET, "/me", None).await.0, 200);
    fixture.end().await;
}

/// The cookie can't be read by scripts, nor sent by other sites, nor set by other hosts.
#[tokio::test]
async fn the_cookie_has_all_its_attributes() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = SignInFixture::new(&pool).await;
    let code = fixture.operator_code("owner@acme.test").await;
    let response = fixture.use_link(&code).await;
    let field = response.headers()["set-cookie"].to_str().unwrap().to_owned();
    assert!(field.starts_with("__Host-greenroom="), "{field}");
    for attribute in ["Path=/", "Secure", "HttpOnly", "SameSite=Strict", "Max-Age=1209600"] {
        assert!(field.split("; ").any(|part| part == attribute), "{field}");
    }
    assert!(!field.contains("Domain"), "{field}");
    assert_eq!(response.headers()["cache-control"], "no-store");
    let body = response.text().await.unwrap();
    assert!(!body.contains(&field[17..81]), "the body contains the secret");
    fixture.end().await;
}

/// Attack 17: a cookie is used after its session has ended.
#[tokio::test]
async fn a_session_ends_with_the_sign_out() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = SignInFixture::new(&pool).await;
    let (_, browser) = fixture.person("ada@acme.test", "maintainer").await;
    let response = fixture.send(&browser, Method::POST, "/auth/sign-out", None).await;
    assert_eq!(response.status(), StatusCode::OK);
    assert!(response.headers()["set-cookie"].to_str().unwrap().contains("Max-Age=0"));
    fixture.is_signed_out(&browser).await;
    fixture.end().await;
}

/// Attack 18: a cookie of a browser that was not used for 12 hours, and of one that was used for 14 days.
#[tokio::test]
async fn a_session_ends_by_the_clock() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = SignInFixture::new(&pool).await;
    for (email, sql) in [
        (
            "idle@acme.test",
            "update browser_sessions set last_used_at = clock_timestamp() - interval '12 hours 1 second'",
        ),
        ("old@acme.test", "update browser_sessions set expires_at = clock_timestamp() - interval '1 second'"),
    ] {
        let (_, browser) = fixture.person(email, "maintainer").await;
        assert_eq!(fixture.status(&browser, Method::GET, "/me", None).await.0, 200);
        sqlx::query(sql).execute(&pool).await.unwrap();
        fixture.is_signed_out(&browser).await;
    }
    fixture.end().await;
}

/// Attack 19: what the database stores is used as a cookie, and cookies of other forms.
#[tokio::test]
async fn a_cookie_cannot_be_guessed_nor_read_from_the_database() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = SignInFixture::new(&pool).await;
    let (_, browser) = fixture.person("ada@acme.test", "developer").await;
    let cookie = browser.cookie.clone().unwrap();
    let (stored, id): (String, String) =
        sqlx::query_as("select encode(secret_hash, 'hex'), id::text from browser_sessions")
            .fetch_one(&pool)
            .await
            .unwrap();
    for forged in [
        stored.as_str(),
        &id,
        &cookie[1..],
        &cookie.to_uppercase(),
        "",
        &format!("{cookie}; __Host-greenroom={cookie}"),
    ] {
        let forged = Browser::with_cookie(forged);
        assert_eq!(fixture.status(&forged, Method::GET, "/me", None).await.0, 401, "{forged:?}");
    }
    // Neither is it a token.
    let response = fixture.server.send(Method::GET, "/me", Some(&cookie), None).await;
    assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
    fixture.end().await;
}

/// Attack 20: a session that was stolen stays after the password was changed.
#[tokio::test]
async fn a_new_password_ends_all_other_sessions() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = SignInFixture::new(&pool).await;
    let (_, browser) = fixture.person("ada@acme.test", "maintainer").await;
    fixture.set_password(&browser, PASSWORD).await;
    let stolen = fixture.sign_in("ada@acme.test", PASSWORD).await;
    let stolen = Browser::with_cookie(&session_cookie(&stolen).unwrap());
    let change = |current: Option<&str>| json!({ "currentPassword": current, "newPassword": "quiet-harbor-violin-77" });
    // The thief has the cookie and not the password.
    for current in [None, Some(""), Some("orbit-lantern-quartz-43")] {
        let refused = fixture.status(&stolen, Method::PUT, "/me/password", Some(change(current))).await;
        assert_eq!(refused.0, 422, "{current:?}");
    }
    let changed = fixture.send(&browser, Method::PUT, "/me/password", Some(change(Some(PASSWORD)))).await;
    let changed: Value = changed.json().await.unwrap();
    assert_eq!(changed["data"]["ended"].as_array().map(Vec::len), Some(1), "{changed}");
    fixture.is_signed_out(&stolen).await;
    assert_eq!(fixture.status(&browser, Method::GET, "/me", None).await.0, 200);
    assert_eq!(fixture.sign_in("ada@acme.test", PASSWORD).await.status(), StatusCode::UNAUTHORIZED);
    fixture.end().await;
}

/// Attack 21: an API token manages how its user signs in.
#[tokio::test]
async fn a_token_cannot_manage_sign_in() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = SignInFixture::new(&pool).await;
    let body = json!({ "newPassword": PASSWORD });
    for (method, path, body) in [
        (Method::PUT, "/me/password", Some(body)),
        (Method::GET, "/me/browser-sessions", None),
        (Method::DELETE, "/me/browser-sessions?all=true", None),
        (Method::POST, "/auth/sign-out", None),
    ] {
        let (status, refused) = fixture.server.json(method, path, &fixture.acme.token, body).await;
        assert_eq!((status.as_u16(), refused["code"].as_str()), (403, Some("browser_session_required")));
    }
    fixture.end().await;
}

/// Attack 22: a person ends the sessions of another person.
#[tokio::test]
async fn people_end_their_own_sessions_only() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = SignInFixture::new(&pool).await;
    let (_, ada) = fixture.person("ada@acme.test", "developer").await;
    let (_, ben) = fixture.person("ben@acme.test", "admin").await;
    let list: Value =
        fixture.send(&ada, Method::GET, "/me/browser-sessions", None).await.json().await.unwrap();
    let [session] = list["data"].as_array().unwrap().as_slice() else { panic!("{list}") };
    assert_eq!((session["current"].as_bool(), session["method"].as_str()), (Some(true), Some("link")));
    let path = format!("/me/browser-sessions?sessionId={}", session["id"].as_str().unwrap());
    let ended: Value = fixture.send(&ben, Method::DELETE, &path, None).await.json().await.unwrap();
    assert_eq!(ended["data"]["ended"], json!([]), "{ended}");
    assert_eq!(fixture.status(&ada, Method::GET, "/me", None).await.0, 200);
    // A variable that is empty by mistake ends no session, and a dry run neither.
    let nothing_named = fixture.status(&ada, Method::DELETE, "/me/browser-sessions", None).await;
    assert_eq!(nothing_named, (422, "invalid_request".to_owned()));
    let dry = fixture.send(&ada, Method::DELETE, &format!("{path}&dryRun=true"), None).await;
    assert_eq!(dry.json::<Value>().await.unwrap()["data"]["ended"], json!([session["id"]]));
    assert_eq!(fixture.status(&ada, Method::GET, "/me", None).await.0, 200);
    let ended: Value = fixture.send(&ada, Method::DELETE, &path, None).await.json().await.unwrap();
    assert_eq!(ended["data"]["ended"], json!([session["id"]]), "{ended}");
    fixture.is_signed_out(&ada).await;
    fixture.end().await;
}

/// Attack 23: a person who was removed or demoted goes on with the cookie.
#[tokio::test]
async fn a_session_has_the_rights_that_its_user_has_now() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = SignInFixture::new(&pool).await;
    let (user, browser) = fixture.person("ada@acme.test", "maintainer").await;
    let create = async |name: &str| {
        let body = json!({ "name": name, "definition": crate::support::DEFINITION });
        fixture.status(&browser, Method::POST, "/organizations/acme/pipelines", Some(body)).await.0
    };
    assert_eq!(create("One").await, 201);
    let member = format!("/organizations/acme/members/{user}");
    let body = Some(json!({ "role": "viewer" }));
    fixture.server.json(Method::PATCH, &member, &fixture.acme.token, body).await;
    assert_eq!(create("Two").await, 403);
    fixture.server.json(Method::DELETE, &member, &fixture.acme.token, None).await;
    // The command finds no membership; a read may use what was cached for half a second.
    assert!(matches!(create("Three").await, 401 | 404));
    let gone = eventually(Duration::from_secs(1), async || {
        fixture.status(&browser, Method::GET, "/organizations/acme/pipelines", None).await.0 == 404
    });
    assert!(gone.await);
    fixture.end().await;
}
