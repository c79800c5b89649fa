//! A provider, or an attacker between it and the browser, tries to sign in as another person.

use std::collections::HashMap;
use std::time::Duration;

use greenroom_app::sign_in::provider::ProviderSettings;
use reqwest::redirect::Policy;
use reqwest::{Client, Method, Response};
use serde_json::json;
use sqlx::{ConnectOptions, PgPool};

use crate::fixture::{Browser, PASSWORD, SignInFixture, session_cookie};
use crate::provider::{Claims, TestProvider};
use crate::support::TestServer;
use crate::support::database::TestDatabase;

struct OidcFixture {
    fixture: SignInFixture,
    one: TestProvider,
    two: TestProvider,
    client: Client,
}

/// A sign-in that a browser has begun.
struct Started {
    state: String,
    nonce: String,
    cookie: String,
}

impl OidcFixture {
    async fn new(pool: &PgPool) -> Self {
        let (one, two) = (TestProvider::start().await, TestProvider::start().await);
        let domains = vec!["acme.test".to_owned()];
        let providers = vec![ProviderSettings { domains, ..one.settings("one") }, two.settings("two")];
        let settings = greenroom_app::sign_in::SignInSettings { public_url: None, providers };
        let limits = greenroom_server::http::Limits::new(Duration::from_secs(15), 512);
        let url = pool.connect_options().to_url_lossy();
        let server = TestServer::start_with(url.as_str(), limits, settings).await;
        let fixture = SignInFixture::on(server).await;
        let client = Client::builder().no_proxy().redirect(Policy::none()).build().unwrap();
        Self { fixture, one, two, client }
    }

    async fn start(&self, provider: &str, return_to: &str) -> Started {
        let url = format!("{}/auth/oidc/{provider}/start", self.fixture.server.base);
        let query: String =
            form_urlencoded::Serializer::new(String::new()).append_pair("return", return_to).finish();
        let response = self.client.get(format!("{url}?{query}")).send().await.unwrap();
        assert_eq!(response.status().as_u16(), 303);
        let field = response.headers()["set-cookie"].to_str().unwrap().to_owned();
        for attribute in ["Path=/", "Secure", "HttpOnly", "SameSite=Lax", "Max-Age=600"] {
            assert!(field.split("; ").any(|part| part == attribute), "{field}");
        }
        let location = response.headers()["location"].to_str().unwrap().to_owned();
        let query = location.split_once('?').unwrap().1;
        let query: HashMap<String, String> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        assert_eq!(
            (query["response_type"].as_str(), query["code_challenge_method"].as_str()),
            ("code", "S256")
        );
        Started {
            state: query["state"].clone(),
            nonce: query["nonce"].clone(),
            cookie: field.split(';').next().unwrap().to_owned(),
        }
    }

    /// Comes back from the provider, as its site would send the browser.
    async fn finish(&self, provider: &str, query: &str, cookie: Option<&str>) -> Response {
        let url = format!("{}/auth/oidc/{provider}/callback?{query}", self.fixture.server.base);
        let mut request = self.client.get(url).header("sec-fetch-site", "cross-site");
        if let Some(cookie) = cookie {
            request = request.header("cookie", cookie);
        }
        request.send().await.unwrap()
    }

    /// Signs in at the first provider with these claims.
    async fn sign_in(&self, claims: impl FnOnce(Claims) -> Claims) -> Response {
        let started = self.start("one", "/o/acme").await;
        self.one.will_state(claims(self.one.claims("ada", "ada@acme.test", &started.nonce)));
        let query = format!("code=x&state={}", started.state);
        self.finish("one", &query, Some(&started.cookie)).await
    }
}

fn assert_refused(response: &Response) {
    assert_eq!(response.status().as_u16(), 303);
    assert_eq!(response.headers()["location"], "/sign-in?error=sign_in_failed");
    assert!(session_cookie(response).is_none());
}

#[tokio::test]
async fn a_verified_address_signs_in_and_then_the_subject() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = OidcFixture::new(&pool).await;
    fixture.fixture.add(&fixture.fixture.acme, "ada@acme.test", "developer").await;
    let response = fixture.sign_in(|claims| claims).await;
    assert_eq!(response.headers()["location"], "/o/acme");
    let browser = Browser::with_cookie(&session_cookie(&response).unwrap());
    assert_eq!(fixture.fixture.status(&browser, Method::GET, "/organizations/acme/me", None).await.0, 200);
    // From now on the address does not count.
    let again = fixture.sign_in(|claims| Claims { email: "other@acme.test".to_owned(), ..claims }).await;
    assert!(session_cookie(&again).is_some());
    fixture.fixture.end().await;
}

