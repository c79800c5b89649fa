//! Teardowns that do not succeed: how the environment shows it, how they are repeated, and how they are given
//! up.

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::environments::SHOP;
use crate::fixture::DeploymentFixture;
use crate::support::Caller;
use crate::support::database::TestDatabase;

const REVIEW: &str = r#"
ephemeralEnvironments:
  "pr-*": { max: 1, stages: [deploy], onRelease: [teardown] }
stages:
  deploy: { steps: [{ image: a, run: "true" }] }
  teardown: { steps: [{ image: a, run: "true" }] }
"#;

fn environment(fixture: &DeploymentFixture, name: &str) -> String {
    format!("/pipelines/{}/ephemeral-environments/{name}", fixture.pipeline)
}

async fn environment_record(fixture: &DeploymentFixture, name: &str) -> Value {
    let (status, environment_record) =
        fixture.call(Method::GET, &environment(fixture, name), Value::Null).await;
    assert_eq!(status, 200, "{environment_record}");
    environment_record["data"].clone()
}

/// A session deploys, is released, and its teardown fails.
async fn failed_teardown(fixture: &DeploymentFixture, name: &str, by: &Caller) -> String {
    let (session, first) = fixture.claim(name, by, "sessions").await;
    assert!(fixture.run_next_job(&first, 0).await.ended);
    fixture.release(name, by, &session).await;
    let teardown = fixture.teardown().await;
    assert!(fixture.run_next_job(&teardown, 1).await.ended);
    assert_eq!(fixture.status(&teardown).await, "failed");
    teardown
}

/// Makes the sweeper's next try due and runs the sweeper.
async fn sweep(fixture: &DeploymentFixture, pool: &PgPool) -> usize {
    let due =
        "update environments set cleanup_retry_at = clock_timestamp() where cleanup_retry_at is not null";
    sqlx::query(due).execute(pool).await.unwrap();
    let store = &fixture.server.server.app.store;
    let mut started = 0;
    for due in store.due_cleanups(10).await.unwrap() {
        started += usize::from(store.repeat_due_cleanup(due).await.unwrap());
    }
    started
}

/// Returns the seconds between the failure and the next try of the sweeper, or `None` without a next try.
async fn next_try(pool: &PgPool) -> Option<i64> {
    let query = "select extract(epoch from cleanup_retry_at - cleanup_failed_at)::bigint from environments
                 where cleanup_failed_at is not null";
    sqlx::query_scalar(query).fetch_one(pool).await.unwrap()
}

#[tokio::test]
async fn a_failed_teardown_is_shown_and_does_not_block_claims() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let teardown = failed_teardown(&fixture, "qa-1", &fixture.owner).await;
    let failed = environment_record(&fixture, "qa-1").await["cleanupFailed"].clone();
    assert_eq!((&failed["deploymentId"], &failed["reason"]), (&json!(teardown), &json!("step_failed")));
    assert_eq!(failed["at"], fixture.deployment(&teardown).await["endedAt"]);
    // It is also in the response to a claim on the fast path, and in the session.
    let path = format!("{}/sessions", environment(&fixture, "qa-1"));
    let (status, claimed) = fixture.call(Method::POST, &path, json!({})).await;
    assert_eq!((status, &claimed["data"]["cleanupFailed"]), (201, &failed), "{claimed}");
    let session = claimed["data"]["sessionId"].as_str().unwrap();
    let (_, read) = fixture.call(Method::GET, &format!("{path}/{session}"), Value::Null).await;
    assert_eq!(read["data"]["cleanupFailed"], failed);
    // The teardown runs at the end of a session that deployed nothing, too.
    fixture.release("qa-1", &fixture.owner, session).await;
    let again = fixture.teardown().await;
    assert_ne!(again, teardown);
    assert!(fixture.run_next_job(&again, 0).await.ended);
    assert_eq!(environment_record(&fixture, "qa-1").await["cleanupFailed"], Value::Null);
    fixture.end().await;
}

