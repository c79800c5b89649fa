//! Credentials of private registries: set, replaced, removed and sealed again. No response, event or row contains one.

use std::time::Duration;

use greenroom_app::sign_in::SignInSettings;
use greenroom_domain::secret::{CredentialPlace, SealedValue};
use greenroom_keys::Keys;
use greenroom_server::http::Limits;
use greenroom_server::secret_keys::{reseal, rewrap_keys};
use greenroom_store::organization_key::SealedBy;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{ConnectOptions, PgPool};

use crate::requests::{header, problem, success, wrong_field};
use crate::secrets::dump;
use crate::step_registries::send;
use crate::support::database::TestDatabase;
use crate::support::steps::lease;
use crate::support::{Caller, TestServer};

const URL: &str = "https://git.example.com/acme/steps.git";
const PASSWORD: &str = "correct-horse-battery";
const OTHER_PASSWORD: &str = "staple-correct-horse";

async fn private(server: &TestServer, owner: &Caller) -> Value {
    let body =
        json!({ "name": "acme", "url": URL, "credential": { "username": "bot", "password": PASSWORD } });
    success(send(server, owner, Method::POST, "/step-registries", &body).await, 201).await["data"].take()
}

fn path_of(registry: &Value) -> String {
    format!("/step-registries/{}", registry["id"].as_str().unwrap())
}

/// Returns what a worker would send as the credential.
async fn opened(server: &TestServer, pool: &PgPool, registry: &Value) -> Option<String> {
    let app = &server.server.app;
    let due = lease(&app.store, pool, registry["id"].as_str().unwrap()).await;
    let sealed: SealedValue = due.credential?;
    let keys = app.store.organization_keys(due.organization_id).await.unwrap();
    let key = keys.into_iter().find(|key| key.key.id == sealed.key).unwrap();
    let key = app.keys.ring().unwrap().open_key(due.organization_id, &key.key).unwrap();
    let place = CredentialPlace { registry: due.id, url: &due.url };
    let secret = key.open_credential(place, &sealed).unwrap();
    Some(String::from_utf8(secret.reveal().to_vec()).unwrap())
}

#[tokio::test]
async fn a_credential_is_set_replaced_and_removed_and_is_nowhere() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let created = private(&server, &owner).await;
    let path = path_of(&created);
    assert_eq!(created["hasCredential"], true);
    assert!(created.get("credential").is_none(), "{created}");
    assert_eq!(server.get(&owner, &path).await["data"], created);
    assert_eq!(opened(&server, &pool, &created).await.unwrap(), format!("bot:{PASSWORD}"));

    let patch =
        async |body: Value| success(send(&server, &owner, Method::PATCH, &path, &body).await, 200).await;
    // What has nothing to do with it changes nothing of it.
    assert_eq!(patch(json!({ "minimumAgeSeconds": 60 })).await["data"]["hasCredential"], true);
    let token = json!({ "credential": { "password": OTHER_PASSWORD } });
    let replaced = patch(token).await;
    assert_eq!(replaced["data"]["hasCredential"], true);
    assert!(replaced["data"]["nextSyncAt"].as_str() > created["nextSyncAt"].as_str(), "it is due now");
    assert_eq!(opened(&server, &pool, &created).await.unwrap(), format!("x-access-token:{OTHER_PASSWORD}"));
    assert_eq!(patch(json!({ "credential": null })).await["data"]["hasCredential"], false);
    assert_eq!(opened(&server, &pool, &created).await, None);
    // There is none to remove: no event.
    patch(json!({ "credential": null })).await;
    patch(json!({ "credential": { "username": "bot", "password": PASSWORD } })).await;
    let deleted = send(&server, &owner, Method::DELETE, &path, &json!({})).await;
    assert_eq!(success(deleted, 200).await["data"]["hasCredential"], false, "it is deleted too");

    let events = server.events(&pool, &owner).await;
    let events: Vec<_> = events.iter().filter(|event| event["subject"] == path[1..]).collect();
    let seen: Vec<_> = events
        .iter()
        .map(|event| (&event["data"]["after"]["hasCredential"], &event["data"]["after"]["credentialChanged"]))
        .collect();
    let (yes, no, none) = (&json!(true), &json!(false), &json!(null));
    assert_eq!(seen, [(yes, none), (yes, none), (yes, yes), (no, yes), (yes, yes), (none, none)]);
    let everything = format!("{}{}", json!(events), dump(&pool).await);
    for value in [PASSWORD, OTHER_PASSWORD, "x-access-token"] {
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
    let created = private(&server, &owner).await;
    let path = path_of(&created);
    let patch = async |body: Value| send(&server, &owner, Method::PATCH, &path, &body).await;
    for url in ["https://evil.example/steps.git", "https://git.example.com/acme/other.git"] {
        let refused = wrong_field(patch(json!({ "url": url })).await, "/credential").await;
        assert!(refused.to_string().contains("sent again"), "{refused}");
    }
    assert_eq!(server.get(&owner, &path).await["data"]["url"], URL);
    // The same address is not another one.
    success(patch(json!({ "url": URL, "name": "renamed" })).await, 200).await;
    assert_eq!(opened(&server, &pool, &created).await.unwrap(), format!("bot:{PASSWORD}"));
    let moved =
        json!({ "url": "https://git.example.com/b.git", "credential": { "password": OTHER_PASSWORD } });
    assert_eq!(success(patch(moved).await, 200).await["data"]["hasCredential"], true);
    assert_eq!(opened(&server, &pool, &created).await.unwrap(), format!("x-access-token:{OTHER_PASSWORD}"));
    let public = json!({ "url": "https://git.example.com/public.git", "credential": null });
    assert_eq!(success(patch(public).await, 200).await["data"]["hasCredential"], false);
    success(patch(json!({ "url": URL })).await, 200).await;
    server.end().await;
}

