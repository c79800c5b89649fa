//! The OpenAPI document: the committed, served and generated ones are the same, and it is complete.

use std::collections::HashSet;

use greenroom_server::http::document;
use serde_json::{Map, Value};

use crate::document::generated;
use crate::support::database::TestDatabase;
use crate::support::{TestServer, in_hours};

/// A shorter description can't state how long something is kept or valid, in which order it comes, and what
/// happens if the request is repeated.
const MIN_DESCRIPTION_LENGTH: usize = 80;

const METHODS: [&str; 5] = ["get", "put", "post", "delete", "patch"];

fn operations(document: &Value) -> Vec<(String, &Value)> {
    let paths = document["paths"].as_object().unwrap();
    let items = paths.iter().flat_map(|(path, item)| {
        item.as_object()
            .unwrap()
            .iter()
            .map(move |(method, operation)| (format!("{method} {path}"), operation))
    });
    items.filter(|(name, _)| METHODS.iter().any(|method| name.starts_with(&format!("{method} ")))).collect()
}

/// Whether the operation needs neither a token nor a cookie.
fn is_public(operation: &Value) -> bool {
    let schemes = operation["security"].as_array();
    schemes.is_some_and(|schemes| schemes.iter().all(|scheme| scheme.as_object().is_some_and(Map::is_empty)))
}

#[test]
fn the_committed_document_matches_the_code() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../openapi/api.json");
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    let generated = serde_json::to_string_pretty(&document()).unwrap() + "\n";
    let line = committed.lines().zip(generated.lines()).position(|(old, new)| old != new);
    assert!(
        committed == generated,
        "openapi/api.json differs from the code (first in line {:?}): run `cargo xtask openapi` and commit it",
        line.map(|line| line + 1)
    );
}

#[tokio::test]
async fn the_served_document_matches_the_code() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let served = server.client.get(format!("{}/openapi.json", server.base)).send().await.unwrap();
    assert_eq!(served.headers()["content-type"], "application/json");
    let tag = served.headers()["etag"].clone();
    assert_eq!(served.json::<Value>().await.unwrap(), document());
    let again = server.client.get(format!("{}/openapi.json", server.base)).header("if-none-match", tag);
    assert_eq!(again.send().await.unwrap().status(), 304);
    server.end().await;
}

#[test]
fn every_operation_is_complete() {
    let document = generated();
    assert!(document["openapi"].as_str().is_some_and(|version| version.starts_with("3.1")));
    let (mut ids, operations) = (HashSet::new(), operations(&document));
    assert!(operations.len() >= 24, "{}", operations.len());
    for (name, operation) in operations {
        let id = operation["operationId"].as_str().unwrap_or_default();
        assert!(!id.is_empty() && ids.insert(id), "{name}: operationId `{id}`");
        assert!(operation["tags"].as_array().is_some_and(|tags| tags.len() == 1), "{name}: one tag");
        let text = |field: &str| operation[field].as_str().unwrap_or_default();
        let (summary, description) = (text("summary"), text("description"));
        assert!(summary.len() > 3, "{name}: a summary");
        assert!(
            description.len() >= MIN_DESCRIPTION_LENGTH
                && description.ends_with('.')
                && description != summary,
            "{name}: a description with the rules of time and order: {description:?}"
        );
        let responses = operation["responses"].as_object().unwrap();
        assert!(responses.keys().any(|status| status.starts_with(['2', '3'])), "{name}: no success response");
        let public = is_public(operation);
        let mut problems = vec!["429", "503"];
        if !public {
            problems.extend(["401", "403", "404", "422"]);
        }
        if !name.starts_with("get ") {
            problems.extend(["400", "409"]);
        }
        if operation.get("requestBody").is_some() {
            problems.extend(["408", "413", "415"]);
        }
        let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
        let takes = |header: &str| parameters.iter().any(|p| p["name"] == header && p["in"] == "header");
        if takes("If-Match") {
            problems.push("412");
        }
        if takes("Range") {
            problems.extend(["400", "416"]);
        }
        for status in problems {
            let schema = &responses[status]["content"]["application/problem+json"]["schema"]["$ref"];
            assert_eq!(schema, "#/components/schemas/Problem", "{name}: {status}");
        }
        for header in ["Retry-After", "RateLimit", "RateLimit-Policy"] {
            assert!(responses["429"]["headers"][header].is_object(), "{name}: {header}");
        }
        for (status, response) in responses {
            assert!(response["headers"]["X-Request-Id"].is_object(), "{name}: {status}: X-Request-Id");
            assert!(response["description"].is_string(), "{name}: {status}");
        }
        let path = name.split(' ').nth(1).unwrap();
        for variable in path.split('{').skip(1).map(|rest| rest.split('}').next().unwrap()) {
            let found = parameters
                .iter()
                .any(|p| p["name"] == variable && p["in"] == "path" && p["required"] == true);
            assert!(found, "{name}: {variable}");
        }
    }
}

