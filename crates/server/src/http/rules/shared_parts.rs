//! The last pass over the OpenAPI document: what several operations have in common is written once, in `components`, and
//! referred to. Generators make one type of it then, and one name.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

/// A parameter that more operations than these have is written once.
const MAX_COPIES: usize = 3;
const METHODS: [&str; 5] = ["get", "put", "post", "delete", "patch"];

/// The names of the problem responses, by status.
const RESPONSES: &[(&str, &str)] = &[
    ("400", "BadRequest"),
    ("401", "Unauthorized"),
    ("403", "Forbidden"),
    ("404", "NotFound"),
    ("408", "RequestTimeout"),
    ("409", "Conflict"),
    ("410", "Gone"),
    ("412", "PreconditionFailed"),
    ("413", "BodyTooLarge"),
    ("415", "UnsupportedMediaType"),
    ("416", "RangeNotSatisfiable"),
    ("422", "InvalidRequest"),
    ("429", "TooManyRequests"),
    ("503", "Unavailable"),
];

pub fn share(document: &mut Value) {
    operations_mut(document).for_each(make_body_optional);
    refer_to_schemas(document);
    rename_schemas(document);
    share_headers(document);
    share_responses(document);
    share_parameters(document);
    remove_unused_schemas(document);
}

/// A body that may be left out is described as one that is not required. `Option` describes one that may be `null`.
fn make_body_optional(operation: &mut Value) {
    let Some(body) = operation.get_mut("requestBody") else { return };
    let contents =
        body.get_mut("content").and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut);
    let mut is_optional = false;
    for schema in contents.filter_map(|content| content.get_mut("schema")) {
        let choices = schema.get("oneOf").and_then(Value::as_array);
        let is_null = |choice: &&Value| choice["type"] == "null";
        if let Some(choices) = choices.filter(|choices| choices.iter().any(|choice| is_null(&choice)))
            && let Some(given) = choices.iter().find(|choice| !is_null(choice)).cloned()
        {
            *schema = given;
            is_optional = true;
        }
    }
    if is_optional {
        body["required"] = false.into();
    }
}

/// Replaces copies of components by references. The type parameter of a generic schema is written out otherwise.
fn refer_to_schemas(document: &mut Value) {
    let Some(schemas) = document["components"]["schemas"].as_object() else { return };
    let mut names: BTreeMap<String, &String> = BTreeMap::new();
    for (name, schema) in schemas.iter().filter(|(_, schema)| is_named_type(schema)) {
        let known = names.entry(schema.to_string()).or_insert(name);
        if name.len() < known.len() {
            *known = name;
        }
    }
    let names: BTreeMap<String, String> =
        names.into_iter().map(|(text, name)| (text, name.clone())).collect();
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        for schema in schemas.values_mut() {
            children_mut(schema).for_each(|child| refer(child, &names));
        }
    }
    refer(&mut document["paths"], &names);
}

/// Whether the schema is worth a reference, unlike a plain string.
fn is_named_type(schema: &Value) -> bool {
    ["properties", "enum", "oneOf", "allOf", "x-extensible-enum"]
        .iter()
        .any(|field| schema.get(field).is_some())
}

fn refer(value: &mut Value, names: &BTreeMap<String, String>) {
    if value.is_object()
        && let Some(name) = names.get(&value.to_string())
    {
        *value = json!({ "$ref": format!("#/components/schemas/{name}") });
    } else {
        children_mut(value).for_each(|child| refer(child, names));
    }
}

/// Names the envelopes as people do: a response, a list, or a page of a list.
fn rename_schemas(document: &mut Value) {
    let Some(schemas) = document["components"]["schemas"].as_object_mut() else { return };
    let renamed = std::mem::take(schemas).into_iter().map(|(name, schema)| (envelope_name(&name), schema));
    *schemas = renamed.collect();
    rename_references(document);
}

fn envelope_name(name: &str) -> String {
    let is = |prefix, suffix: &str| name.strip_prefix(prefix).map(|record| format!("{record}{suffix}"));
    let known = is("Data_Vec_", "List")
        .or_else(|| is("Data_Option_", "Response"))
        .or_else(|| is("Data_", "Response"));
    known.or_else(|| is("List_", "Page")).unwrap_or_else(|| name.to_owned())
}

fn rename_references(value: &mut Value) {
    if let Some(Value::String(reference)) = value.get_mut("$ref")
        && let Some((place, name)) = reference.rsplit_once('/')
    {
        *reference = format!("{place}/{}", envelope_name(name));
    }
    children_mut(value).for_each(rename_references);
}

