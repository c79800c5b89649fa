//! `POST /oauth/token`: tokens of a CI system that are exchanged, and those that an attacker would send.

use futures_util::future::join_all;
use greenroom_app::limits::LimitSettings;
use openidconnect::PrivateSigningKey;
use openidconnect::core::{CoreHmacKey, CoreJwsSigningAlgorithm};
use reqwest::Method;
use serde_json::{Value, json};

use crate::exchange_fixture::{ExchangeFixture, JWT, TestIssuer, encode, join, sign};
use crate::support::database::TestDatabase;
use crate::support::in_hours;

const REFUSED: &str = "token.exchange_refused";

#[tokio::test]
async fn a_token_of_ci_claims_an_environment() {
    let (_database, pool) = TestDatabase::create().await;
    let exchange = ExchangeFixture::new(&pool).await;
    let done = exchange.exchange(&exchange.subject(&json!({}))).await;
    let token = done.token();
    assert_eq!(
        (&done.json["token_type"], &done.json["expires_in"], &done.json["scope"]),
        (&json!("Bearer"), &json!(3600), &json!("read hold deploy start")),
        "{done:?}"
    );
    let caller = exchange.caller(&token);
    let claimed = exchange.fixture.claim(&caller, json!({ "commitId": "0123abc" })).await.is(201);
    assert_eq!(claimed["data"]["lock"]["holder"]["token"], "shop, main", "{claimed}");
    // It reaches the pipelines of the policy only, and never permits force.
    let other = exchange.fixture.server.pipeline(&exchange.fixture.owner, "Other").await;
    let path = format!("/organizations/acme/pipelines/{other}");
    assert_eq!(exchange.fixture.server.json(Method::GET, &path, &token, None).await.0.as_u16(), 404);
    let me = exchange.fixture.of_organization(&caller, Method::GET, "/me", Value::Null).await;
    let own = &me["data"]["token"];
    assert_eq!((&own["kind"], &own["allowForce"]), (&json!("ci"), &json!(false)), "{me}");
    let path = "/organizations/acme/api-tokens";
    let (status, refused) =
        exchange.fixture.server.json(Method::POST, path, &token, Some(json!({ "name": "child" }))).await;
    assert_eq!((status.as_u16(), &refused["code"]), (403, &json!("scope_missing")));
    assert_eq!(exchange.reasons("token.exchanged").await.len(), 1);
    assert_eq!(exchange.reasons(REFUSED).await.len(), 0);
    let secrets: i64 =
        sqlx::query_scalar("select count(*) from event_intake where data::text like '%' || $1 || '%'")
            .bind(&token)
            .fetch_one(&pool)
            .await
            .unwrap();
    assert_eq!(secrets, 0);
    exchange.fixture.end().await;
}

/// Tokens that the issuer has not signed, which cause no event.
fn forged(exchange: &ExchangeFixture, other: &TestIssuer) -> Vec<(&'static str, String)> {
    let claims = exchange.claims(&json!({}));
    let good = exchange.subject(&json!({}));
    let [header, payload, signature] = good.split('.').collect::<Vec<_>>().try_into().unwrap();
    let own = &exchange.issuer.keys;
    let with = |change: Value| {
        let mut header = exchange.issuer.header();
        for (name, value) in change.as_object().unwrap() {
            header[name] = value.clone();
        }
        header
    };
    let public = exchange.issuer.keys[0].public().jwk(own[0].id());
    let hmac = |secret: &str| {
        let signed = format!("{}.{payload}", encode(&with(json!({ "alg": "HS256" }))));
        let key = CoreHmacKey::new(secret.as_bytes());
        let tag = key.sign(&CoreJwsSigningAlgorithm::HmacSha256, signed.as_bytes()).unwrap();
        join(&signed, &tag)
    };
    let attackers = other.keys[0].public().jwk(other.keys[0].id());
    let changed = encode(&exchange.claims(&json!({ "ref": "refs/heads/main", "sub": "admin" })));
    vec![
        ("alg none", format!("{}.{payload}.", encode(&with(json!({ "alg": "none" }))))),
        (
            "alg none with a signature",
            format!("{}.{payload}.{signature}", encode(&with(json!({ "alg": "none" })))),
        ),
        ("HS256 with the modulus", hmac(public["n"].as_str().unwrap())),
        ("HS256 with the public key", hmac(&public.to_string())),
        ("another key under this id", sign(&own[1], &exchange.issuer.header(), &claims)),
        (
            "a key that is not published",
            sign(&own[1], &with(json!({ "kid": own[1].id().to_string() })), &claims),
        ),
        ("no key id", sign(&own[0], &json!({ "alg": "RS256" }), &claims)),
        (
            "the attacker's key in the header",
            sign(&other.keys[0], &with(json!({ "jwk": attackers })), &claims),
        ),
        (
            "an address of keys in the header",
            sign(&other.keys[0], &with(json!({ "jku": format!("{}/keys", other.address) })), &claims),
        ),
        ("changed claims", format!("{header}.{changed}.{signature}")),
        ("no signature", format!("{header}.{payload}.")),
        (
            "another issuer",
            sign(&other.keys[0], &other.header(), &exchange.claims(&json!({ "iss": other.address }))),
        ),
        ("no issuer", exchange.subject(&json!({ "iss": null }))),
        ("an issuer that can't be stored", exchange.subject(&json!({ "iss": "https://a\u{0}b" }))),
        ("no token", "x".to_owned()),
    ]
}

