//! Deployments that the engine has not taken up are found, woken again and counted; those that wait for something else are
//! left alone.

use greenroom_domain::id::DeploymentId;
use reqwest::Method;
use serde_json::json;
use sqlx::PgPool;

use crate::yard::Yard;

const ONE_STAGE: &str = "stages: { a: { steps: [{ image: a, run: 'true' }] } }";

/// Looks at everything once, in small batches. Answers how many have waited for over a minute.
async fn look(yard: &Yard) -> i64 {
    let store = &yard.server.server.app.store;
    let mut at = None;
    loop {
        let looked = store.look_for_engine_waits(at, 2).await.unwrap();
        match looked.next {
            Some(next) => at = Some(next),
            None => return looked.overdue,
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

async fn woken(yard: &Yard) -> Vec<DeploymentId> {
    let woken = yard.server.server.app.store.wake_overdue(100).await.unwrap();
    assert!(woken.iter().all(|one| one.organization_id == yard.organization() && one.waited_seconds >= 60));
    woken.iter().map(|one| one.deployment_id).collect()
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn one_that_nobody_takes_up_is_woken_again_with_growing_pauses(pool: PgPool) {
    let yard = Yard::new(&pool, ONE_STAGE).await;
    let ids = [yard.start().await, yard.start().await, yard.start().await];
    assert_eq!(look(&yard).await, 0);
    assert_eq!(waiting(&pool).await, ids);
    assert_eq!(woken(&yard).await, []);
    sqlx::query("delete from wakes").execute(&pool).await.unwrap();
    yard.advance(&ids[1]).await;
    two_minutes_pass(&pool).await;
    assert_eq!(look(&yard).await, 2);
    assert_eq!(waiting(&pool).await, [ids[0].clone(), ids[2].clone()]);
    let mut again = woken(&yard).await;
    again.sort();
    assert_eq!(again, [ids[0].parse().unwrap(), ids[2].parse().unwrap()]);
    let outbox: i64 = sqlx::query_scalar("select count(*) from wakes").fetch_one(&pool).await.unwrap();
    assert_eq!(outbox, 2);
    // Another daemon's watchdog comes a moment later.
    assert_eq!(woken(&yard).await, []);
    two_minutes_pass(&pool).await;
    assert_eq!(woken(&yard).await.len(), 2);
    two_minutes_pass(&pool).await;
    assert_eq!(woken(&yard).await.len(), 2);
    two_minutes_pass(&pool).await;
    assert_eq!(woken(&yard).await, [], "the pause has grown to four minutes");
    yard.advance(&ids[0]).await;
    yard.advance(&ids[2]).await;
    assert_eq!(look(&yard).await, 0);
    assert_eq!(waiting(&pool).await, [""; 0]);
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn one_whose_job_has_ended_unnoticed_waits_for_the_engine(pool: PgPool) {
    let yard = Yard::new(&pool, ONE_STAGE).await;
    let id = yard.start().await;
    let job = yard.take(&yard.advance(&id).await).await;
    look(&yard).await;
    assert_eq!(waiting(&pool).await, [""; 0], "its runner is at work");
    yard.carry_out(&job, 0).await;
    look(&yard).await;
    assert_eq!(waiting(&pool).await, [id.as_str()]);
    assert!(yard.advance(&id).await.ended);
    look(&yard).await;
    assert_eq!(waiting(&pool).await, [""; 0]);
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn those_that_wait_for_something_else_are_left_alone(pool: PgPool) {
    let definition = format!("concurrency: 2\nephemeralEnvironments: {{ qa-1: {{}} }}\n{ONE_STAGE}");
    let yard = Yard::new(&pool, &definition).await;
    let owner = yard.owner.clone();
    let (session, first) = yard.claim("qa-1", &owner, "sessions").await;
    // It waits for the work slot.
    let path = format!("/pipelines/shop/ephemeral-environments/qa-1/sessions/{session}/deploy");
    assert_eq!(yard.call(Method::POST, &path, json!({ "commitId": "0123abc" })).await.0, 202);
    let second = yard.start().await;
    // It waits for one of the others to end.
    let third = yard.start().await;
    look(&yard).await;
    assert_eq!(waiting(&pool).await, [first.clone(), second.clone()]);
    yard.advance(&first).await;
    look(&yard).await;
    assert_eq!(waiting(&pool).await, [second.as_str()]);
    assert_eq!(yard.call(Method::POST, "/pipelines/shop/stop", json!({ "mode": "drain" })).await.0, 200);
    look(&yard).await;
    assert_eq!(waiting(&pool).await, [""; 0]);
    // Archiving it cancels what waits, and the engine has to end that.
    assert_eq!(yard.call(Method::DELETE, "/pipelines/shop", serde_json::Value::Null).await.0, 200);
    look(&yard).await;
    assert!(waiting(&pool).await.contains(&third));
    yard.end().await;
}