/// Attacks 34 to 37: an address that was not verified, of no member, or that belongs to another subject now.
#[tokio::test]
async fn only_a_verified_address_of_a_member_counts_and_only_once() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = OidcFixture::new(&pool).await;
    fixture.fixture.add(&fixture.fixture.acme, "ada@acme.test", "developer").await;
    for verified in [json!(false), json!(null)] {
        let verified = |claims| Claims { email_verified: verified.clone(), ..claims };
        assert_refused(&fixture.sign_in(verified).await);
    }
    let stranger = |claims| Claims { email: "nobody@acme.test".to_owned(), ..claims };
    assert_refused(&fixture.sign_in(stranger).await);
    assert!(session_cookie(&fixture.sign_in(|claims| claims).await).is_some());
    // The provider gives the address to another person.
    assert_refused(&fixture.sign_in(|claims| Claims { subject: "eve".to_owned(), ..claims }).await);
    fixture.fixture.end().await;
}

/// Attacks 34 to 36 again, at a provider that states the address only on request: also that of another person.
#[tokio::test]
async fn an_address_that_is_stated_on_request_counts_for_the_same_subject() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = OidcFixture::new(&pool).await;
    fixture.fixture.add(&fixture.fixture.acme, "ada@acme.test", "developer").await;
    let stated = |subject: &str, email: &str, verified: bool| json!({ "sub": subject, "email": email, "email_verified": verified });
    for refused in [
        stated("ada", "ada@acme.test", false),
        stated("eve", "ada@acme.test", true),
        stated("ada", "nobody@acme.test", true),
        json!({ "sub": "ada", "email": "ada@acme.test" }),
        json!({ "sub": "ada" }),
        json!(null),
    ] {
        let response = fixture.sign_in(|claims| Claims { on_request: Some(refused.clone()), ..claims }).await;
        assert_refused(&response);
    }
    let verified = stated("ada", "ada@acme.test", true);
    let response = fixture.sign_in(|claims| Claims { on_request: Some(verified), ..claims }).await;
    assert!(session_cookie(&response).is_some());
    // From now on a provider that states nothing is enough.
    let again = fixture.sign_in(|claims| Claims { on_request: Some(json!(null)), ..claims }).await;
    assert!(session_cookie(&again).is_some());
    fixture.fixture.end().await;
}

/// A provider replaces its keys from time to time, and the old ones are cached.
#[tokio::test]
async fn a_token_of_a_new_key_of_the_provider_is_accepted() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = OidcFixture::new(&pool).await;
    fixture.fixture.add(&fixture.fixture.acme, "ada@acme.test", "developer").await;
    assert!(session_cookie(&fixture.sign_in(|claims| claims).await).is_some());
    fixture.one.replace_key();
    assert!(session_cookie(&fixture.sign_in(|claims| claims).await).is_some());
    fixture.fixture.end().await;
}

/// Attacks 38 to 41: a token of another issuer, for another client, of another sign-in, or an old one.
#[tokio::test]
async fn a_token_has_to_be_of_this_sign_in() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = OidcFixture::new(&pool).await;
    fixture.fixture.add(&fixture.fixture.acme, "ada@acme.test", "developer").await;
    let two = fixture.two.issuer.clone();
    assert_refused(&fixture.sign_in(|claims| Claims { issuer: two, ..claims }).await);
    assert_refused(
        &fixture.sign_in(|claims| Claims { audience: "another-client".to_owned(), ..claims }).await,
    );
    assert_refused(
        &fixture.sign_in(|claims| Claims { nonce: "of another sign-in".to_owned(), ..claims }).await,
    );
    assert_refused(&fixture.sign_in(|claims| Claims { lifetime_seconds: -3_600, ..claims }).await);
    fixture.fixture.end().await;
}