/// Tokens that the issuer has signed, with what the event names.
fn unwanted(exchange: &ExchangeFixture) -> Vec<(&'static str, Value, &'static str)> {
    let (now, origin) = (in_hours(0).as_second(), exchange.origin());
    vec![
        ("another audience", json!({ "aud": "https://other.example" }), "`aud`"),
        ("a second audience", json!({ "aud": [origin, "https://other.example"] }), "`aud`"),
        ("no audience", json!({ "aud": null }), "`aud`"),
        (
            "a renamed repository, whose name is registered again",
            json!({ "repository_id": "75" }),
            "`repository_id`",
        ),
        (
            "the pull request of a fork",
            json!({ "ref": "refs/pull/7/merge", "event_name": "pull_request" }),
            "`ref`",
        ),
        ("another ref", json!({ "ref": "refs/heads/attack" }), "`ref`"),
        ("a tag with the name of the branch", json!({ "ref": "refs/tags/main" }), "`ref`"),
        ("a missing claim", json!({ "repository_id": null }), "`repository_id`"),
        ("a number instead of a text", json!({ "repository_id": 74 }), "`repository_id`"),
        ("a list instead of a text", json!({ "ref": ["refs/heads/main"] }), "`ref`"),
        ("expired", json!({ "iat": now - 400, "nbf": now - 400, "exp": now - 100 }), "`exp`"),
        ("not valid yet", json!({ "nbf": now + 120 }), "`nbf`"),
        ("issued in the future", json!({ "iat": now + 120, "exp": now + 300 }), "`iat`"),
        ("too long a lifetime", json!({ "exp": now + 25 * 3600 }), "24 hours"),
        ("no expiry", json!({ "exp": null }), "`exp`"),
        ("an id that is a number", json!({ "jti": 7 }), "`jti`"),
    ]
}

#[tokio::test]
async fn wrong_tokens_are_refused_alike() {
    let (_database, pool) = TestDatabase::create().await;
    let exchange = ExchangeFixture::new(&pool).await;
    let other = TestIssuer::start().await;
    let expected = exchange.exchange("x").await;
    assert!(expected.is_refused(), "{expected:?}");
    let forged = forged(&exchange, &other);
    let unwanted = unwanted(&exchange);
    assert!(forged.len() + unwanted.len() >= 30);
    for (name, subject) in &forged {
        assert_eq!(exchange.exchange(subject).await, expected, "{name}");
    }
    assert_eq!(exchange.reasons(REFUSED).await, Vec::<String>::new());
    for (at, (name, changes, reason)) in unwanted.iter().enumerate() {
        assert_eq!(exchange.exchange(&exchange.subject(changes)).await, expected, "{name}");
        let reasons = exchange.reasons(REFUSED).await;
        assert_eq!(reasons.len(), at + 1, "{name}");
        assert!(reasons[at].contains(reason), "{name}: {}", reasons[at]);
        assert!(reasons[at].starts_with("shop, main: "), "{}", reasons[at]);
    }
    // An attacker's issuer is not requested.
    assert_eq!(*other.requests.lock().unwrap(), Vec::<String>::new());
    let tokens: i64 = sqlx::query_scalar("select count(*) from api_tokens where trust_policy_id is not null")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert_eq!((tokens, exchange.reasons("token.exchanged").await.len()), (0, 0));
    // The control: the same without a change.
    exchange.exchange(&exchange.subject(&json!({}))).await.token();
    exchange.fixture.end().await;
}

