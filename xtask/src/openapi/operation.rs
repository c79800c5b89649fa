//! Reads the operations of an OpenAPI document, with their parameters.

use std::collections::BTreeMap;

use serde_json::Value;

use super::schema::Document;

const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

pub(super) struct Operation<'a> {
    /// Method and path, such as `GET /sessions/{sessionId}`.
    pub(super) label: String,
    path: &'a str,
    /// The path item, which can have parameters of all its operations.
    item: &'a Value,
    pub(super) value: &'a Value,
}

pub(super) struct Parameter<'a> {
    pub(super) location: &'a str,
    pub(super) name: &'a str,
    pub(super) is_required: bool,
    pub(super) schemas: Vec<&'a Value>,
}

impl<'a> Operation<'a> {
    /// Returns the parameters by location and name; those in the path by their position, and headers without regard to case.
    pub(super) fn parameters(&self, document: Document<'a>) -> BTreeMap<(&'a str, String), Parameter<'a>> {
        let variables = variables(self.path);
        let lists = [self.item, self.value].map(|value| value.get("parameters").and_then(Value::as_array));
        let mut parameters = BTreeMap::new();
        for value in lists.into_iter().flatten().flatten() {
            let value = document.resolve(value);
            let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
            let (location, name) = (text("in"), text("name"));
            let position = variables.iter().position(|variable| *variable == name);
            let key = match (location, position) {
                ("path", Some(position)) => position.to_string(),
                ("header", _) => name.to_lowercase(),
                _ => name.to_owned(),
            };
            let schema = value.get("schema");
            let schemas =
                schema.or_else(|| members(value, "content").find_map(|(_, media)| media.get("schema")));
            let is_required = is_required(value);
            let parameter = Parameter { location, name, is_required, schemas: schemas.into_iter().collect() };
            parameters.insert((location, key), parameter);
        }
        parameters
    }
}

/// Returns the operations by method and path. The names of variables in a path are no part of the address.
pub(super) fn operations(document: &Value) -> BTreeMap<(&'static str, String), Operation<'_>> {
    let mut operations = BTreeMap::new();
    for (path, item) in members(document, "paths") {
        for method in METHODS {
            if let Some(value) = item.get(method) {
                let label = format!("{} {path}", method.to_uppercase());
                operations.insert((method, template(path)), Operation { label, path, item, value });
            }
        }
    }
    operations
}

pub(super) fn is_required(value: &Value) -> bool {
    value.get("required").and_then(Value::as_bool).unwrap_or_default()
}

pub(super) fn members<'a>(
    value: &'a Value,
    name: &str,
) -> impl Iterator<Item = (&'a str, &'a Value)> + use<'a> {
    let object = value.get(name).and_then(Value::as_object);
    object.into_iter().flatten().map(|(name, value)| (name.as_str(), value))
}

/// Returns the names of the variables in a path.
fn variables(path: &str) -> Vec<&str> {
    path.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0)).collect()
}

/// Returns a path without the names of its variables.
fn template(path: &str) -> String {
    variables(path).iter().fold(path.to_owned(), |path, name| path.replacen(&format!("{{{name}}}"), "{}", 1))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn variables_of_a_path_have_no_names_in_its_template() {
        assert_eq!(template("/a/{aId}/b/{bId}"), "/a/{}/b/{}");
        assert_eq!(template("/a"), "/a");
        assert_eq!(variables("/a/{aId}/b/{bId}/c"), ["aId", "bId"]);
    }

    #[test]
    fn parameters_of_a_path_and_of_its_operation_are_merged() {
        let parameter = |location: &str, name: &str, required: bool| -> Value {
            json!({"in": location, "name": name, "required": required})
        };
        let document = json!({"paths": {"/a/{aId}": {
            "parameters": [parameter("path", "aId", true), parameter("query", "limit", false)],
            "get": {"parameters": [parameter("query", "limit", true), parameter("header", "If-Match", false)]},
        }}});
        let operations = operations(&document);
        let operation = operations.values().next().unwrap();
        let parameters = operation.parameters(Document::new(&document));
        let found: Vec<_> = parameters
            .iter()
            .map(|((location, key), parameter)| (*location, key.as_str(), parameter.is_required))
            .collect();
        assert_eq!(found, [("header", "if-match", false), ("path", "0", true), ("query", "limit", true)]);
    }
}
