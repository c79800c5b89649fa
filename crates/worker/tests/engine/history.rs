//! The history of a long wait is short, and a long history is replaced by that of a new run.

use std::time::Duration;

use temporalio_client::WorkflowExecutionStatus;
use temporalio_common::protos::temporal::api::enums::v1::EventType;
use temporalio_common::protos::temporal::api::history::v1::history_event::Attributes;

use crate::fixture::{EngineFixture, count};
use crate::scripted_store::State;

/// In place of the day after which a deployment that waits for a person is advanced again (`WAITING_POLL_INTERVAL` of the
/// store).
const DAY: Duration = Duration::from_secs(1);
const DAYS: usize = 7;
/// Longer than the test.
const LONG_WAIT: Duration = Duration::from_secs(600);
const MAX_EVENTS_OF_WAIT: usize = 60;

/// A deployment waits for an approval until the seventh day has almost ended. Then it is approved and its stage runs.
#[tokio::test(flavor = "multi_thread")]
async fn a_wait_of_seven_days_for_an_approval_has_a_short_history() {
    let fixture = EngineFixture::with_worker().await;
    let deployment = fixture.store.deployment(1);
    let job = fixture.store.job(deployment, 0);
    fixture.store.with(deployment, |record| {
        record.is_waiting = true;
        record.again_in = Some(DAY);
        record.jobs.clear();
    });
    fixture.wake(deployment).await;
    // Once when the gate opens, and once at the end of each day but the last. That one does not end here.
    fixture.until_advanced(deployment, DAYS - 1).await;
    fixture.store.with(deployment, |record| record.again_in = Some(LONG_WAIT));
    fixture.until_advanced(deployment, DAYS).await;
    fixture.store.with(deployment, |record| {
        record.is_waiting = false;
        record.jobs.push((job, State::Waiting));
    });
    fixture.wake(deployment).await;
    fixture.run_one_job(deployment).await;
    fixture.until_completed(deployment).await;
    let events = fixture.history(deployment).await;
    let kinds: Vec<_> = events.iter().map(|event| event.event_type().as_str_name()).collect();
    assert_eq!(count(&events, EventType::TimerFired), DAYS - 1, "{kinds:#?}");
    assert!(events.len() <= MAX_EVENTS_OF_WAIT, "{} events: {kinds:#?}", events.len());
    fixture.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_run_continues_where_the_old_one_ended() {
    let fixture = EngineFixture::with_worker_and_own_temporal().await;
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
        record.jobs.push((job, State::Waiting));
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
    let fixture = EngineFixture::with_worker_and_own_temporal().await;
    let deployment = fixture.store.deployment(1);
    fixture.wake(deployment).await;
    let (job, token) = fixture.take(deployment).await;
    for _ in 0..60 {
        let advances = fixture.store.advance_count(deployment);
        fixture.wake(deployment).await;
        fixture.until_advanced(deployment, advances + 1).await;
    }
    assert!(fixture.history(deployment).await.len() > 200);
    fixture.store.set(deployment, job, State::Done);
    fixture.engine.complete(&token).await.unwrap();
    fixture.until_completed(deployment).await;
    fixture.end().await;
}
