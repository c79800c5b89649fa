//! Pools: a claim gets any free environment with the requested labels, the longest idle one first.

use std::collections::BTreeSet;
use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::fixture::{EnvironmentFixture, Reply};
use crate::support::database::TestDatabase;

const DEFINITION: &str = "ephemeralEnvironments:
  qa-1: { labels: [web, eu], lease: { default: 1h, max: 2h } }
  qa-2: { labels: [web], lease: { default: 1h, max: 2h } }
  qa-3: { labels: [web, eu, gpu], lease: { default: 1h, max: 4h } }
  \"pr-*\": { max: 2, labels: [web, review] }
stages:
  build:
    steps:
      - image: busybox
        run: 'true'
";

async fn claim(fixture: &EnvironmentFixture, body: Value) -> Reply {
    fixture.send(&fixture.dev, Method::POST, "//claim", body).await
}

fn name(reply: &Value) -> String {
    reply["data"]["envName"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_longest_idle_environment_is_granted_first() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::with(&pool, DEFINITION).await;
    let mut order = Vec::new();
    for _ in 0..4 {
        let reply = claim(&fixture, json!({ "labels": ["web"], "commitId": "0123abc" })).await.is(201);
        assert_eq!(reply["data"]["deployments"][0]["commitId"], "0123abc");
        let (env, session) = (name(&reply), reply["data"]["sessionId"].as_str().unwrap().to_owned());
        fixture.delete(&fixture.dev, &format!("//{env}/sessions/{session}")).await.is(200);
        order.push(env);
    }
    assert_eq!(order, ["qa-1", "qa-2", "qa-3", "qa-1"]);
    let both = claim(&fixture, json!({ "labels": ["gpu", "eu"], "ttlSeconds": 60 })).await.is(201);
    assert_eq!(name(&both), "qa-3");
    fixture.end().await;
}

#[tokio::test]
async fn a_claim_of_an_exhausted_pool_is_refused() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::with(&pool, DEFINITION).await;
    // Environments of a template belong to no pool, even if they are free.
    let made = fixture.send(&fixture.dev, Method::POST, "//pr-1/sessions", json!({})).await.session();
    fixture.delete(&fixture.dev, &format!("//pr-1/sessions/{made}")).await.is(200);
    let first = claim(&fixture, json!({ "labels": ["eu"], "ttlSeconds": 60 })).await.is(201);
    claim(&fixture, json!({ "labels": ["eu"] })).await.is(201);
    let refused = claim(&fixture, json!({ "labels": ["eu"] })).await.is(409);
    assert_eq!((&refused["code"], &refused["total"]), (&json!("pool_exhausted"), &json!(2)));
    assert_eq!(refused["nextExpiresAt"], first["data"]["expiresAt"]);
    assert_eq!(refused["environments"][0]["lock"]["holder"]["id"], fixture.dev.user.as_str());
    assert_eq!(refused["actions"][0]["path"], "qa-1/sessions", "the environment that becomes free first");
    let detail = refused["detail"].as_str().unwrap();
    assert!(detail.contains("`eu`") && detail.contains("`qa-1` comes free at"), "{refused}");

    // An environment with a queue is not free, even without a holder.
    fixture.send(&fixture.mate, Method::POST, "//qa-1/sessions", json!({ "queue": true })).await.is(202);
    sqlx::query(
        "update environments set expires_at = clock_timestamp() - interval '1 second' where name = 'qa-1'",
    )
    .execute(&pool)
    .await
    .unwrap();
    assert_eq!(claim(&fixture, json!({ "labels": ["eu"] })).await.is(409)["code"], "pool_exhausted");
    fixture.end().await;
}

