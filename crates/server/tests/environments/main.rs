//! Ephemeral environments over HTTP: claim, hold, deploy, queue, release, take over, expire.
#![expect(clippy::unwrap_used, reason = "a test may")]

mod absence;
mod actions;
mod commands;
mod consistent_reads;
mod contention;
mod deployments;
mod dry_runs;
mod exchange_fixture;
mod fixture;
mod handover;
mod heartbeat;
mod lease;
mod lists;
mod member_removal;
mod metrics;
mod notices;
mod pool;
#[path = "../support/proxy.rs"]
mod proxy;
mod queue;
mod queue_limits;
mod replays;
mod rights;
mod seed_clients;
mod service_accounts;
mod session_limits;
#[path = "../support/mod.rs"]
mod support;
mod sweeping;
mod templates;
mod token_exchange;
mod token_lineage;
mod transfer;
mod trust_policies;
mod wait;
mod watch;
mod whole_events;

use reqwest::Method;
use serde_json::json;
use tokio::task::JoinSet;

use fixture::EnvironmentFixture;

use crate::support::database::TestDatabase;

#[tokio::test]
async fn a_session_is_claimed_deployed_and_released() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let claimed =
        fixture.claim(&fixture.dev, json!({ "commitId": "0123abc", "context": "try it" })).await.is(201);
    let session = claimed["data"]["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(claimed["data"]["lock"]["holder"]["id"], fixture.dev.user.as_str());
    assert_eq!(claimed["data"]["fence"], 1);
    for commit in ["1111111", "2222222", "3333333"] {
        fixture
            .send(
                &fixture.dev,
                Method::POST,
                &format!("/sessions/{session}/deploy"),
                json!({ "commitId": commit }),
            )
            .await
            .is(202);
    }
    let record = fixture.get(&fixture.dev, &format!("/sessions/{session}")).await.is(200);
    let statuses: Vec<&str> = record["data"]["deployments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|d| d["status"].as_str().unwrap())
        .collect();
    // The first has the work slot; of the waiting deployments the newest supersedes the others.
    assert_eq!(statuses, ["queued", "superseded", "superseded", "queued"]);
    assert_eq!(record["data"]["deployments"][1]["reason"], "newer_deployment");
    assert_eq!(record["data"]["lock"]["commitId"], "3333333");
    // Versions before reasons were codes wrote a sentence, which is shown as the code.
    let former = "update deployments set reason = 'a newer deployment' where status = 'superseded'";
    assert_eq!(sqlx::query(former).execute(&pool).await.unwrap().rows_affected(), 2);
    let record = fixture.get(&fixture.dev, &format!("/sessions/{session}")).await.is(200);
    assert_eq!(record["data"]["deployments"][1]["reason"], "newer_deployment");
    fixture.send(&fixture.dev, Method::POST, &format!("/sessions/{session}/renew"), json!({})).await.is(200);
    let record = fixture.get(&fixture.dev, "").await.is(200);
    assert_eq!(record["data"]["lock"]["commitId"], "3333333", "renewing does not change the deployed commit");
    let released = fixture.delete(&fixture.dev, &format!("/sessions/{session}")).await.is(200);
    assert_eq!(released["data"]["status"], "released");
    let statuses: Vec<&str> = released["data"]["deployments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|d| d["status"].as_str().unwrap())
        .collect();
    assert_eq!(statuses, ["canceled", "superseded", "superseded", "canceled"]);
    let free = fixture.get(&fixture.dev, "").await.is(200);
    assert_eq!(free["data"]["lock"], json!({ "status": "free", "queueLength": 0 }));
    fixture.end().await;
}

#[tokio::test]
async fn force_is_shown_in_both_sessions() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let first = fixture.claim(&fixture.dev, json!({})).await.session();
    let forced = fixture
        .send(&fixture.mate, Method::POST, "/force-claim", json!({ "context": "hotfix" }))
        .await
        .is(201);
    assert_eq!(forced["data"]["displaced"]["sessionId"], first.as_str());
    assert_eq!(forced["data"]["fence"], 3, "the end and the grant each raise it");
    let old = fixture.get(&fixture.dev, &format!("/sessions/{first}")).await.is(200);
    assert_eq!(old["data"]["overridden"], true);
    assert_eq!(old["data"]["override"]["reason"], "hotfix");
    assert_eq!(old["data"]["override"]["by"]["id"], fixture.mate.user.as_str());
    for path in ["deploy", "renew"] {
        let refused = fixture
            .send(
                &fixture.dev,
                Method::POST,
                &format!("/sessions/{first}/{path}"),
                json!({ "commitId": "0123abc" }),
            )
            .await;
        if path == "deploy" {
            assert_eq!(refused.is(409)["code"], "session_overridden");
        }
    }
    fixture.end().await;
}

#[tokio::test]
async fn a_refusal_describes_the_lock_and_suggests_actions() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    fixture.claim(&fixture.dev, json!({ "context": "demo for sales" })).await.is(201);
    let refused = fixture.claim(&fixture.mate, json!({})).await.is(409);
    assert_eq!(refused["code"], "environment_locked");
    assert_eq!(refused["lock"]["holder"]["id"], fixture.dev.user.as_str());
    assert!(refused["lock"]["claimedAt"].is_string() && refused["lock"]["expiresAt"].is_string());
    let actions: Vec<&str> = refused["actions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|action| action["action"].as_str().unwrap())
        .collect();
    assert_eq!(actions, ["queue", "request_handover", "force_claim"]);
    assert_eq!(refused["lock"]["context"], "demo for sales");
    let mine = fixture.claim(&fixture.dev, json!({})).await.is(409);
    assert_eq!(mine["code"], "held_by_you");
    let go_on =
        mine["actions"].as_array().unwrap().iter().find(|action| action["action"] == "continue").unwrap();
    let session = format!("sessions/{}", mine["sessionId"].as_str().unwrap());
    assert_eq!((&go_on["method"], &go_on["path"]), (&json!("GET"), &json!(session)));
    let viewer = fixture.server.member(&fixture.owner, "acme", "viewer").await;
    assert_eq!(fixture.claim(&viewer, json!({})).await.is(403)["code"], "forbidden");
    fixture.end().await;
}

/// Concurrent claims: there is one holder, and one fence for each grant.
#[tokio::test]
async fn of_many_concurrent_claims_one_wins() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = std::sync::Arc::new(EnvironmentFixture::new(&pool).await);
    for round in 1..=3 {
        let mut racers = JoinSet::new();
        for _ in 0..40 {
            let fixture = std::sync::Arc::clone(&fixture);
            racers.spawn(async move { fixture.claim(&fixture.dev, json!({})).await });
        }
        let responses = racers.join_all().await;
        let won: Vec<_> = responses.iter().filter(|response| response.status == 201).collect();
        assert_eq!(won.len(), 1);
        assert!(responses.iter().all(|response| matches!(response.status, 201 | 409)), "{round}");
        fixture.delete(&fixture.dev, &format!("/sessions/{}", won[0].session())).await.is(200);
    }
    assert_eq!(fixture.get(&fixture.dev, "/history").await.is(200)["pagination"]["total"], 3);
    std::sync::Arc::into_inner(fixture).unwrap().end().await;
}

#[tokio::test]
async fn the_history_is_paged() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = EnvironmentFixture::new(&pool).await;
    let mut sessions = Vec::new();
    for _ in 0..5 {
        let session = fixture.claim(&fixture.dev, json!({})).await.session();
        fixture.delete(&fixture.dev, &format!("/sessions/{session}")).await.is(200);
        sessions.push(session);
    }
    sessions.reverse();
    let mut listed_sessions = Vec::new();
    for page in 1..=3 {
        let record = fixture.get(&fixture.dev, &format!("/history?page={page}&limit=2")).await.is(200);
        assert_eq!(record["pagination"], json!({ "page": page, "limit": 2, "total": 5, "totalPages": 3 }));
        for entry in record["data"].as_array().unwrap() {
            assert!(entry["heldSeconds"].is_i64());
            listed_sessions.push(entry["sessionId"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(listed_sessions, sessions);
    assert_eq!(fixture.get(&fixture.dev, "/history?page=9999999999").await.is(200)["data"], json!([]));
    assert_eq!(fixture.get(&fixture.dev, "/history?page=0").await.is(422)["code"], "invalid_request");
    fixture.end().await;
}
