//! Compares the events of a step with the model, including every field of their JSON.

use greenroom_domain::event::EventType;
use greenroom_domain::id::{DeploymentId, UserId};
use greenroom_store::environment::LockView;
use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::expected_event::ExpectedEvent;
use crate::fixture::{ModelFixture, NAMES, REQUEST};
use crate::model::{Expected, Model};
use crate::record::Record;

#[derive(Debug, PartialEq, sqlx::FromRow)]
struct EventRow {
    #[sqlx(rename = "type")]
    event_type: String,
    category: String,
    subject: String,
    actor_id: Option<Uuid>,
    data: Value,
}

#[derive(sqlx::FromRow)]
struct StoredEvent {
    position: i64,
    #[sqlx(flatten)]
    event: EventRow,
}

/// Compares the events since the last comparison with the machine's effects: each effect once, in order.
pub async fn compare(fixture: &ModelFixture, model: &Model) {
    let sql = "select position, type, category, subject, actor_id, data from event_intake
         where organization_id = $1 and position > $2 order by position";
    let stored =
        sqlx::query_as(sql).bind(fixture.organization().uuid()).bind(fixture.last_event_position.get());
    let stored: Vec<StoredEvent> = stored.fetch_all(&fixture.shared.pool).await.unwrap();
    if let Some(newest) = stored.last() {
        fixture.last_event_position.set(newest.position);
    }
    let mut stored: Vec<EventRow> =
        stored.into_iter().map(|stored| without_deployment(stored.event)).collect();
    if let Some(expected) = &model.last {
        compare_locks(fixture, expected, &mut stored).await;
    }
    let expected: Vec<EventRow> = model
        .last
        .iter()
        .flat_map(|expected| {
            expected.events.iter().map(|event| expected_row(fixture, model, expected, event))
        })
        .collect();
    assert_eq!(stored, expected, "the events differ from the machine's effects");
}

fn expected_row(
    fixture: &ModelFixture,
    model: &Model,
    expected: &Expected,
    event: &ExpectedEvent,
) -> EventRow {
    let (pipeline, name) = (fixture.pipeline, NAMES[expected.environment]);
    let person = event.by.map(|user| &fixture.shared.people[user]);
    let actor = match person {
        Some(person) => json!({
            "id": person.user_id, "name": person.user_name, "kind": person.token_kind,
            "tokenId": person.credential.token(),
        }),
        None => json!({ "id": null, "name": "system", "kind": "system", "tokenId": null }),
    };
    let context = if person.is_some() { json!({ "requestId": REQUEST }) } else { json!({}) };
    let mut after =
        json!({ "sessionId": fixture.id(event.session), "envName": name, "pipelineId": pipeline });
    if event.is_of_deployment() {
        after["deploymentId"] = json!("one");
        after["commitId"] = json!(record(model, expected, event).commit);
        after["purpose"] = json!("session");
    } else {
        after["fence"] = json!(event.fence);
        // The length of the queue after the step.
        after["queueLength"] = json!(model.environments[expected.environment].state.queue.len());
        match event.event_type {
            EventType::SessionOverridden => after["reasonGiven"] = json!(event.reason.is_some()),
            EventType::SessionQueued | EventType::SessionClaimed | EventType::SessionGranted => {
                let record = record(model, expected, event);
                after["context"] = json!(record.context);
                after["commitId"] = json!(record.commit);
            }
            _ => {}
        }
    }
    EventRow {
        event_type: event.event_type.to_string(),
        category: event.event_type.category().as_str().to_owned(),
        subject: format!("pipelines/{pipeline}/ephemeral-environments/{name}"),
        actor_id: person.map(|person| person.user_id.uuid()),
        data: json!({ "actor": actor, "context": context, "before": null, "after": after, "reason": event.reason }),
    }
}

/// Returns the record of the event's session.
fn record<'a>(model: &'a Model, expected: &Expected, event: &ExpectedEvent) -> &'a Record {
    let sessions = &model.environments[expected.environment].sessions;
    sessions.iter().find(|record| record.id == event.session).unwrap()
}

/// Replaces the deployment's id, because the store generates it, and removes the deployment itself after a
/// comparison with the event's other fields.
fn without_deployment(mut event: EventRow) -> EventRow {
    let after = event.data["after"].as_object_mut().unwrap();
    if let Some(id) = after.get_mut("deploymentId") {
        id.as_str().unwrap().parse::<DeploymentId>().unwrap();
        let id = std::mem::replace(id, json!("one"));
        let deployment = after.remove("deployment").unwrap();
        assert_eq!((&deployment["id"], &deployment["commitId"]), (&id, &after["commitId"]));
        let status = event.event_type.strip_prefix("deployment.").unwrap();
        assert_eq!((&deployment["status"], &deployment["purpose"]), (&json!(status), &json!("session")));
    }
    event
}

/// Removes the locks from the events of sessions. Each has to be the lock that a read returns after the step.
async fn compare_locks(fixture: &ModelFixture, expected: &Expected, stored: &mut [EventRow]) {
    let name = NAMES[expected.environment];
    let read = fixture.shared.store.environment(fixture.organization(), fixture.pipeline, name);
    let read = read_lock(&read.await.unwrap().unwrap().lock);
    for event in stored.iter_mut().filter(|event| event.event_type.starts_with("session.")) {
        let mut lock = event.data["after"].as_object_mut().unwrap().remove("lock").unwrap();
        if let Some(at) = lock.as_object_mut().unwrap().remove("maxExpiresAt") {
            let time = |at: &Value| at.as_str().unwrap().parse::<Timestamp>().unwrap();
            assert!(time(&at) >= time(&lock["expiresAt"]), "{at}: {lock}");
        }
        assert_eq!(lock, read, "the lock in {} differs from the environment's", event.event_type);
    }
}

/// Returns a lock with the fields that it has in a response.
fn read_lock(lock: &LockView) -> Value {
    let Some(holder) = &lock.holder else {
        return json!({ "status": "free", "queueLength": lock.queue_length });
    };
    let person = |id: UserId, name: &str, kind: &str, token: Option<&str>| {
        let mut person = json!({ "id": id, "name": name, "kind": kind });
        if let Some(token) = token {
            person["token"] = json!(token);
        }
        person
    };
    let token = holder.token.as_ref().map(|token| token.name.as_str());
    let mut read = json!({
        "status": "locked",
        "sessionId": holder.session_id,
        "holder": person(holder.user_id, &holder.name, &holder.kind, token),
        "claimedAt": holder.claimed_at,
        "expiresAt": holder.expires_at,
        "fence": holder.fence,
        "queueLength": lock.queue_length,
    });
    for (name, value) in [("context", &holder.context), ("commitId", &holder.commit_id)] {
        if value.is_some() {
            read[name] = json!(value);
        }
    }
    if !holder.confirmed {
        read["confirmBy"] = json!(holder.expires_at);
    }
    if let Some(handover) = &lock.handover {
        read["handover"] = json!({
            "requestedBy":
                person(handover.user_id, &handover.name, &handover.kind, handover.token_name.as_deref()),
            "context": handover.context,
            "requestedAt": handover.requested_at,
            "dueAt": handover.due_at,
            "onSilence": if handover.accepts { "accept" } else { "lapse" },
            "sessionId": handover.session_id,
        });
    }
    read
}