/// An environment with a queue is not free when its lease ends: detail, time and suggestion name another one.
#[tokio::test]
async fn a_refusal_describes_one_environment() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::with(&pool, DEFINITION).await;
    let soon = claim(&fixture, json!({ "labels": ["eu"], "ttlSeconds": 60 })).await.is(201);
    assert_eq!(name(&soon), "qa-1");
    let later = claim(&fixture, json!({ "labels": ["eu"], "ttlSeconds": 600 })).await.is(201);
    fixture.send(&fixture.mate, Method::POST, "//qa-1/sessions", json!({ "queue": true })).await.is(202);
    let body =
        json!({ "labels": ["eu"], "commitId": "0123abc", "context": "checkout fix", "ttlSeconds": 300 });
    let refused = claim(&fixture, body.clone()).await.is(409);
    let detail = refused["detail"].as_str().unwrap();
    assert!(detail.contains("`qa-3` comes free at") && !detail.contains("qa-1"), "{detail}");
    assert_eq!(refused["nextExpiresAt"], later["data"]["expiresAt"]);
    let (queue, wait) = (&refused["actions"][0], &refused["actions"][1]);
    assert_eq!(queue["path"], "qa-3/sessions");
    let kept = json!({ "commitId": "0123abc", "context": "checkout fix", "ttlSeconds": 300, "queue": true });
    assert_eq!(queue["body"], kept);
    assert_eq!((&wait["action"], &wait["path"], &wait["body"]), (&json!("wait"), &json!("claim"), &body));
    assert_eq!(wait["headers"]["Prefer"], "wait=30");
    let base = format!("/api/v1/organizations/acme/pipelines/{}/ephemeral-environments", fixture.pipeline);
    assert_eq!(wait["href"], format!("{base}/claim"));
    assert_eq!(queue["href"], format!("{base}/qa-3/sessions"));

    // Every environment has a queue: there is no time at which one becomes free for this caller.
    fixture.send(&fixture.mate, Method::POST, "//qa-3/sessions", json!({ "queue": true })).await.is(202);
    let refused = claim(&fixture, json!({ "labels": ["eu"] })).await.is(409);
    assert_eq!(refused["nextExpiresAt"], Value::Null);
    assert!(refused["detail"].as_str().unwrap().contains("the shortest queue"), "{refused}");

    // A free environment that does not allow the lease is not suggested.
    let held = claim(&fixture, json!({ "labels": ["web"], "ttlSeconds": 7_200 })).await.is(201);
    assert_eq!(name(&held), "qa-2");
    let session = held["data"]["sessionId"].as_str().unwrap();
    fixture.delete(&fixture.dev, &format!("//qa-2/sessions/{session}")).await.is(200);
    let refused = claim(&fixture, json!({ "labels": ["web"], "ttlSeconds": 14_400 })).await.is(409);
    assert_eq!((&refused["total"], &refused["actions"][0]["path"]), (&json!(1), &json!("qa-3/sessions")));
    fixture.end().await;
}

#[tokio::test]
async fn labels_without_an_environment_are_rejected() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::with(&pool, DEFINITION).await;
    for (body, pointer, text) in [
        (json!({ "labels": ["wb"] }), "/labels", "did you mean `web`?"),
        (json!({ "labels": ["review"] }), "/labels", "only on the template `pr-*`"),
        (json!({ "labels": [] }), "/labels", "1 to 20"),
        (json!({ "labels": ["web", "A\u{0}B"] }), "/labels/1", "small letters"),
        (json!({ "labels": ["web"], "ttlSeconds": 0 }), "/ttlSeconds", "1 or more"),
        (json!({ "labels": ["web"], "ttlSeconds": 99_999 }), "/ttlSeconds", "14400"),
        (json!({ "labels": ["web"], "queue": true }), "/queue", "unknown"),
        (json!({ "labels": ["web"], "commitId": "x" }), "/commitId", ""),
    ] {
        let refused = claim(&fixture, body.clone()).await.is(422);
        assert_eq!(refused["errors"][0]["pointer"], pointer, "{body}: {refused}");
        assert!(refused["detail"].as_str().unwrap().contains(text), "{body}: {refused}");
        assert!(!refused["detail"].as_str().unwrap().ends_with("?."), "{refused}");
    }
    // An environment that allows the lease is found behind others that do not.
    let long = claim(&fixture, json!({ "labels": ["web"], "ttlSeconds": 14_400 })).await.is(201);
    assert_eq!(name(&long), "qa-3");
    // `claim` is a path segment of the API, so it is rejected as the name of an environment.
    fixture.get(&fixture.dev, "//claim").await.is(405);
    let path = format!("/organizations/{}/pipelines", fixture.owner.organization);
    for reserved in ["claim", "events", "queue", "history"] {
        let text = DEFINITION.replace("qa-1", reserved);
        let body = json!({ "name": "Other", "definition": text });
        let (status, _) = fixture.server.json(Method::POST, &path, &fixture.owner.token, Some(body)).await;
        assert_eq!(status, 422, "{reserved}");
    }
    fixture.end().await;
}

/// Each of as many claims as there are free environments gets a different one; the others are refused.
#[tokio::test]
async fn concurrent_claims_get_different_environments() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = Arc::new(EnvironmentFixture::with(&pool, DEFINITION).await);
    for (claimers, label, free) in [(3, "web", 3), (8, "eu", 2), (2, "gpu", 1)] {
        for _round in 0..3 {
            let mut racers = JoinSet::new();
            for _ in 0..claimers {
                let fixture = Arc::clone(&fixture);
                racers.spawn(async move { claim(&fixture, json!({ "labels": [label] })).await });
            }
            let responses = racers.join_all().await;
            let won: Vec<&Reply> = responses.iter().filter(|response| response.status == 201).collect();
            let names: BTreeSet<String> = won.iter().map(|response| name(&response.json)).collect();
            assert_eq!((won.len(), names.len()), (free, free), "{claimers} claimers of {label}");
            for lost in responses.iter().filter(|response| response.status != 201) {
                assert_eq!(lost.json["code"], "pool_exhausted", "{}", lost.json);
            }
            for response in won {
                let path = format!("//{}/sessions/{}", name(&response.json), response.session());
                fixture.delete(&fixture.dev, &path).await.is(200);
            }
        }
    }
    Arc::into_inner(fixture).unwrap().end().await;
}
