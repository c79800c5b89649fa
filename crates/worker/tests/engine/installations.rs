//! Several installations in one namespace, and workflows whose deployment is not in the database.

use std::sync::Arc;

use greenroom_domain::id::DeploymentId;
use greenroom_worker::engine::EngineError;
use temporalio_client::WorkflowExecutionStatus;
use temporalio_common::protos::temporal::api::history::v1::history_event::Attributes;
use uuid::Uuid;

use crate::script::{Script, State};
use crate::site::{BRIEFLY, SOON, Site, engine_of, until};

#[tokio::test(flavor = "multi_thread")]
async fn none_runs_anothers_workflows_or_jobs() {
    let mut site = Site::without_worker().await;
    // The other one has a pool of the same id: a copied database would.
    let other = Arc::new(Script::with_pool(site.script.pool));
    let others_engine = engine_of(&site.temporal, &other);
    // Only the other one has a worker, which would take whatever it finds.
    site.start_worker_of(other.clone());
    let (deployment, theirs) = (site.script.deployment(1), other.deployment(1));
    site.wake(deployment).await;
    others_engine.wake(other.organization, theirs).await.unwrap();
    until("the other installation's store is asked", async || other.asked(theirs) > 0).await;
    let polled = others_engine.poll_job(other.pool, SOON).await.unwrap().unwrap();
    assert_eq!(polled.run.deployment_id, theirs);
    let token = polled.accept();
    assert_eq!(site.status(deployment).await, WorkflowExecutionStatus::Running);
    assert_eq!(site.script.asked(deployment), 0);

    site.start_worker();
    site.until_asked(deployment, 1).await;
    assert!(others_engine.poll_job(other.pool, BRIEFLY).await.unwrap().is_none());
    // A task that another installation's queue has given out is none of ours.
    assert!(matches!(site.engine.complete(&token).await, Err(EngineError::Gone)));
    site.do_one(deployment).await;
    site.until_completed(deployment).await;
    other.set(theirs, other.job(theirs, 0), State::Done);
    others_engine.complete(&token).await.unwrap();
    until("the other one has ended too", async || other.asked(theirs) > 1).await;
    site.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_whose_deployment_does_not_exist_fails_and_says_why() {
    let site = Site::with_worker().await;
    let unknown = DeploymentId::from(Uuid::now_v7());
    site.wake(unknown).await;
    until("the workflow has failed", async || site.status(unknown).await == WorkflowExecutionStatus::Failed)
        .await;
    let events = site.history(unknown).await;
    let Some(Attributes::WorkflowExecutionFailedEventAttributes(failed)) = &events.last().unwrap().attributes
    else {
        panic!("the last event is not its failure: {events:?}");
    };
    let message = &failed.failure.as_ref().unwrap().message;
    assert_eq!(*message, format!("this installation's database has no deployment {unknown}"));
    site.keep_history(unknown, "missing").await;
    site.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_does_not_know_its_installation_yet_wakes_and_polls_nothing() {
    let site = Site::without_worker().await;
    let engine = greenroom_worker::engine::Engine::new(site.temporal.config());
    let deployment = site.script.deployment(0);
    let woken = engine.wake(site.script.organization, deployment).await;
    assert!(woken.is_err_and(|error| error.is_unavailable()));
    assert!(engine.poll_job(site.script.pool, BRIEFLY).await.is_err_and(|error| error.is_unavailable()));
    engine.identify(site.script.installation);
    engine.wake(site.script.organization, deployment).await.unwrap();
    site.end().await;
}
