//! Compares the operations of two OpenAPI documents: what an old client sends, and what it reads. Descriptions,
//! examples, defaults, security and how parameters are serialized are not compared.

use std::collections::BTreeMap;

use serde_json::Value;

use super::changes::{Changes, Direction, Place};
use super::fields::Comparison;
use super::operation::{Operation, Parameter, is_required, members, operations};
use super::schema::Document;

/// The media types that keys do not name.
const DEFAULT_MEDIA_TYPES: [&str; 2] = ["application/json", "application/problem+json"];

pub(super) fn compare(old: &Value, new: &Value) -> Changes {
    let mut comparison = Comparison::new(Document::new(old), Document::new(new));
    let (old, new) = (operations(old), operations(new));
    for (address, operation) in &old {
        if let Some(other) = new.get(address) {
            compare_operations(&mut comparison, operation, other);
        } else {
            comparison.changes.breaks_wire(format!("{} removed", operation.label));
        }
    }
    for (_, operation) in new.iter().filter(|(address, _)| !old.contains_key(*address)) {
        comparison.changes.adds(format!("{} added", operation.label));
    }
    comparison.changes
}

fn compare_operations<'a>(comparison: &mut Comparison<'a>, old: &Operation<'a>, new: &Operation<'a>) {
    let id = |operation: &Operation<'a>| operation.value.get("operationId").and_then(Value::as_str);
    if let Some(old_id) = id(old).filter(|old_id| id(new) != Some(*old_id)) {
        let change = id(new).map_or("removed".to_owned(), |new_id| format!("renamed to {new_id}"));
        comparison.changes.breaks_code(format!("{} operationId {old_id} {change}", old.label));
    }
    compare_parameters(comparison, old, new);
    compare_requests(comparison, old, new);
    compare_responses(comparison, old, new);
}

fn compare_parameters<'a>(comparison: &mut Comparison<'a>, old: &Operation<'a>, new: &Operation<'a>) {
    let (old_parameters, new_parameters) = (old.parameters(comparison.old), new.parameters(comparison.new));
    let place = |parameter: &Parameter<'a>| {
        let label = format!("{} parameter {} {}", old.label, parameter.location, parameter.name);
        Place::new(Direction::Request, label)
    };
    for (key, parameter) in &old_parameters {
        let place = place(parameter);
        let Some(other) = new_parameters.get(key) else {
            comparison.changes.breaks_wire(place.key("removed"));
            continue;
        };
        if parameter.location == "path" && parameter.name != other.name {
            comparison.changes.breaks_code(place.key(format_args!("renamed to {}", other.name)));
        }
        if other.is_required && !parameter.is_required {
            comparison.changes.breaks_wire(place.key("became required"));
        }
        comparison.schemas(&parameter.schemas, &other.schemas, &place);
    }
    for (_, parameter) in new_parameters.iter().filter(|(key, _)| !old_parameters.contains_key(*key)) {
        let place = place(parameter);
        if parameter.is_required {
            comparison.changes.breaks_wire(place.key("added as required"));
        } else {
            comparison.changes.adds(place.key("added"));
        }
    }
}

fn compare_requests<'a>(comparison: &mut Comparison<'a>, old: &Operation<'a>, new: &Operation<'a>) {
    let body = |document: Document<'a>, operation: &Operation<'a>| {
        operation.value.get("requestBody").map(|body| document.resolve(body))
    };
    let place = Place::new(Direction::Request, format!("{} request", old.label));
    match (body(comparison.old, old), body(comparison.new, new)) {
        (Some(old_body), Some(new_body)) => {
            if is_required(new_body) && !is_required(old_body) {
                comparison.changes.breaks_wire(place.key("became required"));
            }
            compare_contents(comparison, old_body, new_body, &place);
        }
        (Some(_), None) => comparison.changes.breaks_wire(place.key("removed")),
        (None, Some(body)) if is_required(body) => {
            comparison.changes.breaks_wire(place.key("added as required"));
        }
        (None, Some(_)) => comparison.changes.adds(place.key("added")),
        (None, None) => {}
    }
}

