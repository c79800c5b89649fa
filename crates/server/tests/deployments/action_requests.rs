//! Actions that users request for deployments: cancel, pause, resume and retry.

use reqwest::Method;
use serde_json::{Value, json};

use crate::fixture::DeploymentFixture;
use crate::runs::DIAMOND;
use crate::support::database::TestDatabase;

#[tokio::test]
async fn a_cancel_notifies_the_runner_and_waits_for_it() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DIAMOND).await;
    let id = fixture.start().await;
    let job = fixture.take(&fixture.advance(&id).await).await;
    let step = &job.steps[0];
    assert_eq!(fixture.report(&job, &format!("/steps/{step}/start"), json!({})).await.0, 200);
    assert_eq!(fixture.call(Method::POST, &format!("/deployments/{id}/cancel"), json!({})).await.0, 202);
    let (_, beat) = fixture.report(&job, "/heartbeat", json!({})).await;
    assert_eq!(beat["data"]["cancel"], json!({ "graceSeconds": 30, "reason": "canceled_by_user" }));
    fixture.advance(&id).await;
    let record = fixture.deployment(&id).await;
    assert_eq!(record["status"], "canceling");
    assert_eq!(record["waitingOn"], json!([{ "kind": "running_steps", "stage": "build" }]));
    let (status, response) = fixture.report(&job, &format!("/steps/{}/start", job.steps[1]), json!({})).await;
    assert_eq!((status, response["code"].as_str()), (409, Some("job_canceled")));
    let end = json!({ "status": "canceled" });
    assert_eq!(fixture.report(&job, &format!("/steps/{step}/end"), end).await.0, 200);
    assert_eq!(fixture.report(&job, "/complete", json!({})).await.0, 200);
    assert!(fixture.advance(&id).await.ended);
    assert_eq!(fixture.status(&id).await, "canceled");
    fixture.end().await;
}

#[tokio::test]
async fn a_deployment_that_has_not_begun_is_canceled_immediately() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DIAMOND).await;
    let id = fixture.start().await;
    let (_, response) = fixture.call(Method::POST, &format!("/deployments/{id}/cancel"), json!({})).await;
    assert_eq!(response["data"]["status"], "canceled");
    assert!(fixture.advance(&id).await.ended);
    fixture.end().await;
}

#[tokio::test]
async fn canceling_one_stage_leaves_its_sibling_running() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DIAMOND).await;
    let id = fixture.start().await;
    fixture.run_next_job(&id, 0).await;
    let path = format!("/deployments/{id}/stages/left/cancel");
    assert_eq!(fixture.call(Method::POST, &path, Value::Null).await.0, 202);
    fixture.advance(&id).await;
    assert_eq!(fixture.stages(&id).await, ["succeeded", "canceled", "queued", "skipped"]);
    assert!(fixture.run_next_job(&id, 0).await.ended);
    assert_eq!(fixture.status(&id).await, "canceled");
    fixture.end().await;
}

#[tokio::test]
async fn a_pause_takes_effect_before_the_next_stage_and_a_resume_continues() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DIAMOND).await;
    let id = fixture.start().await;
    let job = fixture.take(&fixture.advance(&id).await).await;
    assert_eq!(fixture.call(Method::POST, "/pipelines/shop/stop", json!({ "mode": "pause" })).await.0, 200);
    fixture.run_job(&job, 0).await;
    assert!(fixture.advance(&id).await.dispatch.is_empty());
    let record = fixture.deployment(&id).await;
    assert_eq!(
        (record["status"].as_str(), &record["waitingOn"]),
        (Some("paused"), &json!([{ "kind": "pipeline_stopped" }]))
    );
    let late = fixture.start().await;
    assert!(fixture.advance(&late).await.dispatch.is_empty());
    assert_eq!(fixture.call(Method::POST, "/pipelines/shop/resume", json!({})).await.0, 200);
    assert_eq!(fixture.advance(&id).await.dispatch.len(), 2);
    assert_eq!(fixture.advance(&late).await.dispatch.len(), 1);
    fixture.end().await;
}

#[tokio::test]
async fn a_stop_with_cancel_ends_running_deployments() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DIAMOND).await;
    let id = fixture.start().await;
    fixture.advance(&id).await;
    assert_eq!(fixture.call(Method::POST, "/pipelines/shop/stop", json!({ "mode": "cancel" })).await.0, 200);
    assert!(fixture.advance(&id).await.ended);
    let record = fixture.deployment(&id).await;
    assert_eq!(
        (record["status"].as_str(), record["reason"].as_str()),
        (Some("canceled"), Some("pipeline_stopped"))
    );
    fixture.end().await;
}

#[tokio::test]
async fn a_pipeline_limits_concurrent_deployments() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(
        &pool,
        "concurrency: 1\nstages: { a: { steps: [{ image: a, run: 'true' }] } }",
    )
    .await;
    let (first, second) = (fixture.start().await, fixture.start().await);
    assert_eq!(fixture.advance(&first).await.dispatch.len(), 1);
    assert!(fixture.advance(&second).await.dispatch.is_empty());
    assert_eq!(fixture.status(&second).await, "queued");
    assert!(fixture.run_next_job(&first, 0).await.ended);
    assert_eq!(fixture.advance(&second).await.dispatch.len(), 1);
    fixture.end().await;
}

#[tokio::test]
async fn a_retry_uses_the_newest_definition_if_requested() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture =
        DeploymentFixture::new(&pool, "stages: { a: { steps: [{ image: a, run: 'false' }] } }").await;
    let id = fixture.start().await;
    fixture.run_next_job(&id, 1).await;
    let body = json!({ "definition": "stages: { a: { steps: [{ image: a, run: 'true' }, { image: a, run: 'true' }] } }" });
    assert_eq!(fixture.call(Method::PUT, "/pipelines/shop", body).await.0, 200);
    let path = format!("/deployments/{id}/stages/a/retry");
    assert_eq!(fixture.call(Method::POST, &path, json!({ "inputs": "latest" })).await.0, 202);
    let job = fixture.take(&fixture.advance(&id).await).await;
    assert_eq!(job.steps.len(), 2);
    fixture.end().await;
}
