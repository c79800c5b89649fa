//! Secrets: their records, versions and events. No response, event, log or row contains a value.

use std::time::Duration;

use greenroom_app::sign_in::SignInSettings;
use greenroom_keys::{KeySource, Keys};
use greenroom_server::http::Limits;
use reqwest::{Method, Response};
use serde_json::{Value, json};
use sqlx::{ConnectOptions, PgPool};

use crate::requests::{header, problem, success, wrong_field};
use crate::support::database::TestDatabase;
use crate::support::{Caller, MASTER_KEY, TestServer};

const VALUE: &str = "correct-horse-battery";

async fn send(server: &TestServer, by: &Caller, method: Method, path: &str, body: &Value) -> Response {
    server.request(by, method, path).json(body).send().await.unwrap()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Returns everything that the database contains, as text.
pub async fn dump(pool: &PgPool) -> String {
    let tables = "select table_name from information_schema.tables where table_schema = 'public'
                  and table_type = 'BASE TABLE'";
    let tables: Vec<String> = sqlx::query_scalar(tables).fetch_all(pool).await.unwrap();
    let mut all = String::new();
    for table in tables {
        let rows = format!("select coalesce(string_agg(t::text, ' '), '') from {table} t");
        all += &sqlx::query_scalar::<_, String>(sqlx::AssertSqlSafe(rows)).fetch_one(pool).await.unwrap();
    }
    all
}

#[tokio::test]
async fn a_secret_is_created_changed_and_deleted_and_its_value_is_nowhere() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let pipeline = server.pipeline(&owner, "Shop").await;
    let body = json!({
        "name": "deploy-key", "pipelineId": "shop", "environment": "production", "description": "Deploys",
        "policy": { "branches": ["main"], "pools": ["big", "big"] }, "value": VALUE,
    });
    let created = send(&server, &owner, Method::POST, "/secrets", &body).await;
    assert_eq!(header(&created, "etag"), "\"1\"");
    let created = success(created, 201).await["data"].clone();
    let expected =
        [("scope", json!("environment")), ("pipelineId", json!(pipeline)), ("activeVersion", json!(1))];
    for (field, expected) in expected {
        assert_eq!(created[field], expected, "{created}");
    }
    assert_eq!(created["policy"]["pools"], json!(["big"]));
    let path = format!("/secrets/{}", text(&created["id"]));
    assert_eq!(server.get(&owner, &path).await["data"], created);
    assert_eq!(server.get(&owner, "/secrets").await["data"], json!([created]));
    assert_eq!(server.get(&owner, "/secrets").await, server.get(&owner, "/secrets").await);
    assert_eq!(server.get(&owner, "/secrets?name=other").await["data"], json!([]));

    let taken = send(&server, &owner, Method::POST, "/secrets", &body).await;
    problem(taken, 409, "secret_name_taken").await;
    for field in ["name", "pipelineId", "environment", "use", "value", "scope"] {
        let refused = send(&server, &owner, Method::PATCH, &path, &json!({ field: "x" })).await;
        problem(refused, 422, "invalid_request").await;
    }
    let change = json!({ "description": null, "policy": null });
    let changed = success(send(&server, &owner, Method::PATCH, &path, &change).await, 200).await;
    assert_eq!(
        (&changed["data"]["description"], &changed["data"]["policy"]["branches"]),
        (&json!(null), &json!(null))
    );
    let stale = server.request(&owner, Method::PATCH, &path).header("if-match", "\"1\"");
    problem(stale.json(&json!({ "description": "x" })).send().await.unwrap(), 412, "precondition_failed")
        .await;

    let deleted = success(send(&server, &owner, Method::DELETE, &path, &json!({})).await, 200).await;
    assert!(deleted["data"]["deletedAt"].is_string());
    let again = success(send(&server, &owner, Method::DELETE, &path, &json!({})).await, 200).await;
    assert_eq!(again, deleted);
    assert_eq!(server.get(&owner, "/secrets").await["data"], json!([]));
    assert_eq!(server.get(&owner, &path).await["data"], deleted["data"]);
    let late = send(&server, &owner, Method::PUT, &format!("{path}/value"), &json!({ "value": VALUE })).await;
    problem(late, 409, "invalid_state").await;
    let versions = server.get(&owner, &format!("{path}/versions")).await;
    assert_eq!(versions["data"][0]["status"], "destroyed");
    // The name is free again.
    success(send(&server, &owner, Method::POST, "/secrets", &body).await, 201).await;

    let events = server.events(&pool, &owner).await;
    let of_secret = events.iter().filter(|event| text(&event["type"]).starts_with("secret."));
    let types: Vec<&str> = of_secret.clone().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["secret.created", "secret.updated", "secret.deleted", "secret.created"]);
    for event in of_secret {
        assert_eq!(event["category"], "audit");
        assert!(
            text(&event["subject"]).starts_with(&format!("pipelines/{pipeline}/secrets/sec_")),
            "{event}"
        );
    }
    assert!(!json!(events).to_string().contains(VALUE));
    assert!(!dump(&pool).await.contains(VALUE));
    server.end().await;
}