fn compare_responses<'a>(comparison: &mut Comparison<'a>, old: &Operation<'a>, new: &Operation<'a>) {
    let new_responses: BTreeMap<&str, &'a Value> = members(new.value, "responses").collect();
    let old_responses: BTreeMap<&str, &'a Value> = members(old.value, "responses").collect();
    for (status, &response) in &old_responses {
        let place = Place::new(Direction::Response, format!("{} response {status}", old.label));
        let class = status.chars().next().unwrap_or_default();
        let of_class = || new_responses.get(format!("{class}XX").as_str());
        let Some(&other) = new_responses.get(status).or_else(of_class) else {
            if matches!(class, '2' | '3') {
                comparison.changes.breaks_wire(place.key("removed"));
            }
            continue;
        };
        let (response, other) = (comparison.old.resolve(response), comparison.new.resolve(other));
        compare_contents(comparison, response, other, &place);
        let has_header =
            |name: &str| members(other, "headers").any(|(other, _)| other.eq_ignore_ascii_case(name));
        for (name, _) in members(response, "headers").filter(|(name, _)| !has_header(name)) {
            comparison.changes.breaks_wire(place.key(format_args!("header {name} removed")));
        }
    }
    for status in new_responses.keys().filter(|status| !old_responses.contains_key(*status)) {
        comparison.changes.adds(format!("{} response {status} added", old.label));
    }
}