#[tokio::test]
async fn a_canceled_teardown_is_shown_like_a_failed_one() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let (session, first) = fixture.claim("qa-1", &fixture.owner, "sessions").await;
    assert!(fixture.run_next_job(&first, 0).await.ended);
    fixture.release("qa-1", &fixture.owner, &session).await;
    let teardown = fixture.teardown().await;
    let path = format!("/deployments/{teardown}/cancel");
    assert_eq!(fixture.call(Method::POST, &path, json!({})).await.0, 202);
    let failed = environment_record(&fixture, "qa-1").await["cleanupFailed"].clone();
    assert_eq!((&failed["deploymentId"], &failed["reason"]), (&json!(teardown), &json!("canceled_by_user")));
    fixture.end().await;
}

#[tokio::test]
async fn a_maintainer_repeats_a_teardown() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let teardown = failed_teardown(&fixture, "qa-1", &fixture.owner).await;
    let path = format!("{}/cleanup", environment(&fixture, "qa-1"));
    let (status, made) = fixture.call(Method::POST, &path, json!({ "commitId": "fedcba9" })).await;
    assert_eq!(status, 202, "{made}");
    let again = made["data"]["id"].as_str().unwrap();
    assert_ne!(again, teardown);
    assert_eq!(
        (&made["data"]["purpose"], &made["data"]["commitId"]),
        (&json!("teardown"), &json!("fedcba9"))
    );
    let (status, busy) = fixture.call(Method::POST, &path, json!({})).await;
    assert_eq!((status, busy["deploymentId"].as_str()), (409, Some(again)), "{busy}");
    assert!(fixture.run_next_job(again, 0).await.ended);
    assert_eq!(environment_record(&fixture, "qa-1").await["cleanupFailed"], Value::Null);
    let (status, nothing) = fixture.call(Method::POST, &path, json!({})).await;
    assert_eq!((status, nothing["code"].as_str()), (409, Some("invalid_state")));
    fixture.end().await;
}

#[tokio::test]
async fn the_sweeper_repeats_a_teardown_three_times() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    failed_teardown(&fixture, "qa-1", &fixture.owner).await;
    assert_eq!(sweep_early(&fixture).await, 0, "the next try is not due yet");
    for delay in [300, 3_600, 86_400] {
        assert_eq!(next_try(&pool).await, Some(delay));
        assert_eq!(sweep(&fixture, &pool).await, 1);
        let teardown = fixture.teardown().await;
        assert!(fixture.run_next_job(&teardown, 1).await.ended);
    }
    assert_eq!(next_try(&pool).await, None);
    assert_eq!(sweep(&fixture, &pool).await, 0);
    assert!(
        environment_record(&fixture, "qa-1").await["cleanupFailed"].is_object(),
        "it stays until a teardown succeeds"
    );
    fixture.end().await;
}

async fn sweep_early(fixture: &DeploymentFixture) -> usize {
    fixture.server.server.app.store.due_cleanups(10).await.unwrap().len()
}

#[tokio::test]
async fn a_teardown_is_not_repeated_in_an_environment_that_is_in_use() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    failed_teardown(&fixture, "qa-1", &fixture.owner).await;
    let mate = fixture.server.member(&fixture.owner, "acme", "developer").await;
    let (session, deployment) = fixture.claim("qa-1", &mate, "sessions").await;
    let path = format!("{}/cleanup", environment(&fixture, "qa-1"));
    let (status, busy) = fixture.call(Method::POST, &path, json!({})).await;
    assert_eq!((status, busy["deploymentId"].as_str()), (409, Some(deployment.as_str())), "{busy}");
    assert_eq!(sweep(&fixture, &pool).await, 0, "the slot is taken");
    assert!(fixture.run_next_job(&deployment, 0).await.ended);
    let (status, in_use) = fixture.call(Method::POST, &path, json!({})).await;
    assert_eq!((status, in_use["sessionId"].as_str()), (409, Some(session.as_str())), "{in_use}");
    assert_eq!(sweep(&fixture, &pool).await, 0, "a teardown would destroy the deployment");
    // A session that takes over keeps what is deployed: there is no teardown either.
    let taker = fixture.server.member(&fixture.owner, "acme", "developer").await;
    let claim = format!("/organizations/acme{}/force-claim", environment(&fixture, "qa-1"));
    let (status, taken) = fixture.server.json(Method::POST, &claim, &taker.token, Some(json!({}))).await;
    assert_eq!(status, 201, "{taken}");
    assert_eq!(fixture.call(Method::POST, &path, json!({})).await.0, 409);
    // The teardown at the end of the session covers both.
    fixture.release("qa-1", &taker, taken["data"]["sessionId"].as_str().unwrap()).await;
    let own = fixture.teardown().await;
    assert!(fixture.run_next_job(&own, 0).await.ended);
    assert_eq!(environment_record(&fixture, "qa-1").await["cleanupFailed"], Value::Null);
    fixture.end().await;
}

