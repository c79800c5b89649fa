//! Connected forges: their records and events, and attempts to reach those of others.

use greenroom_app::failure::Code;
use greenroom_app::forge::for_repository;
use reqwest::Method;
use serde_json::{Value, json};

use crate::requests::{header, problem, success, wrong_field};
use crate::step_registries::send;
use crate::support::database::TestDatabase;
use crate::support::{Caller, TestServer};

pub const ADDRESS: &str = "https://api.github.com";
pub const TOKEN: &str = "github_pat_correct-horse-battery";

pub fn forge(name: &str) -> Value {
    json!({ "name": name, "kind": "github", "address": ADDRESS, "credential": { "token": TOKEN } })
}

pub async fn connect(server: &TestServer, owner: &Caller, name: &str) -> Value {
    server.post(owner, "/forges", forge(name)).await
}

#[tokio::test]
async fn a_forge_is_connected_changed_and_deleted() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let created = connect(&server, &owner, "github").await;
    assert_eq!(created["repositories"], json!(["github.com"]));
    assert_eq!((&created["kind"], &created["address"]), (&json!("github"), &json!(ADDRESS)));
    assert_eq!((&created["lastUsedAt"], &created["lastError"]), (&json!(null), &json!(null)));
    assert!(created.get("credential").is_none());
    assert_eq!(server.get(&owner, "/forges/github").await["data"], created);
    let own = json!({
        "name": "own",
        "kind": "forgejo",
        "address": "https://git.example.com:8443/api/v1/",
        "repositories": ["git.example.com/Acme", "git.example.com:8443/acme"],
        "credential": { "token": TOKEN },
    });
    let own = server.post(&owner, "/forges", own).await;
    assert_eq!(own["address"], "https://git.example.com:8443/api/v1");
    assert_eq!(own["repositories"], json!(["git.example.com/acme", "git.example.com:8443/acme"]));
    let page = server.get(&owner, "/forges").await;
    assert_eq!(page["data"], json!([created, own]));
    assert_eq!(page["pagination"]["total"], 2);

    let patch = async |body: Value| send(&server, &owner, Method::PATCH, "/forges/github", &body).await;
    let changed = patch(json!({ "repositories": ["github.com/acme"] })).await;
    assert!(header(&changed, "etag").starts_with("\"2."));
    assert_eq!(success(changed, 200).await["data"]["repositories"], json!(["github.com/acme"]));
    // It changes nothing, and records no event.
    success(patch(json!({ "repositories": ["GitHub.com/acme"], "address": ADDRESS })).await, 200).await;
    let stale = server.request(&owner, Method::DELETE, "/forges/github").header("if-match", "\"1\"");
    problem(stale.send().await.unwrap(), 412, "precondition_failed").await;
    let deleted = server.request(&owner, Method::DELETE, "/forges/github").header("if-match", "\"2\"");
    success(deleted.send().await.unwrap(), 200).await;
    problem(patch(json!({})).await, 404, "not_found").await;
    problem(send(&server, &owner, Method::DELETE, "/forges/github", &json!({})).await, 404, "not_found")
        .await;
    connect(&server, &owner, "github").await;

    let events = server.events(&pool, &owner).await;
    let events: Vec<_> = events.iter().filter(|event| event["subject"] == "forges/github").collect();
    let types: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["forge.created", "forge.updated", "forge.deleted", "forge.created"]);
    assert_eq!(events[1]["data"]["before"]["repositories"], json!(["github.com"]));
    assert_eq!(events[1]["data"]["after"]["repositories"], json!(["github.com/acme"]));
    assert_eq!(events[2]["data"]["before"]["address"], ADDRESS);
    server.end().await;
}

#[tokio::test]
async fn names_are_unique_and_forges_are_limited() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    connect(&server, &owner, "github").await;
    let post = async |name: &str| send(&server, &owner, Method::POST, "/forges", &forge(name)).await;
    problem(post("github").await, 409, "forge_name_taken").await;
    let (one, other) = tokio::join!(post("other"), post("other"));
    let mut statuses = [one.status().as_u16(), other.status().as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409]);
    for number in 2..50 {
        connect(&server, &owner, &format!("f{number}")).await;
    }
    let refused = problem(post("one-more").await, 409, "invalid_state").await;
    assert_eq!(refused["limit"], 50);
    server.end().await;
}

