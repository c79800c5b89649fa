//! Jobs that do not go straight: handed back, failed, silent, withdrawn.

use std::time::Duration;

use temporalio_common::protos::temporal::api::enums::v1::EventType;

use greenroom_worker::engine::EngineError;

use crate::script::State;
use crate::site::{BRIEFLY, SOON, Site, count, until};

#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_failed_or_dropped_comes_back_and_ends() {
    let site = Site::with_worker().await;
    let deployment = site.script.deployment(1);
    site.wake(deployment).await;

    // The runner hung up before it was given the job.
    drop(site.poll(SOON).await.expect("a job is there"));
    // This one had it, and its gateway says so.
    let (job, token) = site.take(deployment).await;
    site.script.set(deployment, job, State::Waiting);
    site.engine.fail(&token, "the runner broke").await.unwrap();
    assert!(matches!(site.engine.heartbeat(&token).await, Err(EngineError::Gone)));
    assert!(matches!(site.engine.complete(&token).await, Err(EngineError::Gone)));

    assert_eq!(site.do_one(deployment).await, job);
    site.until_completed(deployment).await;
    assert_eq!(count(&site.history(deployment).await, EventType::ActivityTaskFailed), 2);
    site.keep_history(deployment, "handed_back_and_failed").await;
    site.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poll_that_nobody_waits_for_any_more_hands_its_job_back() {
    let site = Site::with_worker().await;
    let deployment = site.script.deployment(1);
    let gone = tokio::time::timeout(Duration::from_millis(300), site.poll(SOON)).await;
    assert!(gone.is_err(), "there was nothing to poll yet");
    site.wake(deployment).await;
    until("the orphaned poll has failed its task", async || {
        count(&site.history(deployment).await, EventType::ActivityTaskFailed) == 1
    })
    .await;
    site.do_one(deployment).await;
    site.until_completed(deployment).await;
    site.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn heavy_one_whose_runner_falls_silent_comes_back() {
    let site = Site::with_worker().await;
    let deployment = site.script.deployment(1);
    site.wake(deployment).await;
    let (job, lost) = site.take(deployment).await;
    let began = tokio::time::Instant::now();
    // The store does not know better yet when the engine notices; then the lease has run out.
    site.script.set(deployment, job, State::Waiting);
    assert_eq!(site.do_one(deployment).await, job);
    assert!(began.elapsed() > Duration::from_secs(25), "the heartbeat's time-out was waited for");
    assert!(matches!(site.engine.heartbeat(&lost).await, Err(EngineError::Gone)));
    site.until_completed(deployment).await;
    assert_eq!(count(&site.history(deployment).await, EventType::ActivityTaskTimedOut), 1);
    site.keep_history(deployment, "silent_runner").await;
    site.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_is_withdrawn_leaves_the_queue() {
    let site = Site::with_worker().await;
    let deployment = site.script.deployment(2);
    let (first, second) = (site.script.job(deployment, 0), site.script.job(deployment, 1));
    site.wake(deployment).await;
    site.until_asked(deployment, 1).await;
    site.script.with(deployment, |record| {
        record.jobs[0].1 = State::Done;
        record.withdrawn = vec![first];
    });
    site.wake(deployment).await;
    until("the first is canceled", async || {
        count(&site.history(deployment).await, EventType::ActivityTaskCanceled) == 1
    })
    .await;
    assert_eq!(site.do_one(deployment).await, second);
    site.until_completed(deployment).await;
    assert!(site.poll(BRIEFLY).await.is_none());
    site.keep_history(deployment, "withdrawn").await;
    site.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_a_runner_has_is_left_alone_when_the_workflow_wakes() {
    let site = Site::with_worker().await;
    let deployment = site.script.deployment(1);
    site.wake(deployment).await;
    let (job, token) = site.take(deployment).await;
    let asked = site.script.asked(deployment);
    site.wake(deployment).await;
    site.until_asked(deployment, asked + 1).await;
    assert!(!site.engine.heartbeat(&token).await.unwrap(), "it is not canceled");
    assert!(site.poll(BRIEFLY).await.is_none(), "nor dispatched twice");
    site.script.set(deployment, job, State::Done);
    site.engine.complete(&token).await.unwrap();
    site.until_completed(deployment).await;
    site.end().await;
}