#[tokio::test]
async fn mistakes_are_named_and_credentials_are_not_repeated() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let existing = path_of(&private(&server, &owner).await);
    for credential in [
        json!(PASSWORD),
        json!(1_234_567),
        json!([PASSWORD]),
        json!({}),
        json!({ "username": PASSWORD }),
        json!({ "password": 1_234_567 }),
        json!({ "password": null }),
        json!({ "password": [PASSWORD] }),
        json!({ "password": "" }),
        json!({ "password": format!("{PASSWORD}\nhost=evil.example") }),
        json!({ "password": format!("{PASSWORD}\u{0}") }),
        json!({ "password": PASSWORD.repeat(200) }),
        json!({ "password": PASSWORD, "username": "" }),
        json!({ "password": PASSWORD, "username": "a:b" }),
        json!({ "password": PASSWORD, "username": "a\nb" }),
        json!({ "password": PASSWORD, "username": 1_234_567 }),
        json!({ "password": PASSWORD, "token": PASSWORD }),
    ] {
        let new = json!({ "name": "other", "url": URL, "credential": credential });
        let change = json!({ "credential": credential });
        for (method, path, body) in
            [(Method::POST, "/step-registries", new), (Method::PATCH, existing.as_str(), change)]
        {
            let refused = wrong_field(send(&server, &owner, method, path, &body).await, "/credential").await;
            let refused = refused.to_string();
            assert!(!refused.contains(PASSWORD) && !refused.contains("1234567"), "{refused}");
        }
    }
    assert_eq!(server.get(&owner, "/step-registries").await["pagination"]["total"], 1);
    server.end().await;
}