#[tokio::test]
async fn values_have_versions_of_which_one_is_active() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let created = server.post(&owner, "/secrets", json!({ "name": "key", "value": "value-1" })).await;
    let path = format!("/secrets/{}", text(&created["id"]));
    let set = async |body: Value| {
        let set = send(&server, &owner, Method::PUT, &format!("{path}/value"), &body).await;
        success(set, 200).await["data"].clone()
    };
    let statuses = async || {
        let list = server.get(&owner, &format!("{path}/versions")).await;
        let statuses = list["data"].as_array().unwrap().iter().map(|version| text(&version["status"]));
        (statuses.collect::<Vec<_>>(), list["pagination"]["total"].clone())
    };
    assert_eq!(set(json!({ "value": "value-2" })).await["version"], 2);
    assert_eq!(set(json!({ "value": "value-3", "staged": true })).await["status"], "staged");
    assert_eq!(statuses().await, (vec!["staged".into(), "active".into(), "retired".into()], json!(3)));
    assert_eq!(server.get(&owner, &path).await["data"]["activeVersion"], 2);

    let act = async |version: i32, verb: &str| {
        send(&server, &owner, Method::POST, &format!("{path}/versions/{version}/{verb}"), &json!({})).await
    };
    problem(act(2, "destroy").await, 409, "invalid_state").await;
    success(act(3, "activate").await, 200).await;
    success(act(3, "activate").await, 200).await;
    success(act(1, "destroy").await, 200).await;
    success(act(1, "destroy").await, 200).await;
    problem(act(1, "activate").await, 409, "invalid_state").await;
    problem(act(9, "activate").await, 404, "not_found").await;
    assert_eq!(statuses().await.0, ["active", "retired", "destroyed"]);
    // A rollback.
    success(act(2, "activate").await, 200).await;
    assert_eq!(statuses().await.0, ["retired", "active", "destroyed"]);
    let events = server.events(&pool, &owner).await;
    let types = events.iter().map(|event| text(&event["type"])).filter(|name| name.starts_with("secret."));
    let expected = ["created", "value_set", "value_set", "activated", "destroyed", "activated"];
    assert_eq!(types.collect::<Vec<_>>(), expected.map(|verb| format!("secret.{verb}")));
    let rest: Vec<i64> = sqlx::query_scalar("select count(*) from secret_versions where sealed is not null")
        .fetch_all(&pool)
        .await
        .unwrap();
    assert_eq!(rest, [2]);
    server.end().await;
}

