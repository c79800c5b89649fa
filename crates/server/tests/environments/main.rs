//! Ephemeral environments over HTTP: claim, hold, deploy, queue, release, take over, expire.
#![expect(clippy::unwrap_used, reason = "a test may")]

mod actions;
mod crowd;
mod deployments;
mod handover;
mod heartbeat;
mod lease;
mod leaving;
mod places;
mod pool;
#[path = "../support/proxy.rs"]
mod proxy;
mod queue;
mod rights;
mod settled_reads;
mod settling;
mod site;
#[path = "../support/mod.rs"]
mod support;
mod templates;
mod transfer;
mod wait;
mod watch;

use reqwest::Method;
use serde_json::json;
use sqlx::PgPool;
use tokio::task::JoinSet;

use site::Site;

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn claim_deploy_release(pool: PgPool) {
    let site = Site::new(&pool).await;
    let claimed = site.claim(&site.dev, json!({ "commitId": "0123abc", "context": "try it" })).await.is(201);
    let session = claimed["data"]["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(claimed["data"]["lock"]["holder"]["id"], site.dev.user.as_str());
    assert_eq!(claimed["data"]["fence"], 1);
    for commit in ["1111111", "2222222", "3333333"] {
        site.send(
            &site.dev,
            Method::POST,
            &format!("/sessions/{session}/deploy"),
            json!({ "commitId": commit }),
        )
        .await
        .is(202);
    }
    let shown = site.get(&site.dev, &format!("/sessions/{session}")).await.is(200);
    let statuses: Vec<&str> = shown["data"]["deployments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|d| d["status"].as_str().unwrap())
        .collect();
    // The first has the work slot; of those that wait the newest stays.
    assert_eq!(statuses, ["queued", "superseded", "superseded", "queued"]);
    assert_eq!(shown["data"]["lock"]["commitId"], "3333333");
    site.send(&site.dev, Method::POST, &format!("/sessions/{session}/renew"), json!({})).await.is(200);
    let shown = site.get(&site.dev, "").await.is(200);
    assert_eq!(shown["data"]["lock"]["commitId"], "3333333", "renewing does not change what is deployed");
    let released = site.delete(&site.dev, &format!("/sessions/{session}")).await.is(200);
    assert_eq!(released["data"]["status"], "released");
    let statuses: Vec<&str> = released["data"]["deployments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|d| d["status"].as_str().unwrap())
        .collect();
    assert_eq!(statuses, ["canceled", "superseded", "superseded", "canceled"]);
    let free = site.get(&site.dev, "").await.is(200);
    assert_eq!(free["data"]["lock"], json!({ "status": "free", "queueLength": 0 }));
    site.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn force_tells_both_sides(pool: PgPool) {
    let site = Site::new(&pool).await;
    let first = site.claim(&site.dev, json!({})).await.session();
    let forced =
        site.send(&site.mate, Method::POST, "/force-claim", json!({ "context": "hotfix" })).await.is(201);
    assert_eq!(forced["data"]["displaced"]["sessionId"], first.as_str());
    assert_eq!(forced["data"]["fence"], 3, "the end and the grant each raise it");
    let old = site.get(&site.dev, &format!("/sessions/{first}")).await.is(200);
    assert_eq!(old["data"]["overridden"], true);
    assert_eq!(old["data"]["override"]["reason"], "hotfix");
    assert_eq!(old["data"]["override"]["by"]["id"], site.mate.user.as_str());
    for path in ["deploy", "renew"] {
        let refused = site
            .send(
                &site.dev,
                Method::POST,
                &format!("/sessions/{first}/{path}"),
                json!({ "commitId": "0123abc" }),
            )
            .await;
        if path == "deploy" {
            assert_eq!(refused.is(409)["code"], "session_overridden");
        }
    }
    site.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_refusal_helps(pool: PgPool) {
    let site = Site::new(&pool).await;
    site.claim(&site.dev, json!({ "context": "demo for sales" })).await.is(201);
    let refused = site.claim(&site.mate, json!({})).await.is(409);
    assert_eq!(refused["code"], "environment_locked");
    assert_eq!(refused["lock"]["holder"]["id"], site.dev.user.as_str());
    assert!(refused["lock"]["claimedAt"].is_string() && refused["lock"]["expiresAt"].is_string());
    let actions: Vec<&str> = refused["actions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|action| action["action"].as_str().unwrap())
        .collect();
    assert_eq!(actions, ["queue", "request_handover", "force_claim"]);
    assert_eq!(refused["lock"]["context"], "demo for sales");
    let mine = site.claim(&site.dev, json!({})).await.is(409);
    assert_eq!(mine["code"], "held_by_you");
    let viewer = site.server.member(&site.owner, "acme", "viewer").await;
    assert_eq!(site.claim(&viewer, json!({})).await.is(403)["code"], "forbidden");
    site.end().await;
}

/// Many claimers at once: one holder, and as many fences as grants.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn of_many_claims_at_once_one_wins(pool: PgPool) {
    let site = std::sync::Arc::new(Site::new(&pool).await);
    for round in 1..=3 {
        let mut racers = JoinSet::new();
        for _ in 0..40 {
            let site = std::sync::Arc::clone(&site);
            racers.spawn(async move { site.claim(&site.dev, json!({})).await });
        }
        let answers = racers.join_all().await;
        let won: Vec<_> = answers.iter().filter(|answer| answer.status == 201).collect();
        assert_eq!(won.len(), 1);
        assert!(answers.iter().all(|answer| matches!(answer.status, 201 | 409)), "{round}");
        site.delete(&site.dev, &format!("/sessions/{}", won[0].session())).await.is(200);
    }
    assert_eq!(site.get(&site.dev, "/history").await.is(200)["pagination"]["total"], 3);
    std::sync::Arc::into_inner(site).unwrap().end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn history_pages(pool: PgPool) {
    let site = Site::new(&pool).await;
    let mut sessions = Vec::new();
    for _ in 0..5 {
        let session = site.claim(&site.dev, json!({})).await.session();
        site.delete(&site.dev, &format!("/sessions/{session}")).await.is(200);
        sessions.push(session);
    }
    sessions.reverse();
    let mut seen = Vec::new();
    for page in 1..=3 {
        let shown = site.get(&site.dev, &format!("/history?page={page}&limit=2")).await.is(200);
        assert_eq!(shown["pagination"], json!({ "page": page, "limit": 2, "total": 5, "totalPages": 3 }));
        for entry in shown["data"].as_array().unwrap() {
            assert!(entry["heldSeconds"].is_i64());
            seen.push(entry["sessionId"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(seen, sessions);
    assert_eq!(site.get(&site.dev, "/history?page=9999999999").await.is(200)["data"], json!([]));
    assert_eq!(site.get(&site.dev, "/history?page=0").await.is(422)["code"], "invalid_request");
    site.end().await;
}
