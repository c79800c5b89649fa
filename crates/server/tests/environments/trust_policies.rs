//! Trust policies: what they accept, and what ends with them.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::exchange_fixture::ExchangeFixture;
use crate::support::database::TestDatabase;
use crate::support::{Caller, eventually};

const SECOND: Duration = Duration::from_secs(1);

async fn is_rejected(exchange: &ExchangeFixture, token: &str) -> bool {
    eventually(SECOND, async || exchange.fixture.get(&exchange.caller(token), "").await.status == 401).await
}

#[tokio::test]
async fn a_deleted_policy_ends_its_tokens() {
    let (_database, pool) = TestDatabase::create().await;
    let exchange = ExchangeFixture::new(&pool).await;
    let changes = json!({ "name": "other", "claims": { "repository_id": "75", "ref": "refs/heads/main" } });
    exchange.trust(&exchange.account, changes).await;
    let of_other = json!({ "repository_id": "75" });
    let first = exchange.exchange(&exchange.subject(&json!({}))).await.token();
    let kept = exchange.exchange(&exchange.subject(&of_other)).await.token();
    // It was made by the other policy, and continues a token of this one.
    let subject = exchange.subject(&of_other);
    let continued = exchange.exchange_for(&exchange.account, &subject, Some(&first)).await.token();
    let path = format!("/service-accounts/{}/trust-policies/{}", exchange.account, exchange.policy);
    let owner = &exchange.fixture.owner;
    exchange.fixture.of_organization(owner, Method::DELETE, &path, Value::Null).await;
    assert!(is_rejected(&exchange, &first).await && is_rejected(&exchange, &continued).await);
    exchange.fixture.get(&exchange.caller(&kept), "").await.is(200);
    assert!(exchange.exchange(&exchange.subject(&json!({}))).await.is_refused());
    assert_eq!(exchange.reasons("token.revoked").await.len(), 2);
    assert_eq!(exchange.reasons("trust_policy.deleted").await.len(), 1);
    let (status, _) = exchange
        .fixture
        .server
        .json(Method::DELETE, &format!("/organizations/acme{path}"), &owner.token, None)
        .await;
    assert_eq!(status.as_u16(), 404);
    exchange.fixture.end().await;
}

#[tokio::test]
async fn a_deleted_account_ends_its_trust() {
    let (_database, pool) = TestDatabase::create().await;
    let exchange = ExchangeFixture::new(&pool).await;
    let token = exchange.exchange(&exchange.subject(&json!({}))).await.token();
    let (expected, owner) = (exchange.exchange("x").await, &exchange.fixture.owner);
    let path = format!("/service-accounts/{}", exchange.account);
    exchange.fixture.of_organization(owner, Method::DELETE, &path, Value::Null).await;
    assert!(is_rejected(&exchange, &token).await);
    assert_eq!(exchange.exchange(&exchange.subject(&json!({}))).await, expected);
    assert_eq!(exchange.reasons("trust_policy.deleted").await.len(), 1);
    exchange.fixture.end().await;
}

#[tokio::test]
async fn a_policy_trusts_no_more_than_it_states() {
    let (_database, pool) = TestDatabase::create().await;
    let exchange = ExchangeFixture::new(&pool).await;
    let (fixture, issuer) = (&exchange.fixture, &exchange.issuer.address);
    let path = format!("/organizations/acme/service-accounts/{}/trust-policies", exchange.account);
    let create = async |by: &Caller, changes: Value| {
        let mut body = json!({
            "name": "a", "issuer": issuer, "claims": { "sub": "build" }, "pipelines": [fixture.pipeline],
        });
        for (name, value) in changes.as_object().unwrap() {
            body[name] = value.clone();
        }
        let (status, json) = fixture.server.json(Method::POST, &path, &by.token, Some(body)).await;
        (status.as_u16(), json)
    };
    let unknown = format!("pip_{}", uuid::Uuid::now_v7());
    for (changes, pointer) in [
        (json!({ "pipelines": [] }), "/pipelines"),
        (json!({ "pipelines": [unknown] }), "/pipelines"),
        (json!({ "pipelines": ["shop"] }), "/pipelines/0"),
        (json!({ "claims": {} }), "/claims"),
        (json!({ "claims": { "sub": "build-*" } }), "/claims"),
        (json!({ "claims": { "aud": "a" } }), "/claims"),
        (json!({ "claims": { "repository": "acme/shop", "ref": "refs/heads/main" } }), "/claims"),
        (json!({ "claims": { "repository_id": "74" } }), "/claims"),
        (json!({ "issuer": "http://issuer.example" }), "/issuer"),
        (json!({ "audience": "" }), "/audience"),
        (json!({ "ttlSeconds": 3601 }), "/ttlSeconds"),
        (json!({ "ttlSeconds": 59 }), "/ttlSeconds"),
    ] {
        let (status, problem) = create(&fixture.owner, changes.clone()).await;
        assert_eq!((status, &problem["errors"][0]["pointer"]), (422, &json!(pointer)), "{changes} {problem}");
    }
    let (status, problem) = create(&fixture.owner, json!({ "name": "SHOP, main" })).await;
    assert_eq!((status, &problem["code"]), (409, &json!("trust_policy_name_taken")), "{problem}");
    // A token that may only administer gives no right to hold environments, and one with a maximum none without.
    for body in [json!({ "name": "a", "scopes": ["admin"] }), json!({ "name": "b", "maxSessions": 3 })] {
        let by = fixture.token(&fixture.owner, body).await;
        let (status, problem) = create(&by, json!({})).await;
        assert_eq!((status, &problem["code"]), (403, &json!("token_exceeds_parent")), "{problem}");
    }
    let (status, made) = create(&fixture.owner, json!({ "audience": "sts.example", "ttlSeconds": 60 })).await;
    assert_eq!(status, 201, "{made}");
    let list = fixture.server.json(Method::GET, &path, &fixture.owner.token, None).await.1;
    assert_eq!((&list["data"][0], &list["pagination"]["total"]), (&made["data"], &json!(2)));
    let subject = exchange.subject(&json!({ "aud": "sts.example", "sub": "build" }));
    assert_eq!(exchange.exchange(&subject).await.json["expires_in"], 60);
    exchange.fixture.end().await;
}