#[tokio::test]
async fn mistakes_are_named_and_values_are_not_repeated() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let pipeline = server.pipeline(&owner, "Shop").await;
    let unknown = "pip_0190a0b0-0000-7000-8000-000000000001";
    let secret = |more: Value| {
        let mut body = json!({ "name": "key", "value": VALUE });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let for_checkouts = |repositories: Value| {
        let usage = json!({ "kind": "checkout", "host": "git.test" });
        secret(json!({ "pipelineId": "shop", "use": usage, "policy": { "repositories": repositories } }))
    };
    for (body, pointer) in [
        (secret(json!({ "name": "Key" })), "/name"),
        (secret(json!({ "name": "a\u{0}" })), "/name"),
        (secret(json!({ "value": "short" })), "/value"),
        (secret(json!({ "value": "x".repeat(65_537) })), "/value"),
        (secret(json!({ "value": "with\u{0}nul" })), "/value"),
        (secret(json!({ "value": 1_234_567 })), "/value"),
        (secret(json!({ "value": [VALUE] })), "/value"),
        (secret(json!({ "pipelineId": "nowhere" })), "/pipelineId"),
        (secret(json!({ "pipelineId": unknown })), "/pipelineId"),
        (secret(json!({ "environment": "qa" })), "/environment"),
        (secret(json!({ "pipelineId": "shop", "environment": "QA" })), "/environment"),
        (secret(json!({ "description": "a\nb" })), "/description"),
        (secret(json!({ "policy": { "branches": ["main"] } })), "/policy/pipelines"),
        (secret(json!({ "policy": { "environments": ["qa"] } })), "/policy/pipelines"),
        (secret(json!({ "policy": { "pools": ["big"] } })), "/policy/pipelines"),
        (secret(json!({ "policy": { "pipelines": [] } })), "/policy/pipelines"),
        (secret(json!({ "policy": { "pipelines": [unknown] } })), "/policy/pipelines"),
        (secret(json!({ "policy": { "pipelines": ["shop"] } })), "/policy/pipelines/0"),
        (secret(json!({ "pipelineId": "shop", "policy": { "pipelines": [pipeline] } })), "/policy/pipelines"),
        (secret(json!({ "pipelineId": "shop", "policy": { "branches": ["a b"] } })), "/policy/branches"),
        (secret(json!({ "use": { "kind": "checkout", "host": "git.test" } })), "/policy/pipelines"),
        (
            secret(json!({ "pipelineId": "shop", "use": { "kind": "checkout", "host": "https://x" } })),
            "/use/host",
        ),
        (
            secret(json!({ "pipelineId": "shop", "policy": { "repositories": ["git.test"] } })),
            "/policy/repositories",
        ),
        (for_checkouts(json!(["evil.test/acme"])), "/policy/repositories"),
        (for_checkouts(json!(["git.test:8443/acme"])), "/policy/repositories"),
        (for_checkouts(json!([])), "/policy/repositories"),
        (for_checkouts(json!(["git.test/acme", "https://git.test/acme"])), "/policy/repositories/1"),
        (for_checkouts(json!(["git.test/acme/*"])), "/policy/repositories/0"),
        (
            secret(json!({ "pipelineId": "shop", "use": { "kind": "email", "host": "git.test" } })),
            "/use/kind",
        ),
    ] {
        let refused = send(&server, &owner, Method::POST, "/secrets", &body).await;
        let found = wrong_field(refused, pointer).await.to_string();
        assert!(!found.contains(VALUE) && !found.contains("1234567"), "{found}");
    }
    assert_eq!(server.get(&owner, "/secrets").await["data"], json!([]));
    server.end().await;
}

#[tokio::test]
async fn a_repeated_request_makes_one_secret_and_its_stored_hash_reveals_nothing() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let post = async |body: &Value| {
        let request = server.request(&owner, Method::POST, "/secrets").header("idempotency-key", "k");
        request.json(body).send().await.unwrap()
    };
    let body = json!({ "name": "key", "value": "123456" });
    let first = success(post(&body).await, 201).await;
    assert_eq!(success(post(&body).await, 201).await, first);
    let other = json!({ "name": "key", "value": "123457" });
    problem(post(&other).await, 422, "idempotency_key_reused").await;
    // A reader of the database can't test guesses of a short value.
    let stored: Vec<Vec<u8>> =
        sqlx::query_scalar("select fingerprint from idempotency_keys").fetch_all(&pool).await.unwrap();
    let guess: Vec<u8> = sqlx::query_scalar("select sha256(convert_to($1, 'UTF8'))")
        .bind(body.to_string())
        .fetch_one(&pool)
        .await
        .unwrap();
    assert_eq!((stored.len(), stored[0].len()), (1, 32));
    assert_ne!(stored[0], guess);
    server.end().await;
}