/// Attacks 42 to 44: a response of a sign-in that this browser has not begun, begun at another provider, or
/// finished already.
#[tokio::test]
async fn the_browser_has_to_have_begun_the_sign_in() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = OidcFixture::new(&pool).await;
    fixture.fixture.add(&fixture.fixture.acme, "ada@acme.test", "developer").await;
    let (mine, attackers) = (fixture.start("one", "/").await, fixture.start("one", "/").await);
    let claims = fixture.one.claims("ada", "ada@acme.test", &attackers.nonce);
    let query = format!("code=x&state={}", attackers.state);
    for (query, cookie) in [
        (query.as_str(), None),
        (query.as_str(), Some(mine.cookie.as_str())),
        ("code=x", Some(attackers.cookie.as_str())),
        ("code=x&state=", Some("__Host-greenroom-oidc=p=one&s=&n=&v=&r=%2F")),
        ("error=access_denied", Some(attackers.cookie.as_str())),
    ] {
        fixture.one.will_state(claims.clone());
        assert_refused(&fixture.finish("one", query, cookie).await);
    }
    // Mix-up: begun at one provider, finished at the other.
    fixture.two.will_state(fixture.two.claims("ada", "ada@acme.test", &attackers.nonce));
    assert_refused(&fixture.finish("two", &query, Some(&attackers.cookie)).await);
    let issuer = format!("{query}&iss={}", fixture.two.issuer);
    fixture.one.will_state(claims.clone());
    assert_refused(&fixture.finish("one", &issuer, Some(&attackers.cookie)).await);
    assert_eq!(fixture.finish("three", &query, Some(&attackers.cookie)).await.status().as_u16(), 404);
    fixture.fixture.end().await;
}

/// Attack 45: the sign-in ends on the site of an attacker.
#[tokio::test]
async fn a_sign_in_ends_on_an_own_page() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = OidcFixture::new(&pool).await;
    fixture.fixture.add(&fixture.fixture.acme, "ada@acme.test", "developer").await;
    for target in ["https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)"] {
        let started = fixture.start("one", target).await;
        fixture.one.will_state(fixture.one.claims("ada", "ada@acme.test", &started.nonce));
        let query = format!("code=x&state={}", started.state);
        let response = fixture.finish("one", &query, Some(&started.cookie)).await;
        assert_eq!(response.headers()["location"], "/", "{target}");
    }
    fixture.fixture.end().await;
}

/// Attack 46: an admin has enrolled the address before its owner comes.
#[tokio::test]
async fn a_provider_voids_what_an_admin_has_set_up() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = OidcFixture::new(&pool).await;
    let (_, admins) = fixture.fixture.person("ada@acme.test", "developer").await;
    fixture.fixture.set_password(&admins, PASSWORD).await;
    fixture.fixture.add(&fixture.fixture.globex, "ada@acme.test", "admin").await;
    let response = fixture.sign_in(|claims| claims).await;
    let own = Browser::with_cookie(&session_cookie(&response).unwrap());
    assert_eq!(fixture.fixture.status(&own, Method::GET, "/organizations/globex/me", None).await.0, 200);
    fixture.fixture.is_signed_out(&admins).await;
    let old = fixture.fixture.sign_in("ada@acme.test", PASSWORD).await;
    assert_eq!(old.status().as_u16(), 401);
    fixture.fixture.end().await;
}

/// Attack 48: of two providers, one states any address as verified.
#[tokio::test]
async fn a_provider_does_not_vouch_for_addresses_of_another_one() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = OidcFixture::new(&pool).await;
    fixture.fixture.add(&fixture.fixture.acme, "ada@acme.test", "developer").await;
    fixture.fixture.add(&fixture.fixture.acme, "eve@other.test", "developer").await;
    let at_two = async |email: &str| {
        let started = fixture.start("two", "/o/acme").await;
        fixture.two.will_state(fixture.two.claims("eve", email, &started.nonce));
        fixture.finish("two", &format!("code=x&state={}", started.state), Some(&started.cookie)).await
    };
    // The second provider names no domains, so it vouches for no address, whether or not the person has signed in.
    assert_refused(&at_two("ada@acme.test").await);
    assert_refused(&at_two("eve@other.test").await);
    assert!(session_cookie(&fixture.sign_in(|claims| claims).await).is_some());
    assert_refused(&at_two("ada@acme.test").await);
    // The first one vouches for its own domain only.
    let other =
        |claims: Claims| Claims { subject: "eve".to_owned(), email: "eve@other.test".to_owned(), ..claims };
    assert_refused(&fixture.sign_in(other).await);
    // A person whom it has signed in before is still known to it: the domains are for the first time.
    let linked = "insert into identities (issuer, subject, user_id)
                  select $1, 'eve', id from users where email = 'eve@other.test'";
    sqlx::query(linked).bind(&fixture.two.issuer).execute(&pool).await.unwrap();
    assert!(session_cookie(&at_two("eve@other.test").await).is_some());
    fixture.fixture.end().await;
}
