//! Credentials of forges: set, replaced and sealed again. No response, event or row contains one.

use std::time::Duration;

use greenroom_app::sign_in::SignInSettings;
use greenroom_domain::secret::SealedValue;
use greenroom_keys::Keys;
use greenroom_server::http::Limits;
use greenroom_server::secret_keys::reseal;
use greenroom_store::organization_key::SealedBy;
use greenroom_worker::forge::{CredentialNotOpened, open_credential};
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::ConnectOptions;

use crate::forges::{ADDRESS, TOKEN, connect, forge};
use crate::requests::{problem, success, wrong_field};
use crate::secrets::dump;
use crate::step_registries::send;
use crate::support::database::TestDatabase;
use crate::support::{Caller, TestServer};

const OTHER_TOKEN: &str = "staple-correct-horse";

/// Returns what a worker would send as the credential.
async fn opened(server: &TestServer, owner: &Caller) -> Result<String, CredentialNotOpened> {
    let (app, organization) = (&server.server.app, owner.organization.parse().unwrap());
    let forge = app.store.forge(organization, "github").await.unwrap().unwrap();
    let secret = open_credential(&app.store, &app.keys, organization, &forge).await.unwrap()?;
    Ok(String::from_utf8(secret.reveal().to_vec()).unwrap())
}

#[tokio::test]
async fn a_credential_is_set_and_replaced_and_is_nowhere() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    connect(&server, &owner, "github").await;
    assert_eq!(opened(&server, &owner).await.unwrap(), TOKEN);
    let patch = async |body: Value| send(&server, &owner, Method::PATCH, "/forges/github", &body).await;
    success(patch(json!({ "repositories": ["github.com/acme"] })).await, 200).await;
    assert_eq!(opened(&server, &owner).await.unwrap(), TOKEN);
    let replaced = success(patch(json!({ "credential": { "token": OTHER_TOKEN } })).await, 200).await;
    assert!(replaced["data"].get("credential").is_none());
    assert_eq!(opened(&server, &owner).await.unwrap(), OTHER_TOKEN);
    let events = server.events(&pool, &owner).await;
    let changed: Vec<_> = events
        .iter()
        .filter(|event| event["subject"] == "forges/github")
        .map(|event| &event["data"]["after"]["credentialChanged"])
        .collect();
    assert_eq!(changed, [&json!(null), &json!(null), &json!(true)]);
    let everything = format!("{}{}", json!(events), dump(&pool).await);
    for value in [TOKEN, OTHER_TOKEN] {
        assert!(!everything.contains(value), "{value}");
    }
    server.end().await;
}

/// Otherwise an admin who can't read the credential could have it sent to a server of their own.
#[tokio::test]
async fn another_address_needs_the_credential_again() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    connect(&server, &owner, "github").await;
    let patch = async |body: Value| send(&server, &owner, Method::PATCH, "/forges/github", &body).await;
    for address in ["https://evil.example", "https://api.github.com:8443", "https://api.github.com/api/v3"] {
        let refused = wrong_field(patch(json!({ "address": address })).await, "/credential").await;
        assert!(refused.to_string().contains("sent again"), "{refused}");
    }
    success(patch(json!({ "address": format!("{ADDRESS}/") })).await, 200).await;
    assert_eq!(opened(&server, &owner).await.unwrap(), TOKEN);
    let moved =
        json!({ "address": "https://ghe.example.com/api/v3", "credential": { "token": OTHER_TOKEN } });
    success(patch(moved).await, 200).await;
    assert_eq!(opened(&server, &owner).await.unwrap(), OTHER_TOKEN);
    // A row that was changed by hand: nothing opens, so nothing is sent.
    for change in ["address = 'https://evil.example'", "id = gen_random_uuid()"] {
        let update = format!("update forges set {change}");
        sqlx::query(sqlx::AssertSqlSafe(update)).execute(&pool).await.unwrap();
        assert_eq!(opened(&server, &owner).await, Err(CredentialNotOpened::Damaged), "{change}");
    }
    server.end().await;
}

#[tokio::test]
async fn mistakes_are_named_and_credentials_are_not_repeated() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    connect(&server, &owner, "github").await;
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
        let mut new = forge("other");
        new["credential"] = credential.clone();
        let change = json!({ "credential": credential });
        for (method, path, body) in
            [(Method::POST, "/forges", new), (Method::PATCH, "/forges/github", change)]
        {
            let refused = wrong_field(send(&server, &owner, method, path, &body).await, "/credential").await;
            let refused = refused.to_string();
            assert!(!refused.contains(TOKEN) && !refused.contains("1234567"), "{refused}");
        }
    }
    assert_eq!(server.get(&owner, "/forges").await["pagination"]["total"], 1);
    server.end().await;
}