#[tokio::test]
async fn a_repeated_request_is_recognized_and_its_stored_hash_reveals_nothing() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let body = |pin: &str| json!({ "name": "acme", "url": URL, "credential": { "password": pin } });
    let post = async |body: &Value| {
        let request = server.request(&owner, Method::POST, "/step-registries").header("idempotency-key", "k");
        request.json(body).send().await.unwrap()
    };
    let first = success(post(&body("123456")).await, 201).await;
    assert_eq!(success(post(&body("123456")).await, 201).await, first);
    problem(post(&body("123457")).await, 422, "idempotency_key_reused").await;
    let without = json!({ "name": "acme", "url": URL });
    problem(post(&without).await, 422, "idempotency_key_reused").await;
    let request = server.request(&owner, Method::PATCH, &path_of(&first["data"]));
    let change = json!({ "credential": { "password": "654321" } });
    success(request.header("idempotency-key", "l").json(&change).send().await.unwrap(), 200).await;
    // A reader of the database can't test guesses.
    let stored: Vec<Vec<u8>> =
        sqlx::query_scalar("select fingerprint from idempotency_keys").fetch_all(&pool).await.unwrap();
    assert_eq!(stored.len(), 2);
    for guess in [body("123456"), change] {
        let guess: Vec<u8> = sqlx::query_scalar("select sha256(convert_to($1, 'UTF8'))")
            .bind(guess.to_string())
            .fetch_one(&pool)
            .await
            .unwrap();
        assert!(!stored.contains(&guess));
    }
    let everything = dump(&pool).await;
    assert!(!everything.contains("123456") && !everything.contains("654321"));
    server.end().await;
}

#[tokio::test]
async fn without_a_master_key_a_credential_is_not_set() {
    let (_database, pool) = TestDatabase::create().await;
    let with_key = TestServer::start(&pool).await;
    let owner = with_key.organization("acme").await;
    let path = path_of(&private(&with_key, &owner).await);
    let url = pool.connect_options().to_url_lossy();
    let limits = Limits::new(Duration::from_secs(15), 512);
    let settings = SignInSettings::default();
    let server = TestServer::start_with_keys(url.as_str(), limits, settings, Keys::default()).await;
    let credential = json!({ "password": OTHER_PASSWORD });
    let new = json!({ "name": "other", "url": URL, "credential": credential });
    for (method, path, body) in [
        (Method::POST, "/step-registries", new),
        (Method::PATCH, path.as_str(), json!({ "credential": credential })),
    ] {
        let refused = send(&server, &owner, method, path, &body).await;
        assert_eq!(header(&refused, "retry-after"), "1");
        problem(refused, 503, "secrets_unavailable").await;
    }
    // Everything else works, also removing it.
    assert_eq!(server.get(&owner, &path).await["data"]["hasCredential"], true);
    let changes = json!({ "minimumAgeSeconds": 60, "credential": null });
    let changed = success(send(&server, &owner, Method::PATCH, &path, &changes).await, 200).await;
    assert_eq!(changed["data"]["hasCredential"], false);
    let public = json!({ "name": "public", "url": URL });
    success(send(&server, &owner, Method::POST, "/step-registries", &public).await, 201).await;
    server.end().await;
    with_key.end().await;
}

#[tokio::test]
async fn credentials_are_sealed_again_with_a_new_data_key() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let stranger = server.organization("globex").await;
    let created = private(&server, &owner).await;
    private(&server, &stranger).await;
    let (store, keys) = (&server.server.app.store, &server.server.app.keys);
    let organization = owner.organization.parse().unwrap();
    assert_eq!(rewrap_keys(store, keys).await.unwrap()["rewrapped"], 0);
    assert_eq!(store.sealed_credentials(organization, SealedBy::RetiredKeys, 10).await.unwrap(), []);
    let slug = "acme".parse().unwrap();
    assert_eq!(reseal(store, keys, &slug).await.unwrap()["resealed"], 1);
    assert_eq!(opened(&server, &pool, &created).await.unwrap(), format!("bot:{PASSWORD}"));
    let unused: i64 = sqlx::query_scalar(
        "select count(*) from organization_keys k where retired_at is not null
         and exists (select from step_registries r where r.credential_key_id = k.id)",
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
    let stale = store.sealed_credentials(organization, SealedBy::RetiredKeys, 10).await.unwrap();
    assert_eq!(stale.len(), 1);
    let replaced = json!({ "credential": { "password": OTHER_PASSWORD } });
    success(send(&server, &owner, Method::PATCH, &path_of(&created), &replaced).await, 200).await;
    let late = SealedValue { key: stale[0].value.key, nonce: vec![0; 12], sealed: vec![0; 40] };
    assert!(!store.reseal_credential(organization, &stale[0], &late).await.unwrap());
    assert_eq!(opened(&server, &pool, &created).await.unwrap(), format!("x-access-token:{OTHER_PASSWORD}"));
    server.end().await;
}
