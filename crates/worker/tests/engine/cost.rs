//! How many events and workflow tasks a deployment costs in the engine. The engine's throughput depends on
//! it, so these numbers must only change on purpose.

use temporalio_common::protos::temporal::api::enums::v1::EventType;

use crate::fixture::{EngineFixture, count};

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_of_three_jobs_without_failures() {
    let fixture = EngineFixture::with_worker().await;
    let deployment = fixture.store.deployment(3);
    fixture.wake(deployment).await;
    for number in 0..3 {
        assert_eq!(fixture.run_one_job(deployment).await, fixture.store.job(deployment, number));
    }
    fixture.until_completed(deployment).await;

    assert_eq!(fixture.store.advance_count(deployment), 4);
    let events = fixture.history(deployment).await;
    let kinds: Vec<_> = events.iter().map(|event| event.event_type().as_str_name()).collect();
    // One workflow task at the start and one after each job; each advances once, which records one marker.
    assert_eq!(count(&events, EventType::WorkflowTaskCompleted), 4, "{kinds:#?}");
    assert_eq!(count(&events, EventType::MarkerRecorded), 4, "{kinds:#?}");
    assert_eq!(events.len(), 28, "{kinds:#?}");
    fixture.keep_history(deployment, "three_jobs").await;
    fixture.end().await;
}
