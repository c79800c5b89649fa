//! Wake-ups are never lost, and never start a second workflow.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::join_all;
use temporalio_client::{WorkflowExecutionStatus, WorkflowListOptions};
use temporalio_common::protos::temporal::api::enums::v1::EventType;

use crate::fixture::{EngineFixture, count, until};
use crate::scripted_store::State;

#[tokio::test(flavor = "multi_thread")]
async fn a_wake_up_during_an_advance_causes_another_advance() {
    let fixture = EngineFixture::with_worker().await;
    let deployment = fixture.store.deployment(1);
    let job = fixture.store.job(deployment, 0);
    fixture.store.block().await;
    fixture.wake(deployment).await;
    fixture.until_advanced(deployment, 1).await;
    // The pending result lists the job as waiting. Then the job is done, and only the wake-up signals that.
    fixture.store.set(deployment, job, State::Done);
    fixture.wake(deployment).await;
    fixture.store.unblock();
    fixture.until_completed(deployment).await;
    fixture.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_concurrent_wake_ups_start_one_workflow() {
    let fixture = EngineFixture::with_worker().await;
    let deployment = fixture.store.deployment(1);
    join_all((0..50).map(|_| fixture.wake(deployment))).await;
    fixture.run_one_job(deployment).await;
    fixture.until_completed(deployment).await;
    let runs = runs(&fixture).await;
    assert_eq!(runs.len(), 1, "{runs:?}");
    let events = fixture.history(deployment).await;
    assert_eq!(count(&events, EventType::WorkflowExecutionSignaled), 50);
    assert!(count(&events, EventType::WorkflowTaskCompleted) < 50, "several signals are handled by one task");
    fixture.keep_history(deployment, "fifty_wakes").await;
    fixture.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wake_up_after_the_end_starts_another_run() {
    let fixture = EngineFixture::with_worker().await;
    let deployment = fixture.store.deployment(0);
    for times in 1..=2 {
        fixture.wake(deployment).await;
        fixture.until_advanced(deployment, times).await;
        fixture.until_completed(deployment).await;
    }
    until("there are two runs", async || runs(&fixture).await.len() == 2).await;
    fixture.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_deployment_is_advanced_again_after_the_returned_delay() {
    let fixture = EngineFixture::with_worker().await;
    let deployment = fixture.store.deployment(0);
    fixture.store.with(deployment, |record| {
        record.is_waiting = true;
        record.again_in = Some(Duration::from_millis(500));
    });
    fixture.wake(deployment).await;
    fixture.until_advanced(deployment, 4).await;
    fixture.store.with(deployment, |record| record.is_waiting = false);
    fixture.until_completed(deployment).await;
    fixture.keep_history(deployment, "timers").await;
    fixture.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancellation_of_the_workflow_is_ignored() {
    let fixture = EngineFixture::with_worker().await;
    let deployment = fixture.store.deployment(1);
    fixture.wake(deployment).await;
    let (job, token) = fixture.take(deployment).await;
    let client = fixture.temporal.client().await;
    let id = greenroom_workflows::names::workflow_id(fixture.store.installation, deployment);
    let handle = client.get_workflow_handle::<greenroom_workflows::DeploymentWorkflow>(id);
    handle.cancel(temporalio_client::WorkflowCancelOptions::default()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(fixture.status(deployment).await, WorkflowExecutionStatus::Running);
    assert!(!fixture.engine.heartbeat(&token).await.unwrap());
    fixture.store.set(deployment, job, State::Done);
    fixture.engine.complete(&token).await.unwrap();
    fixture.until_completed(deployment).await;
    fixture.end().await;
}

async fn runs(fixture: &EngineFixture) -> Vec<String> {
    let client = fixture.temporal.client().await;
    let found = client.list_workflows("WorkflowType = 'deployment'", WorkflowListOptions::default());
    found.map(|run| run.unwrap().run_id().to_owned()).collect().await
}
