//! Examples of responses for the OpenAPI document: the records of `greenroom_api_types::example` in their
//! envelopes. An operation names its example in its `responses`.

use greenroom_api_types::example;
use serde_json::{Value, json};

pub fn environment() -> Value {
    data(parse(example::ENVIRONMENT))
}

pub fn environments() -> Value {
    data(json!([parse(example::ENVIRONMENT)]))
}

pub fn organization_environments() -> Value {
    let mut listed = of_pipeline(example::ENVIRONMENT);
    listed["template"] = false.into();
    json!({ "data": [listed], "pagination": { "limit": 20, "offset": 0, "total": 1 } })
}

/// Lists contain no remaining times.
pub fn sessions() -> Value {
    let mut listed = of_pipeline(example::SESSION);
    if let Some(fields) = listed.as_object_mut() {
        fields.retain(|name, _| !name.ends_with("RemainingMs"));
    }
    json!({ "data": [listed], "pagination": { "limit": 20, "offset": 0, "total": 1 } })
}

/// A record in a list of all pipelines.
fn of_pipeline(text: &str) -> Value {
    let mut record = parse(text);
    record["pipelineId"] = "pip_0190a0b0-0000-7000-8000-000000000001".into();
    record["pipeline"] = "storefront".into();
    record
}

pub fn session() -> Value {
    data(parse(example::SESSION))
}

pub fn queued_session() -> Value {
    data(parse(example::QUEUED_SESSION))
}

pub fn released_session() -> Value {
    data(parse(example::RELEASED_SESSION))
}

pub fn session_queue() -> Value {
    data(json!([parse(example::QUEUED_SESSION)]))
}

pub fn history() -> Value {
    let pagination = json!({ "page": 1, "limit": 20, "total": 1, "totalPages": 1 });
    json!({ "data": [parse(example::HISTORY_ENTRY)], "pagination": pagination })
}

/// The deployment of the session.
pub fn session_deployment() -> Value {
    data(parse(example::SESSION)["deployments"][0].take())
}

pub fn deployment() -> Value {
    data(parse(example::DEPLOYMENT))
}

/// Lists contain no stages.
pub fn deployments() -> Value {
    let mut summary = parse(example::DEPLOYMENT);
    if let Some(fields) = summary.as_object_mut() {
        fields.remove("stages");
    }
    json!({ "data": [summary], "pagination": { "limit": 20, "offset": 0, "total": 1 } })
}

pub fn accepted_deployment() -> Value {
    data(parse(example::ACCEPTED_DEPLOYMENT))
}

pub fn canceling_deployment() -> Value {
    data(parse(example::CANCELING_DEPLOYMENT))
}

/// The stage of the deployment.
pub fn stage() -> Value {
    data(parse(example::DEPLOYMENT)["stages"][0].take())
}

pub fn attempts() -> Value {
    data(parse(example::ATTEMPTS))
}

fn data(record: Value) -> Value {
    json!({ "data": record })
}

/// A text that is not JSON becomes null, which the tests of the document reject.
fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}