#[tokio::test]
async fn a_maintainer_gives_up_a_teardown_with_a_reason() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let teardown = failed_teardown(&fixture, "qa-1", &fixture.owner).await;
    let path = format!("{}/cleanup", environment(&fixture, "qa-1"));
    assert_eq!(fixture.call(Method::DELETE, &path, json!({})).await.0, 422, "a reason is required");
    let (status, clean) = fixture.call(Method::DELETE, &path, json!({ "reason": "removed by hand" })).await;
    assert_eq!((status, &clean["data"]["cleanupFailed"]), (200, &Value::Null), "{clean}");
    assert_eq!(fixture.call(Method::DELETE, &path, json!({ "reason": "twice" })).await.0, 409);
    assert_eq!(sweep(&fixture, &pool).await, 0);
    let event = fixture.event("environment.cleanup_given_up").await;
    assert_eq!(event["data"]["reason"], "removed by hand", "{event}");
    assert_eq!(event["data"]["after"]["deploymentId"], teardown.as_str());
    assert_eq!(event["data"]["actor"]["id"], fixture.owner.user.as_str());
    // After giving up, a session that deploys nothing has no teardown.
    let claim = format!("{}/sessions", environment(&fixture, "qa-1"));
    let (_, made) = fixture.call(Method::POST, &claim, json!({})).await;
    fixture.release("qa-1", &fixture.owner, made["data"]["sessionId"].as_str().unwrap()).await;
    assert_eq!(fixture.teardown().await, teardown, "there is no other teardown");
    fixture.end().await;
}

#[tokio::test]
async fn an_environment_of_a_template_leaves_the_list_after_the_last_try() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, REVIEW).await;
    failed_teardown(&fixture, "pr-1", &fixture.owner).await;
    let list = format!("/pipelines/{}/ephemeral-environments", fixture.pipeline);
    let names = async || {
        let (_, response) = fixture.call(Method::GET, &list, Value::Null).await;
        let names = response["data"].as_array().unwrap().iter();
        names.map(|one| one["envName"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let second = format!("{}/sessions", environment(&fixture, "pr-2"));
    assert_eq!(names().await, ["pr-1"]);
    let (status, full) = fixture.call(Method::POST, &second, json!({})).await;
    assert_eq!((status, full["code"].as_str()), (409, Some("template_full")), "{full}");
    // The same environment can be claimed although the template is at its maximum.
    let first = format!("{}/sessions", environment(&fixture, "pr-1"));
    let (status, claimed) = fixture.call(Method::POST, &first, json!({})).await;
    assert_eq!(status, 201, "{claimed}");
    assert!(claimed["data"]["cleanupFailed"].is_object());
    fixture.release("pr-1", &fixture.owner, claimed["data"]["sessionId"].as_str().unwrap()).await;
    let own = fixture.teardown().await;
    assert!(fixture.run_next_job(&own, 1).await.ended);
    for _ in 0..3 {
        assert_eq!(names().await, ["pr-1"]);
        assert_eq!(sweep(&fixture, &pool).await, 1);
        let teardown = fixture.teardown().await;
        assert!(fixture.run_next_job(&teardown, 1).await.ended);
    }
    assert_eq!(names().await, Vec::<String>::new());
    let (status, claimed) = fixture.call(Method::POST, &second, json!({})).await;
    assert_eq!(status, 201, "{claimed}");
    fixture.end().await;
}
