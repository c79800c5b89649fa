//! A long history is replaced by that of a new run.

use temporalio_client::WorkflowExecutionStatus;
use temporalio_common::protos::temporal::api::enums::v1::EventType;
use temporalio_common::protos::temporal::api::history::v1::history_event::Attributes;

use crate::fixture::{EngineFixture, count};

#[tokio::test(flavor = "multi_thread")]
async fn a_new_run_continues_where_the_old_one_ended() {
    let fixture = EngineFixture::with_worker().await;
    let deployment = fixture.store.deployment(1);
    let job = fixture.store.job(deployment, 0);
    fixture.store.with(deployment, |record| {
        record.is_waiting = true;
        record.jobs.clear();
    });
    // Each wake-up adds five events; the server suggests a new run at two hundred.
    for _ in 0..60 {
        let advances = fixture.store.advance_count(deployment);
        fixture.wake(deployment).await;
        fixture.until_advanced(deployment, advances + 1).await;
    }
    let events = fixture.history(deployment).await;
    assert!(events.len() < 200, "{} events", events.len());
    let Some(Attributes::WorkflowExecutionStartedEventAttributes(started)) = &events[0].attributes else {
        panic!("a history begins with its start");
    };
    assert!(!started.continued_execution_run_id.is_empty(), "an older run was continued");
    assert_eq!(fixture.status(deployment).await, WorkflowExecutionStatus::Running);

    fixture.store.with(deployment, |record| {
        record.is_waiting = false;
        record.jobs.push((job, crate::scripted_store::State::Waiting));
    });
    fixture.wake(deployment).await;
    fixture.run_one_job(deployment).await;
    fixture.until_completed(deployment).await;
    assert_eq!(count(&fixture.history(deployment).await, EventType::WorkflowExecutionCompleted), 1);
    fixture.keep_history(deployment, "continued").await;
    fixture.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_keeps_its_task_while_the_history_grows() {
    let fixture = EngineFixture::with_worker().await;
    let deployment = fixture.store.deployment(1);
    fixture.wake(deployment).await;
    let (job, token) = fixture.take(deployment).await;
    for _ in 0..60 {
        let advances = fixture.store.advance_count(deployment);
        fixture.wake(deployment).await;
        fixture.until_advanced(deployment, advances + 1).await;
    }
    assert!(fixture.history(deployment).await.len() > 200);
    fixture.store.set(deployment, job, crate::scripted_store::State::Done);
    fixture.engine.complete(&token).await.unwrap();
    fixture.until_completed(deployment).await;
    fixture.end().await;
}
