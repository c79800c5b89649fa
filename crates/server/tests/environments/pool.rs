//! Pools: any free environment with the labels, each to one claimer, the one that rested longest first.

use std::collections::BTreeSet;
use std::sync::Arc;

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;
use tokio::task::JoinSet;

use crate::site::{Reply, Site};

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

async fn claim(site: &Site, body: Value) -> Reply {
    site.send(&site.dev, Method::POST, "//claim", body).await
}

fn name(reply: &Value) -> String {
    reply["data"]["envName"].as_str().unwrap().to_owned()
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn the_one_that_rested_longest(pool: PgPool) {
    let site = Site::with(&pool, DEFINITION).await;
    let mut order = Vec::new();
    for _ in 0..4 {
        let reply = claim(&site, json!({ "labels": ["web"], "commitId": "0123abc" })).await.is(201);
        assert_eq!(reply["data"]["deployments"][0]["commitId"], "0123abc");
        let (env, session) = (name(&reply), reply["data"]["sessionId"].as_str().unwrap().to_owned());
        site.delete(&site.dev, &format!("//{env}/sessions/{session}")).await.is(200);
        order.push(env);
    }
    assert_eq!(order, ["qa-1", "qa-2", "qa-3", "qa-1"]);
    let both = claim(&site, json!({ "labels": ["gpu", "eu"], "ttlSeconds": 60 })).await.is(201);
    assert_eq!(name(&both), "qa-3");
    site.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn none_is_free_and_what_then(pool: PgPool) {
    let site = Site::with(&pool, DEFINITION).await;
    // A template's environments are nobody's pool, even if they are free.
    let made = site.send(&site.dev, Method::POST, "//pr-1/sessions", json!({})).await.session();
    site.delete(&site.dev, &format!("//pr-1/sessions/{made}")).await.is(200);
    let first = claim(&site, json!({ "labels": ["eu"], "ttlSeconds": 60 })).await.is(201);
    claim(&site, json!({ "labels": ["eu"] })).await.is(201);
    let refused = claim(&site, json!({ "labels": ["eu"] })).await.is(409);
    assert_eq!((&refused["code"], &refused["total"]), (&json!("pool_exhausted"), &json!(2)));
    assert_eq!(refused["nextExpiresAt"], first["data"]["expiresAt"]);
    assert_eq!(refused["environments"][0]["lock"]["holder"]["id"], site.dev.user.as_str());
    assert_eq!(refused["actions"][0]["path"], "qa-1/sessions", "it comes free first");
    let detail = refused["detail"].as_str().unwrap();
    assert!(detail.contains("`eu`") && detail.contains("`qa-1` comes free at"), "{refused}");

    // What others wait for is not free, though nobody holds it at this moment.
    site.send(&site.mate, Method::POST, "//qa-1/sessions", json!({ "queue": true })).await.is(202);
    sqlx::query(
        "update environments set expires_at = clock_timestamp() - interval '1 second' where name = 'qa-1'",
    )
    .execute(&pool)
    .await
    .unwrap();
    assert_eq!(claim(&site, json!({ "labels": ["eu"] })).await.is(409)["code"], "pool_exhausted");
    site.end().await;
}

/// An environment that somebody waits for does not come free when its lease ends: text, moment and suggestion agree on another.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_refusal_speaks_of_one_environment(pool: PgPool) {
    let site = Site::with(&pool, DEFINITION).await;
    let soon = claim(&site, json!({ "labels": ["eu"], "ttlSeconds": 60 })).await.is(201);
    assert_eq!(name(&soon), "qa-1");
    let later = claim(&site, json!({ "labels": ["eu"], "ttlSeconds": 600 })).await.is(201);
    site.send(&site.mate, Method::POST, "//qa-1/sessions", json!({ "queue": true })).await.is(202);
    let body =
        json!({ "labels": ["eu"], "commitId": "0123abc", "context": "checkout fix", "ttlSeconds": 300 });
    let refused = claim(&site, body.clone()).await.is(409);
    let detail = refused["detail"].as_str().unwrap();
    assert!(detail.contains("`qa-3` comes free at") && !detail.contains("qa-1"), "{detail}");
    assert_eq!(refused["nextExpiresAt"], later["data"]["expiresAt"]);
    let (queue, wait) = (&refused["actions"][0], &refused["actions"][1]);
    assert_eq!(queue["path"], "qa-3/sessions");
    let kept = json!({ "commitId": "0123abc", "context": "checkout fix", "ttlSeconds": 300, "queue": true });
    assert_eq!(queue["body"], kept);
    assert_eq!((&wait["action"], &wait["path"], &wait["body"]), (&json!("wait"), &json!("claim"), &body));
    assert_eq!(wait["headers"]["Prefer"], "wait=30");
    let base = format!("/api/v1/organizations/acme/pipelines/{}/ephemeral-environments", site.pipeline);
    assert_eq!(wait["href"], format!("{base}/claim"));
    assert_eq!(queue["href"], format!("{base}/qa-3/sessions"));

    // Somebody waits for each: none comes free for this caller at a moment that could be named.
    site.send(&site.mate, Method::POST, "//qa-3/sessions", json!({ "queue": true })).await.is(202);
    let refused = claim(&site, json!({ "labels": ["eu"] })).await.is(409);
    assert_eq!(refused["nextExpiresAt"], Value::Null);
    assert!(refused["detail"].as_str().unwrap().contains("the shortest queue"), "{refused}");

    // One that does not allow the lease is not suggested, though it is free.
    let held = claim(&site, json!({ "labels": ["web"], "ttlSeconds": 7_200 })).await.is(201);
    assert_eq!(name(&held), "qa-2");
    let session = held["data"]["sessionId"].as_str().unwrap();
    site.delete(&site.dev, &format!("//qa-2/sessions/{session}")).await.is(200);
    let refused = claim(&site, json!({ "labels": ["web"], "ttlSeconds": 14_400 })).await.is(409);
    assert_eq!((&refused["total"], &refused["actions"][0]["path"]), (&json!(1), &json!("qa-3/sessions")));
    site.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn labels_that_name_nothing(pool: PgPool) {
    let site = Site::with(&pool, DEFINITION).await;
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
        let refused = claim(&site, body.clone()).await.is(422);
        assert_eq!(refused["errors"][0]["pointer"], pointer, "{body}: {refused}");
        assert!(refused["detail"].as_str().unwrap().contains(text), "{body}: {refused}");
        assert!(!refused["detail"].as_str().unwrap().ends_with("?."), "{refused}");
    }
    // One that allows the lease is found behind those that don't.
    let long = claim(&site, json!({ "labels": ["web"], "ttlSeconds": 14_400 })).await.is(201);
    assert_eq!(name(&long), "qa-3");
    // Reserved words are no environments.
    site.get(&site.dev, "//claim").await.is(405);
    let path = format!("/organizations/{}/pipelines", site.owner.organization);
    for word in ["claim", "events", "queue", "history"] {
        let text = DEFINITION.replace("qa-1", word);
        let body = json!({ "name": "Other", "definition": text });
        let (status, _) = site.server.json(Method::POST, &path, &site.owner.token, Some(body)).await;
        assert_eq!(status, 422, "{word}");
    }
    site.end().await;
}

/// As many claimers as there are free ones: each gets one of its own, and those who are too many are told so.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn many_at_once(pool: PgPool) {
    let site = Arc::new(Site::with(&pool, DEFINITION).await);
    for (claimers, label, free) in [(3, "web", 3), (8, "eu", 2), (2, "gpu", 1)] {
        for _round in 0..3 {
            let mut racers = JoinSet::new();
            for _ in 0..claimers {
                let site = Arc::clone(&site);
                racers.spawn(async move { claim(&site, json!({ "labels": [label] })).await });
            }
            let answers = racers.join_all().await;
            let won: Vec<&Reply> = answers.iter().filter(|answer| answer.status == 201).collect();
            let names: BTreeSet<String> = won.iter().map(|answer| name(&answer.json)).collect();
            assert_eq!((won.len(), names.len()), (free, free), "{claimers} claimers of {label}");
            for lost in answers.iter().filter(|answer| answer.status != 201) {
                assert_eq!(lost.json["code"], "pool_exhausted", "{}", lost.json);
            }
            for answer in won {
                let path = format!("//{}/sessions/{}", name(&answer.json), answer.session());
                site.delete(&site.dev, &path).await.is(200);
            }
        }
    }
    Arc::into_inner(site).unwrap().end().await;
}
