//! Jobs with complications: handed back, failed, without heartbeats, withdrawn.

use std::time::Duration;

use greenroom_engine::EngineError;
use temporalio_common::protos::temporal::api::enums::v1::EventType;

use crate::fixture::{EngineFixture, LONG_POLL, SHORT_POLL, count, until};
use crate::scripted_store::State;

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_or_dropped_job_is_dispatched_again() {
    let fixture = EngineFixture::with_worker().await;
    let deployment = fixture.store.deployment(1);
    fixture.wake(deployment).await;

    // The runner disconnects before it gets the job.
    drop(fixture.poll(LONG_POLL).await.expect("a job is there"));
    // The next runner gets the job, and its daemon fails the task.
    let (job, token) = fixture.take(deployment).await;
    fixture.store.set(deployment, job, State::Waiting);
    fixture.engine.fail(&token, "the runner broke").await.unwrap();
    assert!(matches!(fixture.engine.heartbeat(&token).await, Err(EngineError::Gone)));
    assert!(matches!(fixture.engine.complete(&token).await, Err(EngineError::Gone)));

    assert_eq!(fixture.run_one_job(deployment).await, job);
    fixture.until_completed(deployment).await;
    assert_eq!(count(&fixture.history(deployment).await, EventType::ActivityTaskFailed), 2);
    fixture.keep_history(deployment, "handed_back_and_failed").await;
    fixture.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poll_whose_caller_is_gone_hands_its_job_back() {
    let fixture = EngineFixture::with_worker().await;
    let deployment = fixture.store.deployment(1);
    let gone = tokio::time::timeout(Duration::from_millis(300), fixture.poll(LONG_POLL)).await;
    assert!(gone.is_err(), "there was nothing to poll yet");
    fixture.wake(deployment).await;
    until("the orphaned poll has failed its task", async || {
        count(&fixture.history(deployment).await, EventType::ActivityTaskFailed) == 1
    })
    .await;
    fixture.run_one_job(deployment).await;
    fixture.until_completed(deployment).await;
    fixture.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn waits_a_job_without_heartbeats_is_dispatched_again() {
    let fixture = EngineFixture::with_worker().await;
    let deployment = fixture.store.deployment(1);
    fixture.wake(deployment).await;
    let (job, lost) = fixture.take(deployment).await;
    let began = tokio::time::Instant::now();
    // By the time the engine notices the missing heartbeat, the lease has expired and the store lists the job
    // as waiting.
    fixture.store.set(deployment, job, State::Waiting);
    assert_eq!(fixture.run_one_job(deployment).await, job);
    assert!(began.elapsed() > Duration::from_secs(25), "the heartbeat timeout has passed");
    assert!(matches!(fixture.engine.heartbeat(&lost).await, Err(EngineError::Gone)));
    fixture.until_completed(deployment).await;
    assert_eq!(count(&fixture.history(deployment).await, EventType::ActivityTaskTimedOut), 1);
    fixture.keep_history(deployment, "silent_runner").await;
    fixture.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_withdrawn_job_leaves_the_queue() {
    let fixture = EngineFixture::with_worker().await;
    let deployment = fixture.store.deployment(2);
    let (first, second) = (fixture.store.job(deployment, 0), fixture.store.job(deployment, 1));
    fixture.wake(deployment).await;
    fixture.until_advanced(deployment, 1).await;
    fixture.store.with(deployment, |record| {
        record.jobs[0].1 = State::Done;
        record.withdrawn = vec![first];
    });
    fixture.wake(deployment).await;
    until("the first is canceled", async || {
        count(&fixture.history(deployment).await, EventType::ActivityTaskCanceled) == 1
    })
    .await;
    assert_eq!(fixture.run_one_job(deployment).await, second);
    fixture.until_completed(deployment).await;
    assert!(fixture.poll(SHORT_POLL).await.is_none());
    fixture.keep_history(deployment, "withdrawn").await;
    fixture.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wake_up_does_not_affect_a_job_that_a_runner_has() {
    let fixture = EngineFixture::with_worker().await;
    let deployment = fixture.store.deployment(1);
    fixture.wake(deployment).await;
    let (job, token) = fixture.take(deployment).await;
    let advances = fixture.store.advance_count(deployment);
    fixture.wake(deployment).await;
    fixture.until_advanced(deployment, advances + 1).await;
    assert!(!fixture.engine.heartbeat(&token).await.unwrap(), "it is not canceled");
    assert!(fixture.poll(SHORT_POLL).await.is_none(), "nor dispatched twice");
    fixture.store.set(deployment, job, State::Done);
    fixture.engine.complete(&token).await.unwrap();
    fixture.until_completed(deployment).await;
    fixture.end().await;
}
