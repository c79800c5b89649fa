//! Steps of registries: which version a reference means, what has changed in a version, and who uses it.

use greenroom_domain::id::PipelineId;
use reqwest::Method;
use serde_json::{Value, json};

use crate::requests::{success, wrong_field};
use crate::step_registries::{IMAGE, SIGNER, manifest, registry, send, types, with_steps};
use crate::support::TestServer;
use crate::support::database::TestDatabase;
use crate::support::steps::{new_version, publish};

#[tokio::test]
async fn a_yanked_version_is_not_resolved() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let id = with_steps(&server, &pool, &owner).await;
    let resolve = async |uses: &str| {
        send(&server, &owner, Method::POST, "/step-registries/resolve", &json!({ "uses": uses })).await
    };
    let resolved = success(resolve("acme/roll-out@v1").await, 200).await["data"].take();
    assert_eq!((&resolved["version"], &resolved["registryId"]), (&json!("1.10.0"), &json!(id)));
    let by_digest = format!("acme/roll-out@{}", resolved["digest"].as_str().unwrap());
    assert_eq!(success(resolve(&by_digest).await, 200).await["data"]["version"], "1.10.0");

    let yank = format!("/step-registries/{id}/steps/roll-out/versions/1.10.0/yank");
    let because = json!({ "reason": "Deletes the wrong replicas" });
    wrong_field(send(&server, &owner, Method::POST, &yank, &json!({ "reason": " " })).await, "/reason").await;
    let yanked =
        success(send(&server, &owner, Method::POST, &yank, &because).await, 200).await["data"].take();
    assert_eq!(
        (&yanked["yanked"]["reason"], &yanked["yanked"]["refused"]),
        (&because["reason"], &json!(false))
    );
    assert_eq!(yanked["yanked"]["by"], json!(owner.user));
    let again = success(send(&server, &owner, Method::POST, &yank, &because).await, 200).await["data"].take();
    assert_eq!(again, yanked);
    assert_eq!(success(resolve("acme/roll-out@v1").await, 200).await["data"]["version"], "1.9.0");
    let refuse = json!({ "reason": "Deletes the wrong replicas", "refuse": true });
    let refused =
        success(send(&server, &owner, Method::POST, &yank, &refuse).await, 200).await["data"].take();
    assert_eq!(
        (&refused["yanked"]["refused"], &refused["yanked"]["at"]),
        (&json!(true), &yanked["yanked"]["at"])
    );
    // A refusal is not taken back.
    let still = success(send(&server, &owner, Method::POST, &yank, &because).await, 200).await["data"].take();
    assert_eq!(still, refused);
    wrong_field(resolve("acme/roll-out@v1.10.0").await, "/uses").await;

    for (uses, expected) in [
        ("acme/roll-out", "must be"),
        ("acme/roll-out@latest", "must be"),
        ("acme/roll-out@v1\u{0}", "must be"),
        ("acm/roll-out@v1", "did you mean `acme`?"),
        ("acme/rol-out@v1", "did you mean `roll-out`?"),
        ("acme/roll-out@v7", "the newest version is"),
    ] {
        let refused = wrong_field(resolve(uses).await, "/uses").await;
        assert!(refused["detail"].as_str().unwrap().contains(expected), "{refused}");
    }
    let suggested = wrong_field(resolve("acme/rol-out@v1").await, "/uses").await;
    assert_eq!(suggested["errors"][0]["suggestion"], "acme/roll-out@v1");

    // What an admin requires holds from now on.
    let path = format!("/step-registries/{id}");
    let patch =
        async |body: Value| success(send(&server, &owner, Method::PATCH, &path, &body).await, 200).await;
    patch(json!({ "minimumAgeSeconds": 3_600 })).await;
    wrong_field(resolve("acme/roll-out@v1").await, "/uses").await;
    patch(json!({ "minimumAgeSeconds": 0, "signers": [SIGNER], "requireSignature": true })).await;
    wrong_field(resolve("acme/roll-out@v1").await, "/uses").await;
    let mut signed = new_version("roll-out", "1.11.0", &manifest("signed"));
    signed.signer = Some("ada@example.com".to_owned());
    publish(&server.server.app.store, &pool, &id, vec![signed]).await;
    assert_eq!(success(resolve("acme/roll-out@v1").await, 200).await["data"]["version"], "1.11.0");
    // The signer is not trusted any more; the name of another one begins like it.
    patch(json!({ "signers": [SIGNER.replace("ada@example.com", "ada@example.com.evil")] })).await;
    wrong_field(resolve("acme/roll-out@v1").await, "/uses").await;
    patch(json!({ "requireSignature": false, "disabled": true })).await;
    wrong_field(resolve("acme/roll-out@v1").await, "/uses").await;

    let names = types(&server, &pool, &owner).await;
    assert_eq!(names.iter().filter(|name| *name == "step.yanked").count(), 2, "{names:?}");
    server.end().await;
}