/// Compares the bodies of a request or a response, one for each media type.
fn compare_contents<'a>(comparison: &mut Comparison<'a>, old: &'a Value, new: &'a Value, place: &Place) {
    let schemas = |media: &'a Value| -> Vec<&'a Value> { media.get("schema").into_iter().collect() };
    let new_contents: BTreeMap<&str, &'a Value> = members(new, "content").collect();
    for (name, media) in members(old, "content") {
        if let Some(&other) = new_contents.get(name) {
            let place =
                if DEFAULT_MEDIA_TYPES.contains(&name) { place.clone() } else { place.media_type(name) };
            comparison.schemas(&schemas(media), &schemas(other), &place);
        } else {
            comparison.changes.breaks_wire(place.media_type(name).key("removed"));
        }
    }
    let is_new = |name: &str| members(old, "content").all(|(other, _)| other != name);
    for name in new_contents.into_keys().filter(|name| is_new(name)) {
        comparison.changes.adds(place.media_type(name).key("added"));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::changes::Class;
    use super::*;

    const PATH: &str = "/organizations/{orgId}/sessions";

    /// Returns a document with one operation.
    fn document(path: &str, operation: &Value) -> Value {
        json!({"openapi": "3.1.0", "paths": {path: {"get": operation}}})
    }

    fn operation(responses: &Value) -> Value {
        json!({"operationId": "list_sessions", "responses": responses})
    }

    fn breaks(old: &Value, new: &Value) -> Vec<String> {
        compare(old, new).breaks.into_keys().collect()
    }

    /// Compares two versions of one operation, and returns the breaks without its label.
    fn breaks_of(old: &Value, new: &Value) -> Vec<String> {
        let keys = breaks(&document(PATH, old), &document(PATH, new)).into_iter();
        keys.map(|key| key.strip_prefix("GET /organizations/{orgId}/sessions ").unwrap().to_owned()).collect()
    }

    fn json_body(schema: &Value) -> Value {
        json!({"content": {"application/json": {"schema": schema}}})
    }

    const NONE: [&str; 0] = [];

    #[test]
    fn paths_and_methods_are_not_removed() {
        let old = document(PATH, &operation(&json!({})));
        let mut new = old.clone();
        new["paths"][PATH] = json!({"post": operation(&json!({}))});
        let changes = compare(&old, &new);
        assert_eq!(
            changes.breaks.into_keys().collect::<Vec<_>>(),
            ["GET /organizations/{orgId}/sessions removed"]
        );
        assert_eq!(Vec::from_iter(changes.additions), ["POST /organizations/{orgId}/sessions added"]);
        assert_eq!(breaks(&old, &old), NONE);
    }

    #[test]
    fn names_break_generated_code_only() {
        let parameter = |name: &str| -> Value {
            json!([{"in": "path", "name": name, "required": true, "schema": {"type": "string"}}])
        };
        let old = json!({"operationId": "list_sessions", "parameters": parameter("orgId"), "responses": {}});
        let new =
            json!({"operationId": "sessions", "parameters": parameter("organization"), "responses": {}});
        let changes =
            compare(&document(PATH, &old), &document("/organizations/{organization}/sessions", &new));
        let expected = [
            (
                "GET /organizations/{orgId}/sessions operationId list_sessions renamed to sessions"
                    .to_owned(),
                Class::Code,
            ),
            (
                "GET /organizations/{orgId}/sessions parameter path orgId renamed to organization".to_owned(),
                Class::Code,
            ),
        ];
        assert_eq!(Vec::from_iter(changes.breaks), expected);
        assert_eq!(
            breaks_of(&old, &json!({"parameters": parameter("orgId")})),
            ["operationId list_sessions removed"]
        );
    }

    #[test]
    fn parameters_are_not_removed_or_narrowed_and_new_ones_are_optional() {
        let parameter = |location: &str, name: &str, required: bool, schema: Value| -> Value {
            json!({"in": location, "name": name, "required": required, "schema": schema})
        };
        let with = |parameters: Value| -> Value {
            json!({"operationId": "list_sessions", "parameters": parameters, "responses": {}})
        };
        let text = json!({"type": "string"});
        let old = with(json!([
            parameter("query", "limit", false, json!({"type": "integer", "maximum": 100})),
            parameter("query", "status", false, text.clone()),
            parameter("header", "If-Match", false, text.clone()),
            parameter("query", "mine", false, json!({"type": "boolean"})),
        ]));
        let new = with(json!([
            parameter("query", "limit", false, json!({"type": "integer", "maximum": 50})),
            parameter("query", "status", true, text.clone()),
            parameter("header", "if-match", false, text.clone()),
            parameter("query", "from", true, text.clone()),
            parameter("query", "to", false, text),
        ]));
        let expected = [
            "parameter query from added as required",
            "parameter query limit maximum lowered to 50",
            "parameter query mine removed",
            "parameter query status became required",
        ];
        assert_eq!(breaks_of(&old, &new), expected);
    }

    #[test]
    fn parameters_responses_and_bodies_can_be_moved_into_components() {
        let limit = json!({"in": "query", "name": "limit", "schema": {"type": "integer"}});
        let record = json!({"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}});
        let old = document(
            PATH,
            &json!({
                "operationId": "list_sessions",
                "parameters": [limit],
                "requestBody": json_body(&record),
                "responses": {"200": json_body(&json!({"type": "object", "properties": {"data": record}}))},
            }),
        );
        let moved = json!({
            "openapi": "3.1.0",
            "paths": {PATH: {
                "parameters": [{"$ref": "#/components/parameters/Limit"}],
                "get": {
                    "operationId": "list_sessions",
                    "requestBody": {"$ref": "#/components/requestBodies/Record"},
                    "responses": {"200": {"$ref": "#/components/responses/Record"}},
                },
            }},
            "components": {
                "parameters": {"Limit": limit},
                "requestBodies": {"Record": json_body(&json!({"$ref": "#/components/schemas/Record"}))},
                "responses": {"Record": json_body(&json!({"$ref": "#/components/schemas/RecordResponse"}))},
                "schemas": {
                    "Record": record,
                    "RecordResponse": {"type": "object", "properties": {"data": {"$ref": "#/components/schemas/Record"}}},
                },
            },
        });
        assert_eq!(breaks(&old, &moved), NONE);
        assert_eq!(breaks(&moved, &old), NONE);
    }

    #[test]
    fn a_request_body_is_not_removed_and_not_demanded() {
        let with = |body: Option<Value>| match body {
            Some(body) => json!({"operationId": "list_sessions", "requestBody": body}),
            None => json!({"operationId": "list_sessions"}),
        };
        let body = |required: bool| {
            let mut body = json_body(&json!({"type": "object"}));
            body["required"] = json!(required);
            Some(body)
        };
        assert_eq!(breaks_of(&with(body(false)), &with(None)), ["request removed"]);
        assert_eq!(breaks_of(&with(None), &with(body(true))), ["request added as required"]);
        assert_eq!(breaks_of(&with(None), &with(body(false))), NONE);
        assert_eq!(breaks_of(&with(body(false)), &with(body(true))), ["request became required"]);
        assert_eq!(breaks_of(&with(body(true)), &with(body(false))), NONE);
    }

    #[test]
    fn successes_are_not_removed_and_errors_may_be() {
        let record = |name: &str| json_body(&json!({"type": "object", "properties": {name: {}}}));
        let old = operation(&json!({"200": record("a"), "201": record("a"), "404": record("b"), "409": {}}));
        let new = operation(&json!({"2XX": record("a"), "404": record("c")}));
        assert_eq!(breaks_of(&old, &new), ["response 404 /b removed"]);
        let new = operation(&json!({"200": record("a"), "204": {}}));
        assert_eq!(breaks_of(&old, &new), ["response 201 removed"]);
    }

    #[test]
    fn media_types_and_headers_of_a_response_are_not_removed() {
        let text = json!({"schema": {"type": "string"}});
        let old = operation(&json!({"200": {
            "headers": {"ETag": {}, "Retry-After": {}},
            "content": {"text/plain": text, "text/markdown": text},
        }}));
        let new = operation(&json!({"200": {
            "headers": {"etag": {}},
            "content": {"text/plain": {"schema": {"type": "integer"}}, "application/json": text},
        }}));
        let expected = [
            "response 200 header Retry-After removed",
            "response 200 text/markdown removed",
            "response 200 text/plain type changed from string to integer",
        ];
        assert_eq!(breaks_of(&old, &new), expected);
    }
}