#[tokio::test]
async fn accounts_do_not_share_their_trust() {
    let (_database, pool) = TestDatabase::create().await;
    let exchange = ExchangeFixture::new(&pool).await;
    let (server, owner) = (&exchange.fixture.server, &exchange.fixture.owner);
    let body = json!({ "name": "other", "role": "developer" });
    let other = exchange.fixture.of_organization(owner, Method::POST, "/service-accounts", body).await;
    let other = other["data"]["id"].as_str().unwrap().to_owned();
    let expected = exchange.exchange("x").await;
    let subject = exchange.subject(&json!({}));
    let unknown = format!("usr_{}", uuid::Uuid::now_v7());
    for account in [&other, &owner.user, &unknown] {
        assert_eq!(exchange.exchange_for(account, &subject, None).await, expected, "{account}");
    }
    assert_eq!(exchange.reasons(REFUSED).await.len(), 0);
    // If the other account has a policy for the issuer too, the audit event names that account.
    exchange.trust(&other, json!({ "claims": { "repository_id": "75", "ref": "refs/heads/main" } })).await;
    assert_eq!(exchange.exchange_for(&other, &subject, None).await, expected);
    assert_eq!(exchange.reasons(REFUSED).await.len(), 1);

    // The account of another organization by the path of this one, and organizations that don't exist.
    server.organization("globex").await;
    let account = &exchange.account;
    for organization in ["globex", "none", "org_0190a0b0-0000-7000-8000-000000000001"] {
        let resource =
            format!("{}/api/v1/organizations/{organization}/service-accounts/{account}", exchange.origin());
        let form = [
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
            ("subject_token", subject.as_str()),
            ("subject_token_type", JWT),
            ("resource", resource.as_str()),
        ];
        assert_eq!(exchange.send(&form).await, expected, "{organization}");
    }
    // Nothing of that has used the token up.
    exchange.exchange(&subject).await.token();
    exchange.fixture.end().await;
}

#[tokio::test]
async fn a_form_that_is_no_exchange_is_named() {
    let (_database, pool) = TestDatabase::create().await;
    let exchange = ExchangeFixture::new(&pool).await;
    let (subject, resource) = (exchange.subject(&json!({})), exchange.address_of(&exchange.account));
    let right = [
        ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
        ("subject_token", subject.as_str()),
        ("subject_token_type", JWT),
        ("resource", resource.as_str()),
    ];
    for (field, value, code) in [
        ("grant_type", "client_credentials", "unsupported_grant_type"),
        ("subject_token", "", "invalid_request"),
        ("subject_token_type", "urn:ietf:params:oauth:token-type:access_token", "invalid_request"),
        ("subject_token_type", "", "invalid_request"),
        (
            "resource",
            "https://evil.example/api/v1/organizations/acme/service-accounts/usr_1",
            "invalid_target",
        ),
    ] {
        let form = right.map(|(name, own)| (name, if name == field { value } else { own }));
        let response = exchange.send(&form).await;
        assert_eq!((response.status, &response.json["error"]), (400, &json!(code)), "{field}: {value}");
    }
    // JSON is refused, and so is a body that is too long. Credentials of the request are ignored.
    let url = format!("{}/oauth/token", exchange.origin());
    let client = &exchange.fixture.server.client;
    let json_body = client.post(&url).json(&json!({})).send().await.unwrap();
    assert_eq!(json_body.json::<Value>().await.unwrap()["error"], "invalid_request");
    let form = "application/x-www-form-urlencoded";
    let long = client.post(&url).header("content-type", form).body("a".repeat(30_000)).send().await.unwrap();
    assert_eq!(long.status().as_u16(), 413);
    let cookie = exchange.fixture.server.browser(&exchange.fixture.dev.user).await;
    let cookie = format!("__Host-greenroom={}", cookie.trim_start_matches("cookie:"));
    let request = client.post(&url).header("content-type", form).body("a=b");
    let request = request.header("cookie", cookie).header("origin", "https://evil.example");
    let response = request.bearer_auth("grn_wrong").send().await.unwrap();
    assert_eq!(response.status().as_u16(), 400);
    let metadata = format!("{}/.well-known/oauth-authorization-server", exchange.origin());
    let metadata: Value = client.get(metadata).send().await.unwrap().json().await.unwrap();
    assert_eq!((&metadata["issuer"], &metadata["token_endpoint"]), (&json!(exchange.origin()), &json!(url)));
    exchange.fixture.end().await;
}

