//! The settings of the model that explains failures: their record, their events, and attempts to get the credential.

use std::time::Duration;

use greenroom_app::sign_in::SignInSettings;
use greenroom_domain::secret::SealedValue;
use greenroom_keys::Keys;
use greenroom_server::http::Limits;
use greenroom_server::secret_keys::reseal;
use greenroom_store::organization_key::SealedBy;
use greenroom_worker::model::{CredentialNotOpened, open_credential};
use reqwest::{Method, Response};
use serde_json::{Value, json};
use sqlx::ConnectOptions;

use crate::requests::{header, problem, success, wrong_field};
use crate::secrets::dump;
use crate::step_registries::send;
use crate::support::database::TestDatabase;
use crate::support::{Caller, TestServer};

const PATH: &str = "/analysis-settings";
const ADDRESS: &str = "https://models.example/v1";
const TOKEN: &str = "correct-horse-battery";
const OTHER_TOKEN: &str = "staple-correct-horse";

fn complete() -> Value {
    json!({
        "enabled": true,
        "protocol": "openai",
        "address": ADDRESS,
        "model": "m-1",
        "credential": { "token": TOKEN },
    })
}

async fn patch(server: &TestServer, caller: &Caller, body: &Value) -> Response {
    send(server, caller, Method::PATCH, PATH, body).await
}

/// Returns what a worker would send as the credential.
async fn opened(server: &TestServer, owner: &Caller) -> Result<Option<String>, CredentialNotOpened> {
    let (app, organization) = (&server.server.app, owner.organization.parse().unwrap());
    let record = app.store.model_settings(organization).await.unwrap();
    let secret = open_credential(&app.store, &app.keys, organization, &record).await.unwrap()?;
    Ok(secret.map(|secret| String::from_utf8(secret.reveal().to_vec()).unwrap()))
}

#[tokio::test]
async fn a_model_is_off_until_an_admin_sets_one() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let stranger = server.organization("globex").await;
    let first = server.get(&owner, PATH).await["data"].take();
    assert_eq!((&first["enabled"], &first["address"]), (&json!(false), &json!(null)));
    assert_eq!((&first["maxRequestsPerDay"], &first["updatedAt"]), (&json!(200), &json!(null)));
    assert_eq!((&first["usage"]["requests"], &first["hasCredential"]), (&json!(0), &json!(false)));
    wrong_field(patch(&server, &owner, &json!({ "enabled": true })).await, "/protocol").await;
    let body = json!({ "enabled": true, "protocol": "anthropic" });
    wrong_field(patch(&server, &owner, &body).await, "/address").await;
    let body = json!({ "enabled": true, "protocol": "anthropic", "address": ADDRESS });
    wrong_field(patch(&server, &owner, &body).await, "/model").await;

    let changed = patch(&server, &owner, &complete()).await;
    assert!(header(&changed, "etag").starts_with("\"1."));
    let changed = success(changed, 200).await["data"].take();
    assert_eq!((&changed["enabled"], &changed["host"]), (&json!(true), &json!("models.example")));
    assert_eq!((&changed["hasCredential"], changed.get("credential")), (&json!(true), None));
    assert_eq!(server.get(&owner, PATH).await["data"], changed);
    // Another organization has its own.
    assert_eq!(server.get(&stranger, PATH).await["data"]["enabled"], false);

    let limits = json!({
        "maxRequestsPerDay": 5, "maxTokensPerMonth": 1_000_000, "maxCostMicrosPerMonth": 25_000_000,
        "inputPriceMicros": 250_000, "outputPriceMicros": 2_000_000,
    });
    let limited = success(patch(&server, &owner, &limits).await, 200).await["data"].take();
    for (name, value) in limits.as_object().unwrap() {
        assert_eq!(&limited[name], value, "{name}");
    }
    // It changes nothing, and records no event.
    success(patch(&server, &owner, &limits).await, 200).await;
    let none = json!({ "maxRequestsPerDay": null, "maxTokensPerMonth": null, "maxCostMicrosPerMonth": null });
    let unlimited = success(patch(&server, &owner, &none).await, 200).await["data"].take();
    assert_eq!(
        (&unlimited["maxTokensPerMonth"], &unlimited["inputPriceMicros"]),
        (&json!(null), &json!(250_000))
    );
    let request = server.request(&owner, Method::PATCH, PATH).header("if-match", "\"2\"");
    problem(request.json(&limits).send().await.unwrap(), 412, "precondition_failed").await;
    let off = success(patch(&server, &owner, &json!({ "enabled": false })).await, 200).await;
    assert_eq!((&off["data"]["enabled"], &off["data"]["address"]), (&json!(false), &json!(ADDRESS)));

    let events = server.events(&pool, &owner).await;
    let events: Vec<_> = events.iter().filter(|event| event["subject"] == "analysis-settings").collect();
    assert!(events.iter().all(|event| event["type"] == "analysis_settings.updated"));
    assert_eq!(events.len(), 4);
    assert_eq!(events[0]["data"]["after"]["credentialChanged"], true);
    assert_eq!(
        (&events[1]["data"]["before"]["maxRequestsPerDay"], &events[1]["data"]["after"]["maxRequestsPerDay"]),
        (&json!(200), &json!(5))
    );
    assert_eq!(events[1]["data"]["after"].get("credentialChanged"), None);
    server.end().await;
}