#[tokio::test]
async fn versions_are_compared() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let id = with_steps(&server, &pool, &owner).await;
    let versions = format!("/step-registries/{id}/steps/roll-out/versions");
    let diff = server.get(&owner, &format!("{versions}/1.10.0/diff?from=1.9.0")).await["data"].take();
    assert_eq!((&diff["from"]["version"], &diff["to"]["version"]), (&json!("1.9.0"), &json!("1.10.0")));
    assert_eq!(
        diff["manifest"],
        format!("@@ -1,4 +1,4 @@\n name: roll-out\n-# 1.9.0\n+# 1.10.0\n image: {IMAGE}\n run: ./run\n")
    );
    assert!(diff["files"].as_str().unwrap().contains("\n+100644 step.yaml "), "{diff}");
    assert_eq!(server.get(&owner, &format!("{versions}/1.10.0/diff")).await["data"], diff);
    let first = server.get(&owner, &format!("{versions}/1.9.0/diff")).await["data"].take();
    assert_eq!(first["from"], json!(null));
    assert!(first["manifest"].as_str().unwrap().starts_with("@@ -0,0 +1,4 @@\n+name"), "{first}");
    let same = server.get(&owner, &format!("{versions}/1.9.0/diff?from=1.9.0")).await["data"].take();
    assert_eq!((&same["files"], &same["manifest"]), (&json!(""), &json!("")));
    for from in ["7.0.0", "v1", "", "%25"] {
        let path = format!("{versions}/1.10.0/diff?from={from}");
        wrong_field(server.request(&owner, Method::GET, &path).send().await.unwrap(), "from").await;
    }
    server.end().await;
}

#[tokio::test]
async fn usage_shows_current_definitions() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let id = with_steps(&server, &pool, &owner).await;
    let store = &server.server.app.store;
    let body =
        json!({ "name": "Shop", "definition": "stages: { ship: { steps: [{ uses: acme/roll-out@v1 }] } }" });
    let made = success(send(&server, &owner, Method::POST, "/pipelines", &body).await, 201).await;
    let pipeline: PipelineId = made["data"]["id"].as_str().unwrap().parse().unwrap();
    let organization = owner.organization.parse().unwrap();
    let digest = new_version("roll-out", "1.10.0", &manifest("1.10.0")).digest;
    let lock = store.step_lock(organization, pipeline, 1).await.unwrap();
    assert_eq!(lock.get("acme/roll-out@v1").unwrap().digest, digest);

    let usage = format!("/step-registries/{id}/steps/roll-out/usage");
    let found = server.get(&owner, &usage).await;
    assert_eq!(found["pagination"]["total"], 1);
    let expected = json!({
        "pipelineId": pipeline, "pipeline": "shop", "definitionVersion": 1, "uses": "acme/roll-out@v1",
        "version": "1.10.0", "digest": digest,
    });
    assert_eq!(found["data"], json!([expected]));
    // A deleted registry keeps what is locked; its name means another one from then on.
    let path = format!("/step-registries/{id}");
    success(send(&server, &owner, Method::DELETE, &path, &json!({})).await, 200).await;
    registry(&server, &owner, "acme").await;
    assert_eq!(server.get(&owner, &usage).await["data"], json!([expected]));
    assert!(store.step_archive(organization, &digest).await.unwrap().is_some());
    // A newer definition does not use it.
    let body = json!({ "definition": "stages:\n  test:\n    steps: [{ image: a, run: b }]\n" });
    success(send(&server, &owner, Method::PUT, "/pipelines/shop", &body).await, 200).await;
    assert_eq!(server.get(&owner, &usage).await["data"], json!([]));
    server.end().await;
}