#[tokio::test]
async fn a_token_is_exchanged_once() {
    let (_database, pool) = TestDatabase::create().await;
    let exchange = ExchangeFixture::new(&pool).await;
    for changes in [json!({}), json!({ "jti": null })] {
        let subject = exchange.subject(&changes);
        let concurrent = join_all((0..8).map(|_| exchange.exchange(&subject))).await;
        let accepted = concurrent.iter().filter(|response| response.status == 200).count();
        assert_eq!(accepted, 1, "{concurrent:?}");
        assert!(concurrent.iter().filter(|response| response.status != 200).all(|one| one.is_refused()));
        assert!(exchange.exchange(&subject).await.is_refused());
    }
    // Another token with the same id is the same token.
    assert!(exchange.exchange(&exchange.subject(&json!({ "jti": "a" }))).await.status == 200);
    assert!(exchange.exchange(&exchange.subject(&json!({ "jti": "a", "more": 1 }))).await.is_refused());
    let reasons = exchange.reasons(REFUSED).await;
    assert!(reasons.iter().all(|reason| reason.contains("`jti`")), "{reasons:?}");
    // What has expired is deleted.
    sqlx::query("update exchanged_tokens set keep_until = now() - interval '1 second'")
        .execute(&pool)
        .await
        .unwrap();
    let store = &exchange.fixture.server.server.app.store;
    assert_eq!(store.delete_expired_exchanges(100).await.unwrap(), 3);
    exchange.fixture.end().await;
}

#[tokio::test]
async fn a_token_is_exchanged_in_one_organization() {
    let (_database, pool) = TestDatabase::create().await;
    let exchange = ExchangeFixture::new(&pool).await;
    let server = &exchange.fixture.server;
    let owner = server.organization("other").await;
    let pipeline = server.pipeline(&owner, "Shop").await;
    let accounts = "/organizations/other/service-accounts";
    let body = json!({ "name": "bot", "role": "developer" });
    let (_, made) = server.json(Method::POST, accounts, &owner.token, Some(body)).await;
    let path = format!("{accounts}/{}", made["data"]["id"].as_str().unwrap());
    let policies = format!("{path}/trust-policies");
    let policy = exchange.policy(&pipeline);
    let (status, made) = server.json(Method::POST, &policies, &owner.token, Some(policy)).await;
    assert_eq!(status.as_u16(), 201, "{made}");
    let address = format!("{}/api/v1{path}", exchange.origin());
    let subject = exchange.subject(&json!({}));
    exchange.exchange(&subject).await.token();
    assert!(exchange.exchange_at(&address, &subject, None).await.is_refused());
    exchange.exchange_at(&address, &exchange.subject(&json!({})), None).await.token();
    exchange.fixture.end().await;
}

/// Lets a token expire.
async fn expire(exchange: &ExchangeFixture, token: &str) {
    let sql = "update api_tokens set expires_at = clock_timestamp() where hint = left($1, 8)";
    sqlx::query(sql).bind(token).execute(&exchange.fixture.pool).await.unwrap();
}