#[tokio::test]
async fn mistakes_are_named_and_credentials_are_not_repeated() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    wrong_field(patch(&server, &owner, &json!({ "credential": { "token": TOKEN } })).await, "/credential")
        .await;
    success(patch(&server, &owner, &complete()).await, 200).await;
    for credential in [
        json!(TOKEN),
        json!(1_234_567),
        json!([TOKEN]),
        json!({}),
        json!({ "token": 1_234_567 }),
        json!({ "token": null }),
        json!({ "token": "" }),
        json!({ "token": format!("{TOKEN}\nx-evil: 1") }),
        json!({ "token": format!("{TOKEN} ") }),
        json!({ "token": TOKEN.repeat(200) }),
        json!({ "token": TOKEN, "password": TOKEN }),
    ] {
        let refused = patch(&server, &owner, &json!({ "credential": credential })).await;
        let refused = wrong_field(refused, "/credential").await.to_string();
        assert!(!refused.contains(TOKEN) && !refused.contains("1234567"), "{refused}");
    }
    for (field, value) in [
        ("protocol", json!("gemini")),
        ("address", json!("http://models.example/v1")),
        ("address", json!("https://user@models.example/v1")),
        ("address", json!("https://models.example/v1?key=1")),
        ("address", json!("file:///etc/passwd")),
        ("address", json!("")),
        ("model", json!("")),
        ("model", json!("a\u{202e}b")),
        ("model", json!("m".repeat(201))),
        ("maxRequestsPerDay", json!(-1)),
        ("maxTokensPerMonth", json!(1_000_000_000_000_001_i64)),
        ("maxCostMicrosPerMonth", json!(5)),
        ("inputPriceMicros", json!(-1)),
        ("outputPriceMicros", json!(1_000_000_000_001_i64)),
    ] {
        let mut body = json!({});
        body[field] = value;
        wrong_field(patch(&server, &owner, &body).await, &format!("/{field}")).await;
    }
    assert_eq!(server.get(&owner, PATH).await["data"]["maxRequestsPerDay"], 200);
    server.end().await;
}