#[tokio::test]
async fn mistakes_are_named() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    connect(&server, &owner, "github").await;
    let too_many: Vec<String> = (0..51).map(|n| format!("git{n}.example.com")).collect();
    for (pointer, field, value) in [
        ("/name", "name", json!("GitHub")),
        ("/kind", "kind", json!("gitlab")),
        ("/address", "address", json!("https://github.com")),
        ("/address", "address", json!("http://api.github.com")),
        ("/address", "address", json!("https://user:secret@api.github.com")),
        ("/address", "address", json!("https://api.github.com?x=1")),
        ("/repositories", "repositories", json!([])),
        ("/repositories", "repositories", json!(too_many)),
        ("/repositories/1", "repositories", json!(["github.com", "https://github.com/acme"])),
        ("/repositories/0", "repositories", json!(["*"])),
    ] {
        let mut body = forge("other");
        body[field] = value.clone();
        wrong_field(send(&server, &owner, Method::POST, "/forges", &body).await, pointer).await;
        if !["name", "kind"].contains(&field) {
            let body = json!({ field: value, "credential": { "token": TOKEN } });
            wrong_field(send(&server, &owner, Method::PATCH, "/forges/github", &body).await, pointer).await;
        }
    }
    let mut forgejo = forge("other");
    forgejo["kind"] = "forgejo".into();
    wrong_field(send(&server, &owner, Method::POST, "/forges", &forgejo).await, "/address").await;
    for (field, value) in [("name", "other"), ("kind", "forgejo")] {
        let refused = send(&server, &owner, Method::PATCH, "/forges/github", &json!({ field: value })).await;
        problem(refused, 422, "invalid_request").await;
    }
    server.end().await;
}

/// Which forge serves a repository is decided within the organization.
#[tokio::test]
async fn the_forge_of_another_organization_is_out_of_reach() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let stranger = server.organization("globex").await;
    connect(&server, &owner, "github").await;
    let mut body = forge("shop");
    body["repositories"] = json!(["github.com/acme/shop"]);
    server.post(&owner, "/forges", body).await;
    for (method, body) in [
        (Method::GET, json!({})),
        (Method::PATCH, json!({ "repositories": ["github.com/evil"] })),
        (Method::DELETE, json!({})),
    ] {
        problem(send(&server, &stranger, method, "/forges/github", &body).await, 404, "not_found").await;
    }
    let store = &server.server.app.store;
    let serving = async |by: &Caller, url: &str| {
        let found = for_repository(store, by.organization.parse().unwrap(), url).await;
        found.map(|(forge, repository)| (forge.name, repository.to_string())).map_err(|failure| failure.code)
    };
    let found = serving(&owner, "https://github.com/acme/shop.git").await.unwrap();
    assert_eq!(found, ("shop".to_owned(), "github.com/acme/shop".to_owned()));
    assert_eq!(serving(&owner, "git@github.com:acme/web.git").await.unwrap().0, "github");
    for (by, url) in [
        (&stranger, "https://github.com/acme/shop.git"),
        (&owner, "https://github.com.evil.example/acme/shop"),
        (&owner, "https://gitlab.com/acme/shop"),
        (&owner, "/srv/git/shop"),
    ] {
        assert_eq!(serving(by, url).await, Err(Code::ForgeNotConnected), "{url}");
    }
    server.end().await;
}

#[tokio::test]
async fn the_last_call_is_shown() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    connect(&server, &owner, "github").await;
    let (store, organization) = (&server.server.app.store, owner.organization.parse().unwrap());
    let used = store.forge(organization, "github").await.unwrap().unwrap();
    let record = async |error| {
        store.record_forge_call(organization, (used.id, used.revision), error).await.unwrap();
        let read = server.request(&owner, Method::GET, "/forges/github").send().await.unwrap();
        let etag = header(&read, "etag");
        (success(read, 200).await["data"].take(), etag)
    };
    let (failed, first) = record(Some("the forge rejects the credential (401)")).await;
    assert_eq!(failed["lastError"], "the forge rejects the credential (401)");
    let (good, second) = record(None).await;
    assert_eq!(good["lastError"], json!(null));
    assert!(good["lastUsedAt"].as_str() > failed["lastUsedAt"].as_str());
    assert_ne!(first, second);
    // A call is no change by a person.
    let change = server.request(&owner, Method::PATCH, "/forges/github").header("if-match", first);
    let change = change.json(&json!({ "credential": { "token": "another" } })).send().await.unwrap();
    assert_eq!(success(change, 200).await["data"]["lastUsedAt"], json!(null));
    // One with the former credential does not count.
    let (unchanged, _) = record(Some("late")).await;
    assert_eq!((&unchanged["lastUsedAt"], &unchanged["lastError"]), (&json!(null), &json!(null)));
    server.end().await;
}