#[tokio::test]
async fn secrets_of_the_organization_are_an_admins_and_limited_tokens_see_their_own() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let maintainer = server.member(&owner, "acme", "maintainer").await;
    let (shop, other) = (server.pipeline(&owner, "Shop").await, server.pipeline(&owner, "Other").await);
    let everywhere = json!({ "name": "key", "value": VALUE });
    let refused = send(&server, &maintainer, Method::POST, "/secrets", &everywhere).await;
    assert_eq!(problem(refused, 403, "forbidden").await["requiredRole"], "admin");
    let created = server.post(&owner, "/secrets", everywhere.clone()).await;
    let path = format!("/secrets/{}", text(&created["id"]));
    for (method, path, body) in [
        (Method::PATCH, path.clone(), json!({ "description": "mine" })),
        (Method::DELETE, path.clone(), json!({})),
        (Method::PUT, format!("{path}/value"), json!({ "value": "another value" })),
        (Method::POST, format!("{path}/versions/1/activate"), json!({})),
    ] {
        problem(send(&server, &maintainer, method, &path, &body).await, 403, "forbidden").await;
    }
    for pipeline in [&shop, &other] {
        let body = json!({ "name": "key", "pipelineId": pipeline, "value": VALUE });
        server.post(&maintainer, "/secrets", body).await;
    }
    assert_eq!(server.get(&owner, "/secrets").await["pagination"]["total"], 3);

    let made = server.post(&owner, "/api-tokens", json!({ "name": "limited", "pipelines": [shop] })).await;
    let limited = Caller { token: text(&made["token"]), ..owner.clone() };
    let list = server.get(&limited, "/secrets").await;
    assert_eq!(
        (list["data"][0]["pipelineId"].as_str(), &list["pagination"]["total"]),
        (Some(shop.as_str()), &json!(1))
    );
    let hidden = server.get(&owner, &format!("/secrets?pipelineId={other}")).await;
    let hidden = format!("/secrets/{}", text(&hidden["data"][0]["id"]));
    problem(send(&server, &limited, Method::GET, &hidden, &json!({})).await, 404, "not_found").await;
    problem(send(&server, &limited, Method::GET, &path, &json!({})).await, 403, "token_limited").await;
    problem(send(&server, &limited, Method::POST, "/secrets", &everywhere).await, 403, "token_limited").await;
    let elsewhere = json!({ "name": "more", "pipelineId": other, "value": VALUE });
    wrong_field(send(&server, &limited, Method::POST, "/secrets", &elsewhere).await, "/pipelineId").await;
    server.end().await;
}

#[tokio::test]
async fn without_a_master_key_records_are_readable_and_values_are_not_set() {
    let (_database, pool) = TestDatabase::create().await;
    let url = pool.connect_options().to_url_lossy();
    let limits = || Limits::new(Duration::from_secs(15), 512);
    let start = async |keys| {
        TestServer::start_with_keys(url.as_str(), limits(), SignInSettings::default(), keys).await
    };
    let with_key = TestServer::start(&pool).await;
    let owner = with_key.organization("acme").await;
    let created = with_key.post(&owner, "/secrets", json!({ "name": "key", "value": VALUE })).await;
    let path = format!("/secrets/{}", text(&created["id"]));
    let other_key = MASTER_KEY.replace("test:A", "other:B");
    let other = Keys::load(Some(KeySource::Command(format!("printf %s '{other_key}'")))).await.unwrap();
    for keys in [Keys::default(), other] {
        let without = start(keys).await;
        assert_eq!(without.get(&owner, &path).await["data"], created);
        let (value, path) = (json!({ "value": "another value" }), format!("{path}/value"));
        let refused = send(&without, &owner, Method::PUT, &path, &value).await;
        assert_eq!(header(&refused, "retry-after"), "1");
        problem(refused, 503, "secrets_unavailable").await;
        success(send(&without, &owner, Method::PATCH, &path.replace("/value", ""), &json!({})).await, 200)
            .await;
        without.end().await;
    }
    with_key.end().await;
}