/// Otherwise an admin who can't read the credential could have it sent to a server of their own.
#[tokio::test]
async fn another_address_needs_the_credential_again() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    success(patch(&server, &owner, &complete()).await, 200).await;
    for address in ["https://evil.example/v1", "https://models.example:8443/v1", "https://models.example/v2"]
    {
        let refused = patch(&server, &owner, &json!({ "address": address })).await;
        let refused = wrong_field(refused, "/credential").await;
        assert!(refused.to_string().contains("sent again"), "{refused}");
    }
    success(patch(&server, &owner, &json!({ "address": format!("{ADDRESS}/"), "model": "m-2" })).await, 200)
        .await;
    assert_eq!(opened(&server, &owner).await.unwrap().as_deref(), Some(TOKEN));
    let moved = json!({ "address": "https://other.example/v1", "credential": { "token": OTHER_TOKEN } });
    success(patch(&server, &owner, &moved).await, 200).await;
    assert_eq!(opened(&server, &owner).await.unwrap().as_deref(), Some(OTHER_TOKEN));
    // A row that was changed by hand, or copied from another organization: nothing opens, so nothing is sent.
    let stranger = server.organization("globex").await;
    success(patch(&server, &stranger, &complete()).await, 200).await;
    let copy = "update analysis_settings s set credential_nonce = o.credential_nonce, credential_sealed = o.credential_sealed,
                address = o.address from analysis_settings o where o.organization_id <> s.organization_id
                and s.address = 'https://models.example/v1'";
    sqlx::query(copy).execute(&pool).await.unwrap();
    assert_eq!(opened(&server, &stranger).await, Err(CredentialNotOpened::Damaged));
    sqlx::query("update analysis_settings set address = 'https://evil.example'")
        .execute(&pool)
        .await
        .unwrap();
    assert_eq!(opened(&server, &owner).await, Err(CredentialNotOpened::Damaged));
    let removed = json!({ "address": ADDRESS, "credential": null });
    assert_eq!(success(patch(&server, &owner, &removed).await, 200).await["data"]["hasCredential"], false);
    assert_eq!(opened(&server, &owner).await, Ok(None));
    let everything = format!("{}{}", json!(server.events(&pool, &owner).await), dump(&pool).await);
    for value in [TOKEN, OTHER_TOKEN] {
        assert!(!everything.contains(value), "{value}");
    }
    server.end().await;
}

#[tokio::test]
async fn without_a_master_key_a_credential_is_neither_set_nor_opened() {
    let (_database, pool) = TestDatabase::create().await;
    let with_key = TestServer::start(&pool).await;
    let owner = with_key.organization("acme").await;
    success(patch(&with_key, &owner, &complete()).await, 200).await;
    let url = pool.connect_options().to_url_lossy();
    let limits = Limits::new(Duration::from_secs(15), 512);
    let settings = SignInSettings::default();
    let server = TestServer::start_with_keys(url.as_str(), limits, settings, Keys::default()).await;
    problem(patch(&server, &owner, &complete()).await, 503, "secrets_unavailable").await;
    assert_eq!(opened(&server, &owner).await, Err(CredentialNotOpened::NoMasterKey));
    success(patch(&server, &owner, &json!({ "enabled": false, "credential": null })).await, 200).await;
    server.end().await;
    with_key.end().await;
}

#[tokio::test]
async fn a_credential_is_sealed_again_with_a_new_data_key() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    success(patch(&server, &owner, &complete()).await, 200).await;
    let (store, keys) = (&server.server.app.store, &server.server.app.keys);
    let organization = owner.organization.parse().unwrap();
    assert_eq!(store.sealed_model_credential(organization, SealedBy::RetiredKeys).await.unwrap(), None);
    assert_eq!(reseal(store, keys, &"acme".parse().unwrap()).await.unwrap()["resealed"], 1);
    assert_eq!(opened(&server, &owner).await.unwrap().as_deref(), Some(TOKEN));
    assert_eq!(store.sealed_model_credential(organization, SealedBy::RetiredKeys).await.unwrap(), None);

    // One that was replaced in the meantime is not overwritten.
    sqlx::query("update organization_keys set retired_at = clock_timestamp() where retired_at is null")
        .execute(&pool)
        .await
        .unwrap();
    let stale = store.sealed_model_credential(organization, SealedBy::RetiredKeys).await.unwrap().unwrap();
    let replaced = json!({ "credential": { "token": OTHER_TOKEN } });
    success(patch(&server, &owner, &replaced).await, 200).await;
    let late = SealedValue { key: stale.value.key, nonce: vec![0; 12], sealed: vec![0; 40] };
    assert!(!store.reseal_model_credential(organization, &stale, &late).await.unwrap());
    assert_eq!(opened(&server, &owner).await.unwrap().as_deref(), Some(OTHER_TOKEN));
    server.end().await;
}
