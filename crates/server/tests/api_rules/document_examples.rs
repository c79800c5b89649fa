//! Examples in the OpenAPI document: responses with environments, sessions and deployments have one, and each is
//! valid. That they have the form of real responses is tested in `deployments/examples.rs`.

use greenroom_api_types::problem::Problem;
use reqwest::Method;
use serde_json::{Value, json};

use crate::document::generated;
use crate::requests::problem;
use crate::support::TestServer;
use crate::support::database::TestDatabase;

/// Schemas of responses that have an example.
const SCHEMAS: [&str; 10] = [
    "AttemptList",
    "DeploymentPage",
    "DeploymentResponse",
    "EnvironmentResponse",
    "Environments",
    "History",
    "SessionDeploymentResponse",
    "SessionQueue",
    "SessionResponse",
    "StageResponse",
];

/// Operations without an example of their own, and why.
const WITHOUT: [(&str, &str); 8] = [
    ("cancel_stage", "a deployment, as `cancel_deployment` returns it"),
    ("give_up_deployment", "a deployment, as `cancel_deployment` returns it"),
    ("give_up_stage", "a deployment, as `cancel_deployment` returns it"),
    ("override_gates", "a deployment, as `get_deployment` returns it"),
    ("repeat_cleanup", "a deployment that was accepted, as `create_deployment` returns it"),
    ("request_handover", "a session in the queue, as `claim_session` returns it"),
    ("retry_stage", "a deployment, as `get_deployment` returns it"),
    ("transfer_session", "an active session, as `claim_session` returns it"),
];

/// A validator of one schema of the document.
fn validator(document: &Value, schema: &str) -> jsonschema::Validator {
    let reference = format!("#/components/schemas/{schema}");
    let schema = json!({ "$ref": reference, "components": document["components"] });
    jsonschema::validator_for(&schema).unwrap()
}

#[track_caller]
fn is_valid(document: &Value, schema: &str, value: &Value) {
    let errors: Vec<String> =
        validator(document, schema).iter_errors(value).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{schema}: {errors:?}: {value:#}");
}

#[test]
fn responses_have_valid_examples() {
    let document = generated();
    let operations =
        document["paths"].as_object().unwrap().values().flat_map(|item| item.as_object().unwrap());
    let (mut found, mut without) = (0, Vec::new());
    for (_, operation) in operations {
        let id = operation["operationId"].as_str().unwrap();
        let successes = operation["responses"].as_object().unwrap().iter();
        for (_, response) in successes.filter(|(status, _)| status.starts_with('2')) {
            let content = &response["content"]["application/json"];
            let Some(schema) = content["schema"]["$ref"].as_str().and_then(|text| text.rsplit('/').next())
            else {
                continue;
            };
            match content.get("example") {
                Some(example) => {
                    is_valid(&document, schema, example);
                    found += 1;
                }
                None if SCHEMAS.contains(&schema) => without.push(id),
                None => {}
            }
        }
    }
    without.sort_unstable();
    assert_eq!(without, WITHOUT.map(|(operation, _)| operation), "responses without an example");
    assert_eq!(found, 26);
}

/// The examples of request bodies are valid too.
#[test]
fn request_bodies_have_valid_examples() {
    let document = generated();
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        if let Some(example) = schema.get("example") {
            is_valid(&document, name, example);
        }
    }
}

#[tokio::test]
async fn the_actions_of_a_refusal_match_the_document() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let member = server.member(&owner, "acme", "developer").await;
    let definition = "ephemeralEnvironments: { qa-1: { labels: [qa] } }
stages: { deploy: { only: ephemeral, steps: [{ image: a, run: 'true' }] } }";
    server.post(&owner, "/pipelines", json!({ "name": "Shop", "definition": definition })).await;
    let environments = "/pipelines/shop/ephemeral-environments";
    server.post(&owner, &format!("{environments}/qa-1/sessions"), json!({ "context": "Checkout fix" })).await;
    let document = generated();
    for (caller, path, body, code, actions) in [
        (
            &member,
            "qa-1/sessions",
            json!({}),
            "environment_locked",
            vec!["queue", "request_handover", "force_claim"],
        ),
        (
            &owner,
            "qa-1/sessions",
            json!({}),
            "held_by_you",
            vec!["queue", "continue", "deploy", "release", "force_claim"],
        ),
        (&member, "claim", json!({ "labels": ["qa"] }), "pool_exhausted", vec!["queue", "wait"]),
    ] {
        let request = server.request(caller, Method::POST, &format!("{environments}/{path}")).json(&body);
        let refused = problem(request.send().await.unwrap(), 409, code).await;
        is_valid(&document, "Problem", &refused);
        let typed: Problem = serde_json::from_value(refused.clone()).unwrap();
        let names: Vec<&str> = typed.actions.iter().map(|request| request.action.as_str()).collect();
        assert_eq!(names, actions, "{code}");
        assert_eq!(serde_json::to_value(&typed).unwrap(), refused, "{code}");
    }
    server.end().await;
}
