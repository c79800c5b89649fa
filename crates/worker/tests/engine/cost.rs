//! What a deployment costs the engine. Its throughput follows from it, so a change here is to be meant.

use temporalio_common::protos::temporal::api::enums::v1::EventType;

use crate::site::{Site, count};

#[tokio::test(flavor = "multi_thread")]
async fn a_straight_deployment_of_three_jobs() {
    let site = Site::with_worker().await;
    let deployment = site.script.deployment(3);
    site.wake(deployment).await;
    for number in 0..3 {
        assert_eq!(site.do_one(deployment).await, site.script.job(deployment, number));
    }
    site.until_completed(deployment).await;

    assert_eq!(site.script.asked(deployment), 4);
    let events = site.history(deployment).await;
    let kinds: Vec<_> = events.iter().map(|event| event.event_type().as_str_name()).collect();
    // One task at the start and one after each job; each asks once, which is one marker.
    assert_eq!(count(&events, EventType::WorkflowTaskCompleted), 4, "{kinds:#?}");
    assert_eq!(count(&events, EventType::MarkerRecorded), 4, "{kinds:#?}");
    assert_eq!(events.len(), 28, "{kinds:#?}");
    site.keep_history(deployment, "three_jobs").await;
    site.end().await;
}
