//! Who an event names as its actor: the person who asked, the runner that reported, or the system.

use serde_json::{Value, json};
use sqlx::PgPool;

use crate::environments::SHOP;
use crate::runs::DIAMOND;
use crate::yard::Yard;

/// Kind and name of the newest event's actor.
async fn actor(yard: &Yard, event_type: &str) -> (String, String) {
    let event = yard.event(event_type).await;
    let text = |field: &str| event["data"]["actor"][field].as_str().unwrap().to_owned();
    (text("kind"), text("name"))
}

fn named(kind: &str, name: &str) -> (String, String) {
    (kind.to_owned(), name.to_owned())
}

#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn each_event_names_who_acted(pool: PgPool) {
    let yard = Yard::new(&pool, DIAMOND).await;
    let id = yard.start().await;
    assert_eq!(actor(&yard, "deployment.queued").await, named("user", "Owner"));
    let job = yard.take(&yard.advance(&id).await).await;
    assert_eq!(actor(&yard, "deployment.started").await, named("system", "system"));
    assert_eq!(actor(&yard, "deployment.stage.queued").await, named("system", "system"));
    assert_eq!(actor(&yard, "deployment.stage.started").await, named("runner", "runner-1"));
    let started = yard.event("deployment.stage.started").await;
    assert!(started["data"]["actor"]["id"].as_str().unwrap().starts_with("run_"), "{started}");

    yard.carry_out(&job, 0).await;
    yard.advance(&id).await;
    assert_eq!(actor(&yard, "deployment.stage.succeeded").await, named("runner", "runner-1"));
    yard.pass(&id, 7).await;
    assert_eq!(actor(&yard, "deployment.stage.failed").await, named("runner", "runner-1"));

    // A runner that is lost has reported nothing: the system ended its stage.
    yard.take(&yard.advance(&id).await).await;
    let lost = "update jobs set lease_expires_at = clock_timestamp() - interval '31 seconds', touched = true
                where status = 'running'";
    sqlx::query(lost).execute(&pool).await.unwrap();
    yard.advance(&id).await;
    assert_eq!(actor(&yard, "deployment.stage.errored").await, named("system", "system"));
    assert_eq!(actor(&yard, "deployment.stage.skipped").await, named("system", "system"));
    let end = format!("deployment.{}", yard.status(&id).await);
    assert_eq!(actor(&yard, &end).await, named("system", "system"));
    yard.end().await;
}

/// A message to people can be written from an event alone.
#[sqlx::test(migrator = "greenroom_store::MIGRATOR")]
async fn events_have_what_a_message_needs(pool: PgPool) {
    let yard = Yard::new(&pool, SHOP).await;
    let (session, id) = yard.claim("qa-1", &yard.owner, "sessions").await;
    let claimed = yard.event("session.claimed").await["data"]["after"].clone();
    assert_eq!((&claimed["commitId"], &claimed["context"]), (&json!("0123abc"), &Value::Null));
    yard.advance(&id).await;
    for event_type in ["deployment.queued", "deployment.started", "deployment.stage.queued"] {
        let after = yard.event(event_type).await["data"]["after"].clone();
        let shown = (&after["commitId"], &after["purpose"]);
        assert_eq!(shown, (&json!("0123abc"), &json!("session")), "{event_type}: {after}");
    }
    yard.release("qa-1", &yard.owner, &session).await;
    // A second person waits with a context and a commit; both are in the events of queueing and granting.
    let (session, _) = yard.claim("qa-1", &yard.owner, "sessions").await;
    let mate = yard.server.member(&yard.owner, "acme", "developer").await;
    let path =
        format!("/organizations/acme/pipelines/{}/ephemeral-environments/qa-1/sessions", yard.pipeline);
    let body = json!({ "queue": true, "commitId": "4567def", "context": "checkout fix" });
    let (status, queued) = yard.server.json(reqwest::Method::POST, &path, &mate.token, Some(body)).await;
    assert_eq!(status, 202, "{queued}");
    yard.release("qa-1", &yard.owner, &session).await;
    for event_type in ["session.queued", "session.granted"] {
        let after = yard.event(event_type).await["data"]["after"].clone();
        let shown = (&after["commitId"], &after["context"]);
        assert_eq!(shown, (&json!("4567def"), &json!("checkout fix")), "{event_type}: {after}");
    }
    yard.end().await;
}
