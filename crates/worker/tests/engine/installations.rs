//! Several installations in one namespace, and workflows whose deployment is not in the database.

use std::sync::Arc;

use greenroom_domain::id::DeploymentId;
use greenroom_engine::EngineError;
use temporalio_client::WorkflowExecutionStatus;
use temporalio_common::protos::temporal::api::history::v1::history_event::Attributes;
use uuid::Uuid;

use crate::fixture::{EngineFixture, LONG_POLL, SHORT_POLL, engine_of, until};
use crate::scripted_store::{ScriptedStore, State};

#[tokio::test(flavor = "multi_thread")]
async fn an_installation_never_runs_workflows_or_jobs_of_another() {
    let mut fixture = EngineFixture::without_worker().await;
    // The other installation has a pool with the same id, as a copied database would.
    let other = Arc::new(ScriptedStore::with_pool(fixture.store.pool));
    let others_engine = engine_of(&fixture.temporal, &other);
    // Only the other installation has a worker at first.
    fixture.start_worker_of(other.clone());
    let (deployment, theirs) = (fixture.store.deployment(1), other.deployment(1));
    fixture.wake(deployment).await;
    others_engine.wake(other.organization, theirs).await.unwrap();
    until("the other deployment is advanced", async || other.advance_count(theirs) > 0).await;
    let polled = others_engine.poll_job(other.pool, LONG_POLL).await.unwrap().unwrap();
    assert_eq!(polled.run.deployment_id, theirs);
    let token = polled.accept();
    assert_eq!(fixture.status(deployment).await, WorkflowExecutionStatus::Running);
    assert_eq!(fixture.store.advance_count(deployment), 0);

    fixture.start_worker();
    fixture.until_advanced(deployment, 1).await;
    assert!(others_engine.poll_job(other.pool, SHORT_POLL).await.unwrap().is_none());
    // A task of another installation's queue can't be completed.
    assert!(matches!(fixture.engine.complete(&token).await, Err(EngineError::Gone)));
    fixture.run_one_job(deployment).await;
    fixture.until_completed(deployment).await;
    other.set(theirs, other.job(theirs, 0), State::Done);
    others_engine.complete(&token).await.unwrap();
    until("the other deployment has ended too", async || other.advance_count(theirs) > 1).await;
    fixture.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_of_a_missing_deployment_fails_with_a_message() {
    let fixture = EngineFixture::with_worker().await;
    let unknown = DeploymentId::from(Uuid::now_v7());
    fixture.wake(unknown).await;
    until("the workflow has failed", async || {
        fixture.status(unknown).await == WorkflowExecutionStatus::Failed
    })
    .await;
    let events = fixture.history(unknown).await;
    let Some(Attributes::WorkflowExecutionFailedEventAttributes(failed)) = &events.last().unwrap().attributes
    else {
        panic!("the last event is not its failure: {events:?}");
    };
    let message = &failed.failure.as_ref().unwrap().message;
    assert_eq!(*message, format!("this installation's database has no deployment {unknown}"));
    fixture.keep_history(unknown, "missing").await;
    fixture.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_without_an_installation_id_wakes_and_polls_nothing() {
    let fixture = EngineFixture::without_worker().await;
    let engine = greenroom_engine::Engine::new(fixture.temporal.config());
    let deployment = fixture.store.deployment(0);
    let woken = engine.wake(fixture.store.organization, deployment).await;
    assert!(woken.is_err_and(|error| error.is_unavailable()));
    assert!(engine.poll_job(fixture.store.pool, SHORT_POLL).await.is_err_and(|error| error.is_unavailable()));
    engine.identify(fixture.store.installation);
    engine.wake(fixture.store.organization, deployment).await.unwrap();
    fixture.end().await;
}
