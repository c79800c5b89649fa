//! Enumerated texts in the OpenAPI document: none is a bare string, and those of deployments are open.

use std::collections::BTreeSet;

use greenroom_api_types::open_enum::OPEN;
use reqwest::Method;
use serde_json::{Value, json};

use crate::document::committed;
use crate::requests::wrong_field;
use crate::support::TestServer;
use crate::support::database::TestDatabase;

/// Fields and parameters with the name of an enumeration that accept any text, by schema or path, and why.
const FREE_TEXT: [(&str, &str, &str); 18] = [
    ("ApprovalOverride", "reason", "an admin explains the override"),
    ("GateOverride", "reason", "an admin explains the override"),
    ("OverrideGates", "reason", "an admin explains the override"),
    ("CreateFreeze", "reason", "an admin explains the freeze"),
    ("EnvironmentFreeze", "reason", "an admin explains the freeze"),
    ("EnvironmentHold", "reason", "the holder explains the hold"),
    ("Freeze", "reason", "an admin explains the freeze"),
    ("UpdateFreeze", "reason", "an admin explains the freeze"),
    ("HoldEnvironment", "reason", "the holder explains the hold"),
    ("GiveUp", "reason", "an admin explains the request"),
    ("Override", "reason", "the context that a user gave for the force claim"),
    ("PipelineStop", "reason", "the user who stopped the pipeline explains it"),
    ("ResumePipeline", "reason", "a user explains the request"),
    ("StepRun", "reason", "the runner explains the outcome to people; the code is in the stage"),
    ("StopPipeline", "reason", "a user explains the request"),
    ("StepYank", "reason", "an admin explains why the version is withdrawn"),
    ("YankStepVersion", "reason", "an admin explains why the version is withdrawn"),
    ("WaitingOn", "reason", "the holder of the environment explains the hold"),
];

fn is_enumeration(name: &str) -> bool {
    matches!(name, "status" | "reason" | "purpose" | "trigger") || name.ends_with("Status")
}

/// Returns whether the schema, or one of its alternatives, allows a string and does not list the values.
fn is_bare_string(document: &Value, schema: &Value) -> bool {
    if let Some(reference) = schema["$ref"].as_str() {
        return is_bare_string(document, document.pointer(reference.trim_start_matches('#')).unwrap());
    }
    let alternatives = ["oneOf", "anyOf", "allOf"].into_iter().filter_map(|key| schema[key].as_array());
    if alternatives.flatten().any(|schema| is_bare_string(document, schema)) {
        return true;
    }
    let is_string = match &schema["type"] {
        Value::Array(types) => types.iter().any(|only| only == "string"),
        only => only == "string",
    };
    is_string && schema.get("enum").is_none()
}

/// Collects the bare strings among the fields and parameters below `value`, each as `(owner, name)`.
fn collect(document: &Value, owner: &str, value: &Value, found: &mut BTreeSet<(String, String)>) {
    match value {
        Value::Object(members) => {
            let fields = members.get("properties").and_then(Value::as_object).into_iter().flatten();
            let parameter = members.get("in").and(members.get("name")).and_then(Value::as_str);
            let parameter = parameter.map(|name| (name, &value["schema"]));
            for (name, schema) in fields.map(|(name, schema)| (name.as_str(), schema)).chain(parameter) {
                if is_enumeration(name) && is_bare_string(document, schema) {
                    found.insert((owner.to_owned(), name.to_owned()));
                }
            }
            members.values().for_each(|member| collect(document, owner, member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(document, owner, item, found)),
        _ => {}
    }
}

fn bare_strings(document: &Value) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        collect(document, name, schema, &mut found);
    }
    for (path, item) in document["paths"].as_object().unwrap() {
        collect(document, path, item, &mut found);
    }
    found
}

#[test]
fn no_enumeration_is_a_bare_string() {
    let allowed: BTreeSet<_> =
        FREE_TEXT.iter().map(|(schema, field, _)| ((*schema).to_owned(), (*field).to_owned())).collect();
    assert_eq!(bare_strings(&committed()), allowed, "type the field, or add it to FREE_TEXT with the reason");
}

#[test]
fn the_search_finds_fields_and_parameters() {
    let document = json!({
        "components": { "schemas": {
            "Text": { "type": "string" },
            "Thing": { "properties": { "data": { "properties": {
                "status": { "type": ["string", "null"] },
                "lastStatus": { "oneOf": [{ "$ref": "#/components/schemas/Text" }, { "type": "null" }] },
                "purpose": { "type": "string", "enum": ["a"] },
            } } } },
        } },
        "paths": { "/things": { "get": { "parameters": [
            { "name": "status", "in": "query", "schema": { "type": "string" } },
            { "name": "limit", "in": "query", "schema": { "type": "integer" } },
        ] } } },
    });
    let found = bare_strings(&document);
    let found: Vec<(&str, &str)> = found.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    assert_eq!(found, [("/things", "status"), ("Thing", "lastStatus"), ("Thing", "status")]);
}

#[test]
fn an_open_enum_states_that_it_is_open() {
    let document = committed();
    let schemas = document["components"]["schemas"].as_object().unwrap();
    let open: Vec<&str> = schemas
        .iter()
        .filter(|(_, schema)| schema.get("x-extensible-enum").is_some())
        .map(|(name, schema)| {
            assert!(schema["description"].as_str().is_some_and(|text| text.ends_with(OPEN)), "{name}");
            assert_eq!(schema["x-extensible-enum"], schema["enum"], "{name}");
            name.as_str()
        })
        .collect();
    let expected = [
        "AnalysisReason",
        "AnalysisStatus",
        "ApprovalStatus",
        "AttemptStatus",
        "CommitListStatus",
        "DeploymentPurpose",
        "DeploymentReason",
        "DeploymentStatus",
        "DeploymentTrigger",
        "EvidenceStatus",
        "FailureCategory",
        "FailureEndKind",
        "FailureVerdict",
        "FixReason",
        "FixSource",
        "FixStatus",
        "ForgeKind",
        "ModelConfidence",
        "ModelProtocol",
        "NoticeKind",
        "RunnerStatus",
        "SecretScope",
        "SecretUseKind",
        "SecretVersionStatus",
        "SignInMethod",
        "StageStatus",
        "StepRegistryStatus",
        "StepStatus",
        "VerdictReason",
        "VoteDecision",
    ];
    assert_eq!(open, expected);
}

/// An empty list would look as if there were no such deployments.
#[tokio::test]
async fn an_unknown_filter_value_is_refused_with_the_nearest() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    for (path, name, suggestion) in [
        ("/deployments?status=cancelled", "status", "canceled"),
        ("/deployments?status=queued,runing", "status", "running"),
        ("/approvals?status=aproved", "status", "approved"),
        ("/failures?verdict=flakey", "verdict", "flaky"),
    ] {
        let refused =
            wrong_field(server.request(&owner, Method::GET, path).send().await.unwrap(), name).await;
        assert_eq!(refused["errors"][0]["suggestion"], suggestion, "{path}: {refused}");
        assert!(refused["errors"][0]["expected"].as_array().is_some_and(|all| all.len() > 3), "{path}");
    }
    for path in [
        "/deployments?status=queued,running",
        "/approvals?status=pending",
        "/failures?verdict=flaky,yours&from=2026-01-01T00:00:00Z&to=2026-02-01T00:00:00Z",
        "/failures?since=2026-01-01T00:00:00Z",
        "/events?actor=me",
    ] {
        server.get(&owner, path).await;
    }
    server.end().await;
}
