//! The watchdog finds, wakes and counts deployments that the engine has not advanced. It ignores those that
//! wait for something else.

use greenroom_domain::id::DeploymentId;
use reqwest::Method;
use serde_json::json;
use sqlx::PgPool;

use crate::fixture::DeploymentFixture;
use crate::support::database::TestDatabase;

const ONE_STAGE: &str = "stages: { a: { steps: [{ image: a, run: 'true' }] } }";

/// Runs the watchdog once over all deployments, in small batches. Returns how many have waited for over a
/// minute.
async fn run_watchdog(fixture: &DeploymentFixture) -> i64 {
    let store = &fixture.server.server.app.store;
    let mut at = None;
    loop {
        let batch = store.scan_engine_waits(at, 2).await.unwrap();
        match batch.next {
            Some(next) => at = Some(next),
            None => return batch.overdue,
        }
    }
}

async fn waiting(pool: &PgPool) -> Vec<String> {
    let ids = "select 'dep_' || deployment_id::text from engine_waits order by deployment_id";
    sqlx::query_scalar(ids).fetch_all(pool).await.unwrap()
}

async fn two_minutes_pass(pool: &PgPool) {
    let earlier = "update engine_waits set since = since - interval '2 minutes', wake_at = wake_at - interval '2 minutes'";
    sqlx::query(earlier).execute(pool).await.unwrap();
}

async fn woken(fixture: &DeploymentFixture) -> Vec<DeploymentId> {
    let woken = fixture.server.server.app.store.wake_overdue(100).await.unwrap();
    assert!(
        woken.iter().all(|one| one.organization_id == fixture.organization() && one.waited_seconds >= 60)
    );
    woken.iter().map(|one| one.deployment_id).collect()
}

#[tokio::test]
async fn a_stuck_deployment_is_woken_again_with_backoff() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, ONE_STAGE).await;
    let ids = [fixture.start().await, fixture.start().await, fixture.start().await];
    assert_eq!(run_watchdog(&fixture).await, 0);
    assert_eq!(waiting(&pool).await, ids);
    assert_eq!(woken(&fixture).await, []);
    sqlx::query("delete from wakes").execute(&pool).await.unwrap();
    fixture.advance(&ids[1]).await;
    two_minutes_pass(&pool).await;
    assert_eq!(run_watchdog(&fixture).await, 2);
    assert_eq!(waiting(&pool).await, [ids[0].clone(), ids[2].clone()]);
    let mut again = woken(&fixture).await;
    again.sort();
    assert_eq!(again, [ids[0].parse().unwrap(), ids[2].parse().unwrap()]);
    let outbox: i64 = sqlx::query_scalar("select count(*) from wakes").fetch_one(&pool).await.unwrap();
    assert_eq!(outbox, 2);
    // The watchdog of another daemon runs a moment later.
    assert_eq!(woken(&fixture).await, []);
    two_minutes_pass(&pool).await;
    assert_eq!(woken(&fixture).await.len(), 2);
    two_minutes_pass(&pool).await;
    assert_eq!(woken(&fixture).await.len(), 2);
    two_minutes_pass(&pool).await;
    assert_eq!(woken(&fixture).await, [], "the pause has grown to four minutes");
    fixture.advance(&ids[0]).await;
    fixture.advance(&ids[2]).await;
    assert_eq!(run_watchdog(&fixture).await, 0);
    assert_eq!(waiting(&pool).await, [""; 0]);
    fixture.end().await;
}

#[tokio::test]
async fn a_deployment_whose_job_has_ended_waits_for_the_engine() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, ONE_STAGE).await;
    let id = fixture.start().await;
    let job = fixture.take(&fixture.advance(&id).await).await;
    run_watchdog(&fixture).await;
    assert_eq!(waiting(&pool).await, [""; 0], "its runner is running it");
    fixture.run_job(&job, 0).await;
    run_watchdog(&fixture).await;
    assert_eq!(waiting(&pool).await, [id.as_str()]);
    assert!(fixture.advance(&id).await.ended);
    run_watchdog(&fixture).await;
    assert_eq!(waiting(&pool).await, [""; 0]);
    fixture.end().await;
}

#[tokio::test]
async fn deployments_that_wait_for_something_else_are_not_woken() {
    let (_database, pool) = TestDatabase::create().await;
    let definition = format!("concurrency: 1\nephemeralEnvironments: {{ qa-1: {{}} }}\n{ONE_STAGE}");
    let fixture = DeploymentFixture::new(&pool, &definition).await;
    let owner = fixture.owner.clone();
    let (session, first) = fixture.claim("qa-1", &owner, "sessions").await;
    // It waits for the work slot.
    let path = format!("/pipelines/shop/ephemeral-environments/qa-1/sessions/{session}/deploy");
    assert_eq!(fixture.call(Method::POST, &path, json!({ "commitId": "0123abc" })).await.0, 202);
    let second = fixture.start().await;
    // It waits for the second one to end. Sessions do not count.
    let third = fixture.start().await;
    run_watchdog(&fixture).await;
    assert_eq!(waiting(&pool).await, [first.clone(), second.clone()]);
    fixture.advance(&first).await;
    run_watchdog(&fixture).await;
    assert_eq!(waiting(&pool).await, [second.as_str()]);
    assert_eq!(fixture.call(Method::POST, "/pipelines/shop/stop", json!({ "mode": "drain" })).await.0, 200);
    run_watchdog(&fixture).await;
    assert_eq!(waiting(&pool).await, [""; 0]);
    // Archiving the pipeline cancels waiting deployments, and the engine has to end them.
    assert_eq!(fixture.call(Method::DELETE, "/pipelines/shop", serde_json::Value::Null).await.0, 200);
    run_watchdog(&fixture).await;
    assert!(waiting(&pool).await.contains(&third));
    fixture.end().await;
}
