//! The header that a token is read from, and the places that are ignored.

use crate::changes::Changes;
use crate::fixture::PermissionFixture;
use crate::raw_http::request;
use crate::support::database::TestDatabase;

#[tokio::test]
async fn a_token_is_read_from_its_header_only() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    let token = &fixture.owner.token;
    let with = async |path: &str, headers: &[(&str, &str)]| {
        request(&fixture.server, "GET", format!("/api/v1{path}").as_bytes(), headers).await
    };
    // The scheme's case does not matter (RFC 9110), nor does space around the token.
    for scheme in ["Bearer ", "bearer ", "BEARER ", "Bearer   "] {
        let (status, text) = with("/me", &[("authorization", &format!("{scheme}{token}"))]).await;
        assert_eq!(status, 200, "{scheme}: {text}");
    }

    let bad = [
        token.clone(),
        format!("Basic {token}"),
        format!("Token {token}"),
        format!("Bearer{token}"),
        format!("Bearer \"{token}\""),
        format!("Bearer {token},"),
        format!("Bearer {token} {token}"),
        format!("Bearer Bearer {token}"),
        format!("Bearer {}", token.to_uppercase()),
        format!("Bearer {}", &token[4..]),
        format!("Bearer {token}\u{e4}"),
        "Bearer".to_owned(),
        "Bearer ".to_owned(),
        format!("Bearer grn_{}", "0".repeat(36)),
        format!("Bearer {}", "x".repeat(8000)),
    ];
    for value in &bad {
        let (status, text) = with("/me", &[("authorization", value)]).await;
        assert_eq!(status, 401, "{value}: {text}");
    }

    let cookie = format!("token={token}; authorization=Bearer {token}; __Host-session={token}");
    for headers in [
        ("cookie", cookie.as_str()),
        ("x-api-key", token),
        ("x-authorization", &format!("Bearer {token}")),
        ("proxy-authorization", &format!("Bearer {token}")),
        ("x-forwarded-user", &fixture.owner.user),
        ("x-original-url", "/livez"),
        ("x-rewrite-url", "/livez"),
    ] {
        let (status, text) = with("/me", &[headers]).await;
        assert_eq!(status, 401, "{}: {text}", headers.0);
    }
    for name in ["token", "access_token", "authorization", "api_key"] {
        for path in ["/me", "/organizations/acme/events", "/organizations/acme/events/stream"] {
            let (status, text) = with(&format!("{path}?{name}={token}"), &[]).await;
            assert_eq!(status, 401, "{name}: {text}");
        }
    }
    fixture.server.stop().await;
}

/// The method is only read from the request line.
#[tokio::test]
async fn a_method_is_not_overridden() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    fixture.server.pipeline(&fixture.owner, "Shop").await;
    let changes = Changes::watch(&pool).await;
    let token = format!("Bearer {}", fixture.owner.token);
    for name in ["x-http-method-override", "x-http-method", "x-method-override"] {
        let headers = [("authorization", token.as_str()), (name, "DELETE")];
        let path = b"/api/v1/organizations/acme/pipelines/shop?_method=DELETE";
        let (status, text) = request(&fixture.server, "GET", path, &headers).await;
        assert!((200..500).contains(&status), "{text}");
    }
    changes.assert_none().await;
    fixture.server.stop().await;
}

/// Which of two fields counts depends on the program: a proxy in front may have checked the other one.
#[tokio::test]
async fn host_and_authorization_are_sent_once() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = PermissionFixture::new(&pool).await;
    let bearer = format!("Bearer {}", fixture.owner.token);
    let token = bearer.as_str();
    // `request` sends a `Host` field itself, so a `host` in this list is the second one.
    for fields in [
        &[("authorization", token), ("authorization", token)] as &[_],
        &[("authorization", token), ("Authorization", "Bearer grn_other")],
        &[("authorization", ""), ("authorization", token)],
        &[("authorization", token), ("host", "evil.example")],
        &[("host", "evil.example")],
    ] {
        for path in ["/api/v1/me", "/api/v1", "/docs/errors", "/oauth/token", "/no-such-page"] {
            let (status, text) = request(&fixture.server, "GET", path.as_bytes(), fields).await;
            assert_eq!(status, 400, "{path} {fields:?}: {text}");
            assert!(text.contains("invalid_header") && text.contains("Send this field once"), "{text}");
        }
    }
    let (status, text) = request(&fixture.server, "GET", b"/api/v1/me", &[("authorization", token)]).await;
    assert_eq!(status, 200, "{text}");
    fixture.server.stop().await;
}