#[tokio::test]
async fn a_longer_job_keeps_its_session() {
    let (_database, pool) = TestDatabase::create().await;
    let exchange = ExchangeFixture::new(&pool).await;
    let renewed = async |actor: &str| {
        exchange.exchange_for(&exchange.account, &exchange.subject(&json!({})), Some(actor)).await
    };
    let first = exchange.exchange(&exchange.subject(&json!({}))).await.token();
    let stranger = exchange.exchange(&exchange.subject(&json!({}))).await.token();
    let session = exchange.fixture.claim(&exchange.caller(&first), json!({})).await.session();
    let second = renewed(&first).await.token();
    expire(&exchange, &first).await;
    let third = renewed(&second).await.token();
    let renew = format!("/sessions/{session}/renew");
    let renew = async |token: &str| {
        exchange.fixture.send(&exchange.caller(token), Method::POST, &renew, Value::Null).await.status
    };
    assert_eq!((renew(&second).await, renew(&third).await, renew(&stranger).await), (200, 200, 403));
    // An expired token continues nothing.
    assert!(renewed(&first).await.is_refused());
    let deployed = format!("/sessions/{session}/deploy");
    let body = json!({ "commitId": "0123abc" });
    exchange.fixture.send(&exchange.caller(&third), Method::POST, &deployed, body).await.is(202);
    exchange.fixture.delete(&exchange.caller(&third), &format!("/sessions/{session}")).await.is(200);
    exchange.fixture.end().await;
}

#[tokio::test]
async fn a_longer_job_keeps_its_place_in_a_queue() {
    let (_database, pool) = TestDatabase::create().await;
    let exchange = ExchangeFixture::new(&pool).await;
    let fixture = &exchange.fixture;
    let held = fixture.claim(&fixture.dev, json!({})).await.session();
    let first = exchange.exchange(&exchange.subject(&json!({}))).await.token();
    let waiting = fixture.claim(&exchange.caller(&first), json!({ "queue": true })).await.session();
    let subject = exchange.subject(&json!({}));
    let second = exchange.exchange_for(&exchange.account, &subject, Some(&first)).await.token();
    expire(&exchange, &first).await;
    let path = format!("/sessions/{waiting}/heartbeat");
    fixture.send(&exchange.caller(&second), Method::POST, &path, json!({})).await.is(200);
    fixture.delete(&fixture.dev, &format!("/sessions/{held}")).await.is(200);
    let granted = fixture.get(&fixture.dev, &format!("/sessions/{waiting}")).await.is(200);
    assert_eq!(granted["data"]["status"], "active", "{granted}");
    exchange.fixture.end().await;
}

#[tokio::test]
async fn only_a_token_of_an_exchange_is_continued() {
    let (_database, pool) = TestDatabase::create().await;
    let exchange = ExchangeFixture::new(&pool).await;
    let fixture = &exchange.fixture;
    let made = fixture.service_token(&exchange.account, json!({ "name": "by an admin" })).await;
    let body = json!({ "name": "other", "role": "developer" });
    let other = fixture.of_organization(&fixture.owner, Method::POST, "/service-accounts", body).await;
    let other = other["data"]["id"].as_str().unwrap().to_owned();
    exchange.trust(&other, json!({})).await;
    let others = exchange.exchange_for(&other, &exchange.subject(&json!({})), None).await.token();
    let revoked = exchange.exchange(&exchange.subject(&json!({}))).await.token();
    sqlx::query("update api_tokens set revoked_at = now() where hint = left($1, 8)")
        .bind(&revoked)
        .execute(&pool)
        .await
        .unwrap();
    let subject = exchange.subject(&json!({}));
    let wrong =
        [made.token.as_str(), &fixture.owner.token, &fixture.dev.token, &others, &revoked, "grn_x", &subject];
    for (at, actor) in wrong.iter().enumerate() {
        let response = exchange.exchange_for(&exchange.account, &subject, Some(*actor)).await;
        assert!(response.is_refused(), "{at}: {response:?}");
        let reasons = exchange.reasons(REFUSED).await;
        assert!(reasons.last().unwrap().contains("`actor_token`"), "{reasons:?}");
    }
    // A refusal does not use the token up.
    exchange.exchange(&subject).await.token();
    exchange.fixture.end().await;
}

#[tokio::test]
async fn an_address_has_ten_tries_a_second() {
    let (_database, pool) = TestDatabase::create().await;
    let exchange = ExchangeFixture::with_limits(&pool, LimitSettings::default()).await;
    let responses = join_all((0..40).map(|_| exchange.exchange("x"))).await;
    let limited: Vec<_> = responses.iter().filter(|response| response.status == 429).collect();
    assert!(limited.len() >= 20, "{}", limited.len());
    assert!(limited.iter().all(|response| response.json["code"] == "rate_limited"));
    exchange.fixture.end().await;
}
