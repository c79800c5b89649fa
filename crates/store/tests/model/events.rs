//! The events that a step has told, down to the last field of their JSON.

use greenroom_domain::event::EventType;
use greenroom_domain::id::DeploymentId;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::case::{Case, NAMES, REQUEST};
use crate::model::{Expected, Model};
use crate::record::Record;
use crate::told;

#[derive(Debug, PartialEq, sqlx::FromRow)]
struct Event {
    #[sqlx(rename = "type")]
    event_type: String,
    category: String,
    subject: String,
    actor_id: Option<Uuid>,
    data: Value,
}

#[derive(sqlx::FromRow)]
struct Told {
    position: i64,
    #[sqlx(flatten)]
    event: Event,
}

/// Holds what was told since the last look to what the machine said: each effect once, in order.
pub async fn compare(case: &Case, model: &Model) {
    let sql = "select position, type, category, subject, actor_id, data from event_intake
         where organization_id = $1 and position > $2 order by position";
    let told = sqlx::query_as(sql).bind(case.organization().uuid()).bind(case.looked_at.get());
    let told: Vec<Told> = told.fetch_all(&case.ground.pool).await.unwrap();
    if let Some(newest) = told.last() {
        case.looked_at.set(newest.position);
    }
    let told: Vec<Event> = told.into_iter().map(|told| without_deployment_id(told.event)).collect();
    let expected: Vec<Event> = model
        .last
        .iter()
        .flat_map(|expected| expected.told.iter().map(|told| event(case, model, expected, told)))
        .collect();
    assert_eq!(told, expected, "what was told is not what the machine said");
}

fn event(case: &Case, model: &Model, expected: &Expected, told: &told::Told) -> Event {
    let (pipeline, name) = (case.pipeline, NAMES[expected.environment]);
    let person = told.by.map(|user| &case.ground.people[user]);
    let actor = match person {
        Some(person) => json!({
            "id": person.user_id, "name": person.user_name, "kind": person.token_kind, "tokenId": person.token_id,
        }),
        None => json!({ "id": null, "name": "system", "kind": "system", "tokenId": null }),
    };
    let context = if person.is_some() { json!({ "requestId": REQUEST }) } else { json!({}) };
    let mut after = json!({ "sessionId": case.id(told.session), "envName": name, "pipelineId": pipeline });
    if told.is_of_deployment() {
        after["deploymentId"] = json!("one");
        after["commitId"] = json!(record(model, expected, told).commit);
        after["purpose"] = json!("session");
    } else {
        after["fence"] = json!(told.fence);
        // As it is when the step is done.
        after["queueLength"] = json!(model.environments[expected.environment].state.queue.len());
        match told.event_type {
            EventType::SessionOverridden => after["reasonGiven"] = json!(told.reason.is_some()),
            EventType::SessionQueued | EventType::SessionClaimed | EventType::SessionGranted => {
                let record = record(model, expected, told);
                after["context"] = json!(record.context);
                after["commitId"] = json!(record.commit);
            }
            _ => {}
        }
    }
    Event {
        event_type: told.event_type.to_string(),
        category: told.event_type.category().as_str().to_owned(),
        subject: format!("pipelines/{pipeline}/ephemeral-environments/{name}"),
        actor_id: person.map(|person| person.user_id.uuid()),
        data: json!({ "actor": actor, "context": context, "before": null, "after": after, "reason": told.reason }),
    }
}

/// The session that an event is about.
fn record<'a>(model: &'a Model, expected: &Expected, told: &told::Told) -> &'a Record {
    let sessions = &model.environments[expected.environment].sessions;
    sessions.iter().find(|record| record.id == told.session).unwrap()
}

/// The store names its deployments itself.
fn without_deployment_id(mut event: Event) -> Event {
    if let Some(id) = event.data["after"].get_mut("deploymentId") {
        id.as_str().unwrap().parse::<DeploymentId>().unwrap();
        *id = json!("one");
    }
    event
}