/// Shares the headers of responses: each has one meaning in all operations.
fn share_headers(document: &mut Value) {
    let mut shared: BTreeMap<String, Value> = BTreeMap::new();
    let responses = operations_mut(document).filter_map(|operation| operation["responses"].as_object_mut());
    let headers = responses.flat_map(Map::values_mut).filter_map(|response| response.get_mut("headers"));
    for (name, header) in headers.filter_map(Value::as_object_mut).flatten() {
        let shared_name = in_capitals(name);
        if shared.entry(shared_name.clone()).or_insert_with(|| header.clone()) == header {
            *header = json!({ "$ref": format!("#/components/headers/{shared_name}") });
        }
    }
    document["components"]["headers"] = json!(shared);
}

/// Shares the problem responses: all operations with a status describe it in the same way.
fn share_responses(document: &mut Value) {
    let mut shared: BTreeMap<&str, Value> = BTreeMap::new();
    for operation in operations_mut(document) {
        let Some(responses) = operation["responses"].as_object_mut() else { continue };
        for (status, name) in RESPONSES {
            let Some(response) = responses.get_mut(*status) else { continue };
            if shared.entry(name).or_insert_with(|| response.clone()) == response {
                *response = json!({ "$ref": format!("#/components/responses/{name}") });
            }
        }
    }
    document["components"]["responses"] = json!(shared);
}

fn share_parameters(document: &mut Value) {
    let mut copies: BTreeMap<String, (usize, Value)> = BTreeMap::new();
    for parameter in operations_mut(document).flat_map(parameters_mut) {
        copies.entry(parameter.to_string()).or_insert_with(|| (0, parameter.clone())).0 += 1;
    }
    let mut shared: Vec<_> = copies.into_values().filter(|(count, _)| *count > MAX_COPIES).collect();
    shared.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let mut names: BTreeMap<String, Value> = BTreeMap::new();
    // Of two parameters with one name, the one that is used more often gets it.
    for (_, parameter) in shared {
        names.entry(parameter_name(&parameter)).or_insert(parameter);
    }
    for parameter in operations_mut(document).flat_map(parameters_mut) {
        let name = parameter_name(parameter);
        if names.get(&name) == Some(parameter) {
            *parameter = json!({ "$ref": format!("#/components/parameters/{name}") });
        }
    }
    document["components"]["parameters"] = json!(names);
}

fn parameter_name(parameter: &Value) -> String {
    in_capitals(parameter["name"].as_str().unwrap_or_default())
}

/// `Idempotency-Key` is `IdempotencyKey`, and `pipelineId` is `PipelineId`.
fn in_capitals(name: &str) -> String {
    let words = name.split('-');
    let capitalized = words.map(|word| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect::<String>()
    });
    capitalized.collect()
}

fn remove_unused_schemas(document: &mut Value) {
    let schemas = document["components"]["schemas"].take();
    let mut waiting = BTreeSet::new();
    references(document, &mut waiting);
    let mut used = Map::new();
    while let Some(name) = waiting.pop_first() {
        if let (false, Some(schema)) = (used.contains_key(&name), schemas.get(&name)) {
            references(schema, &mut waiting);
            used.insert(name, schema.clone());
        }
    }
    document["components"]["schemas"] = used.into();
}

/// Adds the names of the schemas that a part of the document refers to.
fn references(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            let reference = fields.get("$ref").and_then(Value::as_str);
            let name = reference.and_then(|reference| reference.strip_prefix("#/components/schemas/"));
            names.extend(name.map(str::to_owned));
            fields.values().for_each(|child| references(child, names));
        }
        Value::Array(items) => items.iter().for_each(|child| references(child, names)),
        _ => {}
    }
}

fn operations_mut(document: &mut Value) -> impl Iterator<Item = &mut Value> {
    let items = document["paths"].as_object_mut().into_iter().flat_map(Map::values_mut);
    let fields = items.filter_map(Value::as_object_mut).flatten();
    fields.filter(|(name, _)| METHODS.contains(&name.as_str())).map(|(_, operation)| operation)
}

fn parameters_mut(operation: &mut Value) -> impl Iterator<Item = &mut Value> {
    operation.get_mut("parameters").and_then(Value::as_array_mut).into_iter().flatten()
}

fn children_mut(value: &mut Value) -> Box<dyn Iterator<Item = &mut Value> + '_> {
    match value {
        Value::Object(fields) => Box::new(fields.values_mut()),
        Value::Array(items) => Box::new(items.iter_mut()),
        _ => Box::new(std::iter::empty()),
    }
}
