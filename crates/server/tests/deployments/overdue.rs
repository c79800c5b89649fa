//! A runner that only sends heartbeats: the server ends what is overdue, whatever the runner sends.

use reqwest::Method;
use serde_json::json;
use sqlx::PgPool;

use crate::environments::SHOP;
use crate::yard::{Job, Yard};

const SHORT: &str = "stages: { a: { timeout: 90s, steps: [{ image: a, run: 'true' }] } }";

/// A job whose step runs and never ends.
async fn stuck(yard: &Yard, deployment: &str) -> Job {
    let job = yard.take(&yard.advance(deployment).await).await;
    let start = format!("/steps/{}/start", job.steps[0]);
    assert_eq!(yard.say(&job, &start, json!({})).await.0, 200);
    job
}

/// Lets time pass for a job: everything that was so long ago, or is due in so long. Its runner sends a heartbeat every five
/// seconds, as long as that is answered. How many were.
async fn pass_time(yard: &Yard, pool: &PgPool, job: &Job, deployment: &str, seconds: i64) -> i64 {
    let mut answered = 0;
    for _ in 0..seconds / 5 {
        let jobs = "update jobs set started_at = started_at - interval '5 seconds',
                        lease_expires_at = lease_expires_at - interval '5 seconds',
                        lease_limit = lease_limit - interval '5 seconds'";
        sqlx::query(jobs).execute(pool).await.unwrap();
        let (status, answer) = yard.say(job, "/heartbeat", json!({})).await;
        match status {
            200 => answered += 1,
            _ => assert_eq!((status, answer["code"].as_str()), (410, Some("job_gone")), "{answer}"),
        }
        yard.advance(deployment).await;
    }
    answered
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_job_past_its_deadline_loses_its_lease(pool: PgPool) {
    let yard = Yard::new(&pool, SHORT).await;
    let id = yard.start().await;
    let job = stuck(&yard, &id).await;
    // Its time is 90 s, and 60 s more for what its runner has to do after that.
    assert_eq!(pass_time(&yard, &pool, &job, &id, 120).await, 120 / 5);
    assert_eq!(yard.status(&id).await, "running");
    let (_, beat) = yard.say(&job, "/heartbeat", json!({})).await;
    let left = beat["data"]["leaseSeconds"].as_u64().unwrap();
    assert!(left <= 30, "the runner learns how little is left: {beat}");
    pass_time(&yard, &pool, &job, &id, 35).await;
    assert_eq!(yard.say(&job, "/heartbeat", json!({})).await.0, 410);
    // 30 s after the end of its lease nothing of it runs any more.
    pass_time(&yard, &pool, &job, &id, 30).await;
    let shown = yard.deployment(&id).await;
    assert_eq!((shown["status"].as_str(), shown["reason"].as_str()), (Some("failed"), Some("timed_out")));
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_canceled_job_that_does_not_end_loses_its_lease(pool: PgPool) {
    let yard = Yard::new(&pool, SHORT).await;
    let id = yard.start().await;
    let job = stuck(&yard, &id).await;
    let cancel = format!("/deployments/{id}/cancel");
    assert_eq!(yard.call(Method::POST, &cancel, json!({})).await.0, 202);
    // 30 s of grace, and 60 s more.
    assert_eq!(pass_time(&yard, &pool, &job, &id, 60).await, 60 / 5);
    assert_eq!(yard.status(&id).await, "canceling");
    pass_time(&yard, &pool, &job, &id, 35).await;
    assert_eq!(yard.say(&job, "/heartbeat", json!({})).await.0, 410);
    pass_time(&yard, &pool, &job, &id, 30).await;
    let shown = yard.deployment(&id).await;
    assert_eq!((shown["status"].as_str(), shown["reason"].as_str()), (Some("canceled"), Some("abandoned")));
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_cancel_by_force_shortens_what_is_left(pool: PgPool) {
    let yard = Yard::new(&pool, SHORT).await;
    let id = yard.start().await;
    let job = stuck(&yard, &id).await;
    let cancel = format!("/deployments/{id}/cancel");
    assert_eq!(yard.call(Method::POST, &cancel, json!({})).await.0, 202);
    assert_eq!(yard.call(Method::POST, &cancel, json!({ "force": true })).await.0, 202);
    assert_eq!(pass_time(&yard, &pool, &job, &id, 30).await, 30 / 5);
    pass_time(&yard, &pool, &job, &id, 65).await;
    assert_eq!(yard.status(&id).await, "canceled");
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn one_stage_that_is_canceled_and_does_not_end_loses_its_lease(pool: PgPool) {
    let yard = Yard::new(&pool, SHORT).await;
    let id = yard.start().await;
    let job = stuck(&yard, &id).await;
    assert_eq!(
        yard.call(Method::POST, &format!("/deployments/{id}/stages/a/cancel"), json!(null)).await.0,
        202
    );
    pass_time(&yard, &pool, &job, &id, 125).await;
    assert_eq!(yard.status(&id).await, "canceled");
    yard.end().await;
}

/// The environment of a session whose job never ends passes on to who takes it over, without the runner's help.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn who_takes_an_environment_over_does_not_wait_for_ever_for_a_runner_that_only_sends_heartbeats(
    pool: PgPool,
) {
    let yard = Yard::new(&pool, SHOP).await;
    let mate = yard.server.member(&yard.owner, "acme", "developer").await;
    let (_, old) = yard.claim("qa-1", &yard.owner, "sessions").await;
    let job = stuck(&yard, &old).await;
    let (_, new) = yard.claim("qa-1", &mate, "force-claim").await;
    assert!(yard.advance(&new).await.dispatch.is_empty(), "it waits for the work slot");
    pass_time(&yard, &pool, &job, &old, 125).await;
    assert_eq!(yard.status(&old).await, "canceled");
    assert_eq!(yard.say(&job, "/heartbeat", json!({})).await.0, 410);
    assert_eq!(yard.advance(&new).await.dispatch.len(), 1);
    yard.end().await;
}
