//! A history that grows long is left behind.

use temporalio_client::WorkflowExecutionStatus;
use temporalio_common::protos::temporal::api::enums::v1::EventType;
use temporalio_common::protos::temporal::api::history::v1::history_event::Attributes;

use crate::site::{Site, count};

#[tokio::test(flavor = "multi_thread")]
async fn a_new_run_goes_on_where_the_old_one_was() {
    let site = Site::with_worker().await;
    let deployment = site.script.deployment(1);
    let job = site.script.job(deployment, 0);
    site.script.with(deployment, |record| {
        record.stays = true;
        record.jobs.clear();
    });
    // Five events each; the server suggests a new run at two hundred.
    for _ in 0..60 {
        let asked = site.script.asked(deployment);
        site.wake(deployment).await;
        site.until_asked(deployment, asked + 1).await;
    }
    let events = site.history(deployment).await;
    assert!(events.len() < 200, "{} events", events.len());
    let Some(Attributes::WorkflowExecutionStartedEventAttributes(started)) = &events[0].attributes else {
        panic!("a history begins with its start");
    };
    assert!(!started.continued_execution_run_id.is_empty(), "an older run was continued");
    assert_eq!(site.status(deployment).await, WorkflowExecutionStatus::Running);

    site.script.with(deployment, |record| {
        record.stays = false;
        record.jobs.push((job, crate::script::State::Waiting));
    });
    site.wake(deployment).await;
    site.do_one(deployment).await;
    site.until_completed(deployment).await;
    assert_eq!(count(&site.history(deployment).await, EventType::WorkflowExecutionCompleted), 1);
    site.keep_history(deployment, "continued").await;
    site.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_keeps_its_task_while_the_history_grows_long() {
    let site = Site::with_worker().await;
    let deployment = site.script.deployment(1);
    site.wake(deployment).await;
    let (job, token) = site.take(deployment).await;
    for _ in 0..60 {
        let asked = site.script.asked(deployment);
        site.wake(deployment).await;
        site.until_asked(deployment, asked + 1).await;
    }
    assert!(site.history(deployment).await.len() > 200);
    site.script.set(deployment, job, crate::script::State::Done);
    site.engine.complete(&token).await.unwrap();
    site.until_completed(deployment).await;
    site.end().await;
}
