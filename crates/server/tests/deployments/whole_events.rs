//! Events of deployments contain the deployment and the stage as a read returns them: a client that receives
//! the event needs no further request.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::environments::SHOP;
use crate::fixture::DeploymentFixture;
use crate::runs::DIAMOND;
use crate::support::database::TestDatabase;
use crate::support::eventually;

/// Returns the newest event of this type about the deployment, once it is sequenced.
async fn event(fixture: &DeploymentFixture, event_type: &str, id: &str) -> Value {
    let path = format!("/events?type={event_type}&limit=1");
    let newest = async || fixture.call(Method::GET, &path, Value::Null).await.1["data"][0]["data"].clone();
    let is_there = async || newest().await["after"]["deploymentId"] == id;
    assert!(eventually(Duration::from_secs(5), is_there).await, "no {event_type} of {id}");
    newest().await["after"].clone()
}

/// Compares what the event contains with the deployment, which has not changed since. Returns the event's
/// `after`.
async fn compare(fixture: &DeploymentFixture, event_type: &str, id: &str) -> Value {
    let after = event(fixture, event_type, id).await;
    let mut record = fixture.deployment(id).await;
    // Runners come and go without an event of the deployment, so only a read contains their number.
    for waiting in record["waitingOn"].as_array_mut().into_iter().flatten() {
        waiting.as_object_mut().unwrap().remove("online");
    }
    for (field, value) in after["deployment"].as_object().unwrap() {
        assert_eq!(value, &record[field], "`{field}` of the deployment in {event_type}");
    }
    if let Some(key) = after["stage"].as_str() {
        let stages = record["stages"].as_array().unwrap();
        let stage = stages.iter().find(|stage| stage["key"] == key).unwrap();
        for (field, value) in after["stageRecord"].as_object().unwrap() {
            assert_eq!(value, &stage[field], "`{field}` of the stage in {event_type}");
        }
    }
    after
}

#[tokio::test]
async fn deployment_events_contain_the_deployment_and_the_stage() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DIAMOND).await;
    let id = fixture.start().await;
    let queued = compare(&fixture, "deployment.queued", &id).await;
    assert_eq!(queued["deployment"]["waitingOn"], json!([{ "kind": "engine" }]));
    assert_eq!(queued["deployment"]["purpose"], "pipeline");

    let dispatched = fixture.advance(&id).await;
    compare(&fixture, "deployment.started", &id).await;
    let waiting = compare(&fixture, "deployment.stage.queued", &id).await;
    let runner = json!([{ "kind": "runner", "stage": "build", "pool": "default" }]);
    assert_eq!(waiting["deployment"]["waitingOn"], runner);
    assert!(waiting["deployment"]["deadlineAt"].is_string(), "{waiting}");
    // What was there before stays.
    assert_eq!((&waiting["stage"], &waiting["attempt"]), (&json!("build"), &json!(1)));

    let job = fixture.take(&dispatched).await;
    let started = compare(&fixture, "deployment.stage.started", &id).await;
    assert_eq!(started["stageRecord"]["status"], "running");
    assert!(started["stageRecord"]["deadlineAt"].is_string(), "{started}");

    fixture.run_job(&job, 3).await;
    fixture.advance(&id).await;
    let failed = compare(&fixture, "deployment.stage.failed", &id).await;
    assert_eq!(failed["stageRecord"]["reason"], "step_failed");
    compare(&fixture, "deployment.stage.skipped", &id).await;
    compare(&fixture, "deployment.failed", &id).await;

    let person = |record: &Value| (record["name"].clone(), record["kind"].clone());
    let owner = (json!("Owner"), json!("user"));
    let stage = |key: &str, verb: &str| format!("/deployments/{id}/stages/{key}/{verb}");
    assert_eq!(fixture.call(Method::POST, &stage("build", "retry"), json!({})).await.0, 202);
    let retried = compare(&fixture, "deployment.stage.retried", &id).await;
    assert_eq!(person(&retried["deployment"]["retriedBy"]), owner);
    assert_eq!(retried["deployment"]["status"], "running");

    assert_eq!(fixture.call(Method::POST, &stage("ship", "cancel"), Value::Null).await.0, 202);
    let canceled = compare(&fixture, "deployment.stage.canceled", &id).await;
    assert_eq!(person(&canceled["stageRecord"]["canceledBy"]), owner);

    // A running one is canceled by a user, and ended by its runner and the system.
    let job = fixture.take(&fixture.advance(&id).await).await;
    assert_eq!(fixture.call(Method::POST, &format!("/deployments/{id}/cancel"), json!({})).await.0, 202);
    let canceling = compare(&fixture, "deployment.canceling", &id).await;
    let steps = json!([{ "kind": "running_steps", "stage": "build" }]);
    assert_eq!(canceling["deployment"]["waitingOn"], steps);
    let end = json!({ "status": "canceled" });
    fixture.report(&job, &format!("/steps/{}/end", job.steps[0]), end).await;
    assert_eq!(fixture.report(&job, "/complete", json!({})).await.0, 200);
    fixture.advance(&id).await;
    let canceled = compare(&fixture, "deployment.canceled", &id).await;
    assert_eq!(person(&canceled["deployment"]["canceledBy"]), owner);
    fixture.end().await;
}

/// The events that the end of a session causes, which are written without the deployment's machine.
#[tokio::test]
async fn the_end_of_a_session_shows_whom_its_deployments_wait_for() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let mate = fixture.server.member(&fixture.owner, "acme", "developer").await;
    let (_, old) = fixture.claim("qa-1", &fixture.owner, "sessions").await;
    compare(&fixture, "deployment.queued", &old).await;
    fixture.take(&fixture.advance(&old).await).await;
    let (_, new) = fixture.claim("qa-1", &mate, "force-claim").await;
    let canceling = compare(&fixture, "deployment.canceling", &old).await;
    assert_eq!(canceling["deployment"]["reason"], "session_ended");
    assert!(canceling["deployment"]["canceledBy"].is_object(), "{canceling}");
    let queued = compare(&fixture, "deployment.queued", &new).await;
    let slot = json!([{ "kind": "work_slot", "deploymentId": old }]);
    assert_eq!(queued["deployment"]["waitingOn"], slot);
    // Canceled before it has started.
    let (_, third) = fixture.claim("qa-1", &fixture.owner, "force-claim").await;
    compare(&fixture, "deployment.canceled", &new).await;
    compare(&fixture, "deployment.queued", &third).await;
    fixture.end().await;
}
