//! A runner that only sends heartbeats: the server ends what is overdue, whatever the runner sends.

use reqwest::Method;
use serde_json::json;
use sqlx::PgPool;

use crate::environments::SHOP;
use crate::fixture::{DeploymentFixture, Job};
use crate::support::database::TestDatabase;

const SHORT: &str = "stages: { a: { timeout: 90s, steps: [{ image: a, run: 'true' }] } }";

/// A job whose step runs and never ends.
async fn stuck(fixture: &DeploymentFixture, deployment: &str) -> Job {
    let job = fixture.take(&fixture.advance(deployment).await).await;
    let start = format!("/steps/{}/start", job.steps[0]);
    assert_eq!(fixture.report(&job, &start, json!({})).await.0, 200);
    job
}

/// Simulates the passing of time for a job: moves its timestamps into the past, with a heartbeat of its
/// runner every five seconds until one is rejected. Returns how many were accepted.
async fn pass_time(
    fixture: &DeploymentFixture,
    pool: &PgPool,
    job: &Job,
    deployment: &str,
    seconds: i64,
) -> i64 {
    let mut accepted = 0;
    for _ in 0..seconds / 5 {
        let jobs = "update jobs set started_at = started_at - interval '5 seconds',
                        lease_expires_at = lease_expires_at - interval '5 seconds',
                        lease_limit = lease_limit - interval '5 seconds'";
        sqlx::query(jobs).execute(pool).await.unwrap();
        let (status, response) = fixture.report(job, "/heartbeat", json!({})).await;
        match status {
            200 => accepted += 1,
            _ => assert_eq!((status, response["code"].as_str()), (410, Some("job_gone")), "{response}"),
        }
        fixture.advance(deployment).await;
    }
    accepted
}

#[tokio::test]
async fn a_job_past_its_deadline_loses_its_lease() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHORT).await;
    let id = fixture.start().await;
    let job = stuck(&fixture, &id).await;
    // Its timeout is 90 s, and its runner has 60 s more for what follows.
    assert_eq!(pass_time(&fixture, &pool, &job, &id, 120).await, 120 / 5);
    assert_eq!(fixture.status(&id).await, "running");
    let (_, beat) = fixture.report(&job, "/heartbeat", json!({})).await;
    let left = beat["data"]["leaseSeconds"].as_u64().unwrap();
    assert!(left <= 30, "the response has the remaining time: {beat}");
    pass_time(&fixture, &pool, &job, &id, 35).await;
    assert_eq!(fixture.report(&job, "/heartbeat", json!({})).await.0, 410);
    // 30 s after the end of its lease the step is guaranteed to be dead.
    pass_time(&fixture, &pool, &job, &id, 30).await;
    let record = fixture.deployment(&id).await;
    assert_eq!((record["status"].as_str(), record["reason"].as_str()), (Some("failed"), Some("timed_out")));
    fixture.end().await;
}

#[tokio::test]
async fn a_canceled_job_that_does_not_end_loses_its_lease() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHORT).await;
    let id = fixture.start().await;
    let job = stuck(&fixture, &id).await;
    let cancel = format!("/deployments/{id}/cancel");
    assert_eq!(fixture.call(Method::POST, &cancel, json!({})).await.0, 202);
    // 30 s of grace, and 60 s more.
    assert_eq!(pass_time(&fixture, &pool, &job, &id, 60).await, 60 / 5);
    assert_eq!(fixture.status(&id).await, "canceling");
    pass_time(&fixture, &pool, &job, &id, 35).await;
    assert_eq!(fixture.report(&job, "/heartbeat", json!({})).await.0, 410);
    pass_time(&fixture, &pool, &job, &id, 30).await;
    let record = fixture.deployment(&id).await;
    assert_eq!((record["status"].as_str(), record["reason"].as_str()), (Some("canceled"), Some("abandoned")));
    fixture.end().await;
}

#[tokio::test]
async fn a_forced_cancel_shortens_the_remaining_time() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHORT).await;
    let id = fixture.start().await;
    let job = stuck(&fixture, &id).await;
    let cancel = format!("/deployments/{id}/cancel");
    assert_eq!(fixture.call(Method::POST, &cancel, json!({})).await.0, 202);
    assert_eq!(fixture.call(Method::POST, &cancel, json!({ "force": true })).await.0, 202);
    assert_eq!(pass_time(&fixture, &pool, &job, &id, 30).await, 30 / 5);
    pass_time(&fixture, &pool, &job, &id, 65).await;
    assert_eq!(fixture.status(&id).await, "canceled");
    fixture.end().await;
}

#[tokio::test]
async fn a_canceled_stage_that_does_not_end_loses_its_lease() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHORT).await;
    let id = fixture.start().await;
    let job = stuck(&fixture, &id).await;
    assert_eq!(
        fixture.call(Method::POST, &format!("/deployments/{id}/stages/a/cancel"), json!(null)).await.0,
        202
    );
    pass_time(&fixture, &pool, &job, &id, 125).await;
    assert_eq!(fixture.status(&id).await, "canceled");
    fixture.end().await;
}

/// A session that takes over gets the work slot of a job that never ends, without the help of its runner.
#[tokio::test]
async fn taking_over_an_environment_does_not_wait_forever_for_a_runner_that_only_sends_heartbeats() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let mate = fixture.server.member(&fixture.owner, "acme", "developer").await;
    let (_, old) = fixture.claim("qa-1", &fixture.owner, "sessions").await;
    let job = stuck(&fixture, &old).await;
    let (_, new) = fixture.claim("qa-1", &mate, "force-claim").await;
    assert!(fixture.advance(&new).await.dispatch.is_empty(), "it waits for the work slot");
    pass_time(&fixture, &pool, &job, &old, 125).await;
    assert_eq!(fixture.status(&old).await, "canceled");
    assert_eq!(fixture.report(&job, "/heartbeat", json!({})).await.0, 410);
    assert_eq!(fixture.advance(&new).await.dispatch.len(), 1);
    fixture.end().await;
}
