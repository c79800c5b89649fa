//! Wakes are never lost, and never make two of one.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::join_all;
use temporalio_client::{WorkflowExecutionStatus, WorkflowListOptions};
use temporalio_common::protos::temporal::api::enums::v1::EventType;

use crate::script::State;
use crate::site::{Site, count, until};

#[tokio::test(flavor = "multi_thread")]
async fn one_that_comes_while_the_store_answers_is_followed_by_another_question() {
    let site = Site::with_worker().await;
    let deployment = site.script.deployment(1);
    let job = site.script.job(deployment, 0);
    site.script.shut().await;
    site.wake(deployment).await;
    site.until_asked(deployment, 1).await;
    // The answer that is on its way says that the job waits. Then it is done, and that is told by a wake alone.
    site.script.set(deployment, job, State::Done);
    site.wake(deployment).await;
    site.script.open();
    site.until_completed(deployment).await;
    site.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_at_once_make_one_workflow() {
    let site = Site::with_worker().await;
    let deployment = site.script.deployment(1);
    join_all((0..50).map(|_| site.wake(deployment))).await;
    site.do_one(deployment).await;
    site.until_completed(deployment).await;
    let runs = runs(&site).await;
    assert_eq!(runs.len(), 1, "{runs:?}");
    let events = site.history(deployment).await;
    assert_eq!(count(&events, EventType::WorkflowExecutionSignaled), 50);
    assert!(count(&events, EventType::WorkflowTaskCompleted) < 50, "several are folded into one");
    site.keep_history(deployment, "fifty_wakes").await;
    site.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_after_the_end_looks_again() {
    let site = Site::with_worker().await;
    let deployment = site.script.deployment(0);
    for times in 1..=2 {
        site.wake(deployment).await;
        site.until_asked(deployment, times).await;
        site.until_completed(deployment).await;
    }
    until("there are two runs", async || runs(&site).await.len() == 2).await;
    site.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_store_is_asked_again_when_it_said_so() {
    let site = Site::with_worker().await;
    let deployment = site.script.deployment(0);
    site.script.with(deployment, |record| {
        record.stays = true;
        record.again_in = Some(Duration::from_millis(500));
    });
    site.wake(deployment).await;
    site.until_asked(deployment, 4).await;
    site.script.with(deployment, |record| record.stays = false);
    site.until_completed(deployment).await;
    site.keep_history(deployment, "timers").await;
    site.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancellation_of_the_workflow_is_nobodys_word() {
    let site = Site::with_worker().await;
    let deployment = site.script.deployment(1);
    site.wake(deployment).await;
    let (job, token) = site.take(deployment).await;
    let client = site.temporal.client().await;
    let id = greenroom_workflows::names::workflow_id(site.script.installation, deployment);
    let handle = client.get_workflow_handle::<greenroom_workflows::DeploymentWorkflow>(id);
    handle.cancel(temporalio_client::WorkflowCancelOptions::default()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(site.status(deployment).await, WorkflowExecutionStatus::Running);
    assert!(!site.engine.heartbeat(&token).await.unwrap());
    site.script.set(deployment, job, State::Done);
    site.engine.complete(&token).await.unwrap();
    site.until_completed(deployment).await;
    site.end().await;
}

async fn runs(site: &Site) -> Vec<String> {
    let client = site.temporal.client().await;
    let found = client.list_workflows("WorkflowType = 'deployment'", WorkflowListOptions::default());
    found.map(|run| run.unwrap().run_id().to_owned()).collect().await
}