/// A secret may be there before its environment is. The response has a warning, because the name may be mistyped.
#[tokio::test]
async fn names_that_match_nothing_yet_are_warned_of() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let definition = "environments: { production: { branches: [main] } }
ephemeralEnvironments: { qa-1: { stages: [build] }, 'pr-*': { stages: [build], max: 3 } }
stages: { build: { runner: { pool: big }, steps: [{ image: busybox, run: 'true' }] } }
";
    server.post(&owner, "/pipelines", json!({ "name": "Shop", "definition": definition })).await;
    let warnings = |saved: &Value| -> Vec<(String, Value)> {
        let warnings = saved["warnings"].as_array().unwrap().iter();
        warnings.map(|warning| (text(&warning["path"]), warning["suggestion"].clone())).collect()
    };
    for (number, (environment, policy, expected)) in [
        ("production", json!({ "environments": ["production"], "branches": ["main"] }), vec![]),
        (
            "pr-7",
            json!({ "environments": ["pr-*", "none"], "pools": ["big"], "branches": ["other"] }),
            vec![],
        ),
        ("prodution", json!({}), vec![("/environment", json!("production"))]),
        (
            "qa-1",
            json!({ "environments": ["qa-*", "load-*"], "pools": ["bgi"], "branches": ["mian"] }),
            vec![
                ("/policy/environments", json!(null)),
                ("/policy/pools", json!("big")),
                ("/policy/branches", json!("main")),
            ],
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let body = json!({
            "name": format!("key-{number}"), "pipelineId": "shop", "environment": environment, "policy": policy,
            "value": VALUE,
        });
        let saved = success(send(&server, &owner, Method::POST, "/secrets", &body).await, 201).await;
        let expected: Vec<_> = expected.into_iter().map(|(path, name)| (path.to_owned(), name)).collect();
        assert_eq!(warnings(&saved), expected, "{saved}");
    }
    let everywhere = json!({ "name": "everywhere", "value": VALUE });
    let saved = success(send(&server, &owner, Method::POST, "/secrets", &everywhere).await, 201).await;
    assert_eq!(saved["warnings"], json!([]));
    let path =
        format!("/secrets/{}", text(&server.get(&owner, "/secrets?name=key-0").await["data"][0]["id"]));
    let policy = json!({ "policy": { "environments": ["producton"] } });
    let saved = success(send(&server, &owner, Method::PATCH, &path, &policy).await, 200).await;
    let message = text(&saved["warnings"][0]["message"]);
    assert_eq!(message, "`producton` matches no environment yet; did you mean `production`?");
    server.end().await;
}

/// A client from before `repositories` creates such a credential as before, and is warned.
#[tokio::test]
async fn a_credential_for_every_repository_of_a_host_is_warned_of() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let pipeline = server.pipeline(&owner, "Shop").await;
    let create = async |name: &str, kind: &str, scope: Value| {
        let usage = json!({ "kind": kind, "host": "git.test" });
        let mut body = json!({ "name": name, "value": VALUE, "use": usage });
        body.as_object_mut().unwrap().extend(scope.as_object().unwrap().clone());
        success(send(&server, &owner, Method::POST, "/secrets", &body).await, 201).await
    };
    let of_all =
        |repositories: Value| json!({ "policy": { "pipelines": [pipeline], "repositories": repositories } });
    let saved = create("all", "checkout", json!({ "policy": { "pipelines": [pipeline] } })).await;
    let warning = &saved["warnings"][0];
    assert_eq!(
        (&warning["code"], &warning["path"]),
        (&json!("all_repositories"), &json!("/policy/repositories"))
    );
    assert!(text(&warning["message"]).contains("every repository of git.test"), "{warning}");
    assert_eq!(saved["data"]["policy"].get("repositories"), None);
    let named = create("host", "checkout", of_all(json!(["git.test"]))).await;
    assert_eq!(named["warnings"][0]["code"], "all_repositories");
    for saved in [
        create("some", "checkout", of_all(json!(["git.test/Acme"]))).await,
        create("own", "checkout", json!({ "pipelineId": "shop" })).await,
        create("images", "registry", json!({ "policy": { "pipelines": [pipeline] } })).await,
    ] {
        assert_eq!(saved["warnings"], json!([]), "{saved}");
    }
    let found = server.get(&owner, "/secrets?name=some").await;
    assert_eq!(found["data"][0]["policy"]["repositories"], json!(["git.test/acme"]));
    server.end().await;
}
