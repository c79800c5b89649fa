//! What people ask of deployments: to cancel, to hold, to go on.

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::runs::DIAMOND;
use crate::yard::Yard;

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_cancel_asks_the_runner_and_waits_for_it(pool: PgPool) {
    let yard = Yard::new(&pool, DIAMOND).await;
    let id = yard.start().await;
    let job = yard.take(&yard.advance(&id).await).await;
    let step = &job.steps[0];
    assert_eq!(yard.say(&job, &format!("/steps/{step}/start"), json!({})).await.0, 200);
    assert_eq!(yard.call(Method::POST, &format!("/deployments/{id}/cancel"), json!({})).await.0, 202);
    let (_, beat) = yard.say(&job, "/heartbeat", json!({})).await;
    assert_eq!(beat["data"]["cancel"], json!({ "graceSeconds": 30, "reason": "canceled_by_user" }));
    yard.advance(&id).await;
    let shown = yard.deployment(&id).await;
    assert_eq!(shown["status"], "canceling");
    assert_eq!(shown["waitingOn"], json!([{ "kind": "running_steps", "stage": "build" }]));
    let (status, answer) = yard.say(&job, &format!("/steps/{}/start", job.steps[1]), json!({})).await;
    assert_eq!((status, answer["code"].as_str()), (409, Some("job_canceled")));
    let end = json!({ "status": "canceled" });
    assert_eq!(yard.say(&job, &format!("/steps/{step}/end"), end).await.0, 200);
    assert_eq!(yard.say(&job, "/complete", json!({})).await.0, 200);
    assert!(yard.advance(&id).await.ended);
    assert_eq!(yard.status(&id).await, "canceled");
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn what_has_not_begun_is_canceled_at_once(pool: PgPool) {
    let yard = Yard::new(&pool, DIAMOND).await;
    let id = yard.start().await;
    let (_, answer) = yard.call(Method::POST, &format!("/deployments/{id}/cancel"), json!({})).await;
    assert_eq!(answer["data"]["status"], "canceled");
    assert!(yard.advance(&id).await.ended);
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn one_stage_ends_and_its_sibling_goes_on(pool: PgPool) {
    let yard = Yard::new(&pool, DIAMOND).await;
    let id = yard.start().await;
    yard.pass(&id, 0).await;
    let path = format!("/deployments/{id}/stages/left/cancel");
    assert_eq!(yard.call(Method::POST, &path, Value::Null).await.0, 202);
    yard.advance(&id).await;
    assert_eq!(yard.stages(&id).await, ["succeeded", "canceled", "queued", "skipped"]);
    assert!(yard.pass(&id, 0).await.ended);
    assert_eq!(yard.status(&id).await, "canceled");
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_pause_holds_before_the_next_stage_and_a_resume_lets_go(pool: PgPool) {
    let yard = Yard::new(&pool, DIAMOND).await;
    let id = yard.start().await;
    let job = yard.take(&yard.advance(&id).await).await;
    assert_eq!(yard.call(Method::POST, "/pipelines/shop/stop", json!({ "mode": "pause" })).await.0, 200);
    yard.carry_out(&job, 0).await;
    assert!(yard.advance(&id).await.dispatch.is_empty());
    let shown = yard.deployment(&id).await;
    assert_eq!(
        (shown["status"].as_str(), &shown["waitingOn"]),
        (Some("paused"), &json!([{ "kind": "pipeline_stopped" }]))
    );
    let late = yard.start().await;
    assert!(yard.advance(&late).await.dispatch.is_empty());
    assert_eq!(yard.call(Method::POST, "/pipelines/shop/resume", json!({})).await.0, 200);
    assert_eq!(yard.advance(&id).await.dispatch.len(), 2);
    assert_eq!(yard.advance(&late).await.dispatch.len(), 1);
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn a_stop_that_cancels_ends_what_runs(pool: PgPool) {
    let yard = Yard::new(&pool, DIAMOND).await;
    let id = yard.start().await;
    yard.advance(&id).await;
    assert_eq!(yard.call(Method::POST, "/pipelines/shop/stop", json!({ "mode": "cancel" })).await.0, 200);
    assert!(yard.advance(&id).await.ended);
    let shown = yard.deployment(&id).await;
    assert_eq!(
        (shown["status"].as_str(), shown["reason"].as_str()),
        (Some("canceled"), Some("pipeline_stopped"))
    );
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn no_more_run_at_once_than_the_pipeline_lets(pool: PgPool) {
    let yard =
        Yard::new(&pool, "concurrency: 1\nstages: { a: { steps: [{ image: a, run: 'true' }] } }").await;
    let (first, second) = (yard.start().await, yard.start().await);
    assert_eq!(yard.advance(&first).await.dispatch.len(), 1);
    assert!(yard.advance(&second).await.dispatch.is_empty());
    assert_eq!(yard.status(&second).await, "queued");
    assert!(yard.pass(&first, 0).await.ended);
    assert_eq!(yard.advance(&second).await.dispatch.len(), 1);
    yard.end().await;
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn the_newest_definition_is_taken_if_asked_for(pool: PgPool) {
    let yard = Yard::new(&pool, "stages: { a: { steps: [{ image: a, run: 'false' }] } }").await;
    let id = yard.start().await;
    yard.pass(&id, 1).await;
    let body = json!({ "definition": "stages: { a: { steps: [{ image: a, run: 'true' }, { image: a, run: 'true' }] } }" });
    assert_eq!(yard.call(Method::PUT, "/pipelines/shop", body).await.0, 200);
    let path = format!("/deployments/{id}/stages/a/retry");
    assert_eq!(yard.call(Method::POST, &path, json!({ "inputs": "latest" })).await.0, 202);
    let job = yard.take(&yard.advance(&id).await).await;
    assert_eq!(job.steps.len(), 2);
    yard.end().await;
}
