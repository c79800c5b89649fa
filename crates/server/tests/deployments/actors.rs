//! The actor of an event: the user who sent the request, the runner that reported, or the system.

use serde_json::{Value, json};

use crate::environments::SHOP;
use crate::fixture::DeploymentFixture;
use crate::runs::DIAMOND;
use crate::support::database::TestDatabase;

/// Returns the kind and name of the actor of the newest event.
async fn actor(fixture: &DeploymentFixture, event_type: &str) -> (String, String) {
    let event = fixture.event(event_type).await;
    let text = |field: &str| event["data"]["actor"][field].as_str().unwrap().to_owned();
    (text("kind"), text("name"))
}

fn named(kind: &str, name: &str) -> (String, String) {
    (kind.to_owned(), name.to_owned())
}

#[tokio::test]
async fn each_event_names_its_actor() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, DIAMOND).await;
    let id = fixture.start().await;
    assert_eq!(actor(&fixture, "deployment.queued").await, named("user", "Owner"));
    let job = fixture.take(&fixture.advance(&id).await).await;
    assert_eq!(actor(&fixture, "deployment.started").await, named("system", "system"));
    assert_eq!(actor(&fixture, "deployment.stage.queued").await, named("system", "system"));
    assert_eq!(actor(&fixture, "deployment.stage.started").await, named("runner", "runner-1"));
    let started = fixture.event("deployment.stage.started").await;
    assert!(started["data"]["actor"]["id"].as_str().unwrap().starts_with("run_"), "{started}");

    fixture.run_job(&job, 0).await;
    fixture.advance(&id).await;
    assert_eq!(actor(&fixture, "deployment.stage.succeeded").await, named("runner", "runner-1"));
    fixture.run_next_job(&id, 7).await;
    assert_eq!(actor(&fixture, "deployment.stage.failed").await, named("runner", "runner-1"));

    // A lost runner reports nothing: the system ends its stage.
    fixture.take(&fixture.advance(&id).await).await;
    let lost = "update jobs set lease_expires_at = clock_timestamp() - interval '31 seconds', touched = true
                where status = 'running'";
    sqlx::query(lost).execute(&pool).await.unwrap();
    fixture.advance(&id).await;
    assert_eq!(actor(&fixture, "deployment.stage.errored").await, named("system", "system"));
    assert_eq!(actor(&fixture, "deployment.stage.skipped").await, named("system", "system"));
    let end = format!("deployment.{}", fixture.status(&id).await);
    assert_eq!(actor(&fixture, &end).await, named("system", "system"));
    fixture.end().await;
}

/// An event has everything that a notification to users needs.
#[tokio::test]
async fn events_have_what_a_notification_needs() {
    let (_database, pool) = TestDatabase::create().await;
    let fixture = DeploymentFixture::new(&pool, SHOP).await;
    let (session, id) = fixture.claim("qa-1", &fixture.owner, "sessions").await;
    let claimed = fixture.event("session.claimed").await["data"]["after"].clone();
    assert_eq!((&claimed["commitId"], &claimed["context"]), (&json!("0123abc"), &Value::Null));
    fixture.advance(&id).await;
    for event_type in ["deployment.queued", "deployment.started", "deployment.stage.queued"] {
        let after = fixture.event(event_type).await["data"]["after"].clone();
        let fields = (&after["commitId"], &after["purpose"]);
        assert_eq!(fields, (&json!("0123abc"), &json!("session")), "{event_type}: {after}");
    }
    fixture.release("qa-1", &fixture.owner, &session).await;
    // Context and commit of a waiting session are in the events of queueing and granting.
    let (session, _) = fixture.claim("qa-1", &fixture.owner, "sessions").await;
    let mate = fixture.server.member(&fixture.owner, "acme", "developer").await;
    let path =
        format!("/organizations/acme/pipelines/{}/ephemeral-environments/qa-1/sessions", fixture.pipeline);
    let body = json!({ "queue": true, "commitId": "4567def", "context": "checkout fix" });
    let (status, queued) = fixture.server.json(reqwest::Method::POST, &path, &mate.token, Some(body)).await;
    assert_eq!(status, 202, "{queued}");
    fixture.release("qa-1", &fixture.owner, &session).await;
    for event_type in ["session.queued", "session.granted"] {
        let after = fixture.event(event_type).await["data"]["after"].clone();
        let fields = (&after["commitId"], &after["context"]);
        assert_eq!(fields, (&json!("4567def"), &json!("checkout fix")), "{event_type}: {after}");
    }
    fixture.end().await;
}