#[tokio::test]
async fn a_repeated_request_is_recognized_and_its_stored_hash_reveals_nothing() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let post = async |token: &str| {
        let mut body = forge("github");
        body["credential"]["token"] = token.into();
        let request = server.request(&owner, Method::POST, "/forges").header("idempotency-key", "k");
        (request.json(&body).send().await.unwrap(), body)
    };
    let (first, body) = post("123456").await;
    let first = success(first, 201).await;
    assert_eq!(success(post("123456").await.0, 201).await, first);
    problem(post("123457").await.0, 422, "idempotency_key_reused").await;
    let stored: Vec<u8> =
        sqlx::query_scalar("select fingerprint from idempotency_keys").fetch_one(&pool).await.unwrap();
    let guess: Vec<u8> = sqlx::query_scalar("select sha256(convert_to($1, 'UTF8'))")
        .bind(body.to_string())
        .fetch_one(&pool)
        .await
        .unwrap();
    assert_ne!(stored, guess);
    server.end().await;
}

#[tokio::test]
async fn without_a_master_key_a_credential_is_neither_set_nor_opened() {
    let (_database, pool) = TestDatabase::create().await;
    let with_key = TestServer::start(&pool).await;
    let owner = with_key.organization("acme").await;
    connect(&with_key, &owner, "github").await;
    let url = pool.connect_options().to_url_lossy();
    let limits = Limits::new(Duration::from_secs(15), 512);
    let settings = SignInSettings::default();
    let server = TestServer::start_with_keys(url.as_str(), limits, settings, Keys::default()).await;
    let change = json!({ "credential": { "token": OTHER_TOKEN } });
    for (method, path, body) in
        [(Method::POST, "/forges", forge("other")), (Method::PATCH, "/forges/github", change)]
    {
        let refused = send(&server, &owner, method, path, &body).await;
        problem(refused, 503, "secrets_unavailable").await;
    }
    assert_eq!(opened(&server, &owner).await, Err(CredentialNotOpened::NoMasterKey));
    let changes = json!({ "repositories": ["github.com/acme"] });
    success(send(&server, &owner, Method::PATCH, "/forges/github", &changes).await, 200).await;
    success(send(&server, &owner, Method::DELETE, "/forges/github", &json!({})).await, 200).await;
    server.end().await;
    with_key.end().await;
}

#[tokio::test]
async fn credentials_are_sealed_again_with_a_new_data_key() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let stranger = server.organization("globex").await;
    connect(&server, &owner, "github").await;
    connect(&server, &stranger, "github").await;
    let (store, keys) = (&server.server.app.store, &server.server.app.keys);
    let organization = owner.organization.parse().unwrap();
    assert_eq!(store.sealed_forge_credentials(organization, SealedBy::RetiredKeys, 10).await.unwrap(), []);
    assert_eq!(reseal(store, keys, &"acme".parse().unwrap()).await.unwrap()["resealed"], 1);
    assert_eq!(opened(&server, &owner).await.unwrap(), TOKEN);
    assert_eq!(opened(&server, &stranger).await.unwrap(), TOKEN);
    let unused: i64 = sqlx::query_scalar(
        "select count(*) from organization_keys k where retired_at is not null
         and exists (select from forges f where f.credential_key_id = k.id)",
    )
    .fetch_one(&pool)
    .await
    .unwrap();
    assert_eq!(unused, 0);

    // One that was replaced in the meantime is not overwritten.
    sqlx::query("update organization_keys set retired_at = clock_timestamp() where retired_at is null")
        .execute(&pool)
        .await
        .unwrap();
    let stale = store.sealed_forge_credentials(organization, SealedBy::RetiredKeys, 10).await.unwrap();
    assert_eq!(stale.len(), 1);
    let replaced = json!({ "credential": { "token": OTHER_TOKEN } });
    success(send(&server, &owner, Method::PATCH, "/forges/github", &replaced).await, 200).await;
    let late = SealedValue { key: stale[0].value.key, nonce: vec![0; 12], sealed: vec![0; 40] };
    assert!(!store.reseal_forge_credential(organization, &stale[0], &late).await.unwrap());
    assert_eq!(opened(&server, &owner).await.unwrap(), OTHER_TOKEN);
    server.end().await;
}
