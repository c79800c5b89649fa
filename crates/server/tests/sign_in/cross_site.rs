//! Another site sends requests with the cookie of a person who is signed in.

use reqwest::{Method, StatusCode};
use serde_json::json;

use crate::fixture::{PASSWORD, SignInFixture};
use crate::support::database::TestDatabase;

/// Pages of other sites, as browsers describe them.
const FOREIGN: [&[(&str, &str)]; 10] = [
    &[("sec-fetch-site", "cross-site"), ("origin", "https://evil.example")],
    &[("sec-fetch-site", "same-site"), ("origin", "https://qa-1.example.com")],
    &[("sec-fetch-site", "cross-site")],
    &[("sec-fetch-site", "same-site")],
    &[("origin", "https://evil.example")],
    &[("origin", "null")],
    &[("origin", "http://127.0.0.1")],
    // A name of the other site that leads to this server (DNS rebinding).
    &[("origin", "http://evil.example"), ("host", "evil.example")],
    &[("origin", "http://evil.example"), ("host", "evil.example"), ("sec-fetch-site", "same-origin")],
    &[],
];

/// Attacks 24, 25 and 47: a page of another site, of a sibling host, or of a name that leads to this server changes something.
#[tokio::test]
async fn other_sites_change_nothing() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = SignInFixture::new(&pool).await;
    let (_, browser) = fixture.person("ada@acme.test", "admin").await;
    let body = json!({ "name": "Evil", "definition": crate::support::DEFINITION });
    for site in FOREIGN {
        let foreign = browser.on_site(site);
        for (method, path, body) in [
            (Method::POST, "/organizations/acme/pipelines", Some(body.clone())),
            (Method::PATCH, "/organizations/acme", Some(json!({ "name": "Evil" }))),
            (Method::POST, "/organizations/acme/api-tokens", Some(json!({ "name": "evil" }))),
            (Method::PUT, "/me/password", Some(json!({ "newPassword": PASSWORD }))),
            (Method::DELETE, "/me/browser-sessions?all=true", None),
            (Method::POST, "/auth/sign-out", None),
        ] {
            let refused = fixture.status(&foreign, method, path, body).await;
            assert_eq!(refused, (403, "cross_site_request".to_owned()), "{site:?} {path}");
        }
    }
    let pipelines = "/organizations/acme/pipelines";
    let page: serde_json::Value =
        fixture.send(&browser, Method::GET, pipelines, None).await.json().await.unwrap();
    assert_eq!(page["pagination"]["total"], 0, "{page}");
    fixture.end().await;
}

/// Attack 26: another site reads with the cookie, as an image, a script or a frame would.
#[tokio::test]
async fn other_sites_read_nothing() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = SignInFixture::new(&pool).await;
    let (_, browser) = fixture.person("ada@acme.test", "admin").await;
    for site in ["cross-site", "same-site"] {
        let foreign = browser.on_site(&[("sec-fetch-site", site)]);
        for path in ["/me", "/organizations/acme/members", "/organizations/acme/events/stream"] {
            assert_eq!(fixture.status(&foreign, Method::GET, path, None).await.0, 401, "{site} {path}");
        }
        let page = fixture.send(&foreign, Method::GET, "/openapi.json", None).await;
        assert_eq!(page.status(), StatusCode::OK, "what needs no token is served");
        assert_eq!(page.headers()["cross-origin-resource-policy"], "same-origin");
        assert!(page.headers().get("access-control-allow-origin").is_none());
    }
    fixture.end().await;
}

/// Attack 27: a form of another site, which needs no script.
#[tokio::test]
async fn a_form_is_not_accepted() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = SignInFixture::new(&pool).await;
    let (_, browser) = fixture.person("ada@acme.test", "admin").await;
    let cookie = format!("__Host-greenroom={}", browser.cookie.unwrap());
    for content_type in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
        let request = fixture
            .server
            .client
            .post(format!("{}/organizations/acme/api-tokens", fixture.server.base))
            .header("origin", &fixture.server.origin)
            .header("cookie", &cookie)
            .header("content-type", content_type)
            .body(r#"{"name": "evil"}"#);
        assert_eq!(request.send().await.unwrap().status().as_u16(), 415, "{content_type}");
    }
    fixture.end().await;
}

/// Attack 28: another site signs a person in to the account of the attacker.
#[tokio::test]
async fn other_sites_cannot_sign_a_person_in() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = SignInFixture::new(&pool).await;
    let code = fixture.operator_code("owner@acme.test").await;
    for site in FOREIGN.iter().filter(|site| !site.is_empty()) {
        let browser = crate::fixture::Browser::default().on_site(site);
        let link = fixture.status(&browser, Method::POST, "/auth/link", Some(json!({ "code": code }))).await;
        assert_eq!(link, (403, "cross_site_request".to_owned()), "{site:?}");
        let body = json!({ "email": "owner@acme.test", "password": PASSWORD });
        let password = fixture.status(&browser, Method::POST, "/auth/password", Some(body)).await;
        assert_eq!(password, (403, "cross_site_request".to_owned()), "{site:?}");
    }
    assert_eq!(fixture.use_link(&code).await.status(), StatusCode::OK, "the link was not used up");
    fixture.end().await;
}

/// Attack 29: a token with few rights is sent beside the cookie of an owner.
#[tokio::test]
async fn a_cookie_adds_nothing_to_a_token() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = SignInFixture::new(&pool).await;
    let code = fixture.operator_code("owner@acme.test").await;
    let owner = fixture.signed_in_with(&code).await;
    let viewer = fixture.server.member(&fixture.acme, "acme", "viewer").await;
    let cookie = format!("__Host-greenroom={}", owner.cookie.unwrap());
    for (authorization, status) in [
        (format!("Bearer {}", viewer.token), 403),
        ("Bearer grn_not-a-token".to_owned(), 401),
        ("Basic YTpi".to_owned(), 401),
        (String::new(), 401),
    ] {
        let request = fixture
            .server
            .client
            .patch(format!("{}/organizations/acme", fixture.server.base))
            .header("authorization", &authorization)
            .header("origin", &fixture.server.origin)
            .header("cookie", &cookie)
            .json(&json!({ "name": "Evil" }));
        assert_eq!(request.send().await.unwrap().status().as_u16(), status, "{authorization}");
    }
    fixture.end().await;
}