#[test]
fn every_reference_resolves() {
    let document = document();
    let (mut waiting, mut references) = (vec![&document], HashSet::new());
    while let Some(value) = waiting.pop() {
        match value {
            Value::Object(fields) => {
                if let Some(Value::String(reference)) = fields.get("$ref") {
                    references.insert(reference.as_str());
                }
                waiting.extend(fields.values());
            }
            Value::Array(items) => waiting.extend(items),
            _ => {}
        }
    }
    assert!(references.len() > 10, "{}", references.len());
    for reference in &references {
        let pointer = reference.strip_prefix('#').unwrap_or("no such place");
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
}

#[tokio::test]
async fn every_path_is_served() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let document = generated();
    for (name, operation) in operations(&document) {
        let (method, path) = name.split_once(' ').unwrap();
        let url = format!("{}{}", server.base, path.replace(['{', '}'], ""));
        let request = server.client.request(method.to_uppercase().parse().unwrap(), url);
        let status = request.send().await.unwrap().status().as_u16();
        let public = is_public(operation);
        let expected = match path {
            // No body, and no provider of that name.
            "/auth/password" | "/auth/link" | "/auth/setup" => 422,
            "/auth/oidc/{provider}/start" | "/auth/oidc/{provider}/callback" => 404,
            _ if public => 200,
            _ => 401,
        };
        assert_eq!(status, expected, "{name}");
    }
    server.end().await;
}

/// Every request has an example, with which Swagger fills its forms, and the server accepts it.
#[tokio::test]
async fn the_examples_of_requests_are_valid() {
    let (_database, pool) = TestDatabase::create().await;
    let server = TestServer::start(&pool).await;
    let owner = server.organization("acme").await;
    let definition = "ephemeralEnvironments: { qa-1: { labels: [qa] } }
environments: { production: {} }
stages:
  deploy: { only: ephemeral, steps: [{ image: a, run: 'true' }] }
  release: { environment: production, steps: [{ image: a, run: 'true' }] }";
    let body = serde_json::json!({ "name": "Storefront", "slug": "storefront", "definition": definition });
    let (status, made) =
        server.json(reqwest::Method::POST, "/organizations/acme/pipelines", &owner.token, Some(body)).await;
    assert_eq!(status, 201, "{made}");
    let document = generated();
    let mut tried = 0;
    for (name, operation) in operations(&document) {
        let Some(content) = operation["requestBody"]["content"].get("application/json") else { continue };
        let schema = &content["schema"];
        let reference = schema["$ref"].as_str().or_else(|| schema["oneOf"][0]["$ref"].as_str()).unwrap();
        let mut example = document.pointer(reference.strip_prefix('#').unwrap()).unwrap()["example"].clone();
        assert!(example.is_object(), "{name}: {reference} has no example");
        // An end in the past is rejected.
        if example.get("until").is_some() {
            example["until"] = serde_json::json!(in_hours(1));
        }
        let (method, path) = name.split_once(' ').unwrap();
        let mut path = path.to_owned();
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            if parameter["in"] == "path" {
                let value = parameter["schema"]["example"].as_str().unwrap();
                path = path.replace(&format!("{{{}}}", parameter["name"].as_str().unwrap()), value);
            }
        }
        let method = method.to_uppercase().parse().unwrap();
        let response = server.send(method, &path, Some(&owner.token), Some(example)).await;
        let status = response.status().as_u16();
        // An example is no valid code and no valid password.
        let is_refused_sign_in = status == 401 && path.starts_with("/auth/");
        // No registry has published anything.
        let is_unresolved = status == 422 && path.ends_with("/step-registries/resolve");
        assert!(
            is_refused_sign_in || is_unresolved || !matches!(status, 400 | 401 | 415 | 422 | 500..),
            "{name} returns {status} for its own example: {}",
            response.text().await.unwrap()
        );
        tried += 1;
    }
    assert!(tried >= 20, "{tried}");
    server.end().await;
}

/// Operations are in the order in which users need them, and every group has a description.
#[test]
fn groups_are_described_and_in_order() {
    let document = generated();
    let tags: Vec<&str> =
        document["tags"].as_array().unwrap().iter().map(|tag| tag["name"].as_str().unwrap()).collect();
    assert_eq!(tags[0], "environments");
    for (name, operation) in operations(&document) {
        assert!(tags.contains(&operation["tags"][0].as_str().unwrap()), "{name}");
    }
}

#[test]
fn nothing_is_written_twice() {
    let document = document();
    let components = document["components"].as_object().unwrap();
    let mut references = HashSet::new();
    let mut waiting = vec![&document["paths"], &document["components"]];
    while let Some(value) = waiting.pop() {
        if let Some(reference) = value["$ref"].as_str() {
            references.insert(reference.to_owned());
        }
        match value {
            Value::Object(fields) => waiting.extend(fields.values()),
            Value::Array(items) => waiting.extend(items),
            _ => {}
        }
    }
    for kind in ["schemas", "responses", "parameters", "headers"] {
        for name in components[kind].as_object().unwrap().keys() {
            assert!(
                references.contains(&format!("#/components/{kind}/{name}")),
                "nothing refers to {kind}/{name}"
            );
            assert!(!name.contains('_'), "{kind}/{name} is no name of a type");
        }
    }
    // A copy of a record within another schema.
    let records = components["schemas"].as_object().unwrap();
    let records: HashSet<String> = records
        .values()
        .filter(|schema| schema.get("properties").is_some())
        .map(ToString::to_string)
        .collect();
    let mut waiting: Vec<&Value> = vec![&document["paths"]];
    waiting.extend(components["schemas"].as_object().unwrap().values().flat_map(children));
    while let Some(value) = waiting.pop() {
        assert!(!records.contains(&value.to_string()), "a copy of a component: {value}");
        waiting.extend(children(value));
    }
}

fn children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Object(fields) => fields.values().collect(),
        Value::Array(items) => items.iter().collect(),
        _ => Vec::new(),
    }
}
