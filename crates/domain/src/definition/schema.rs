//! The JSON Schema of the file, for editors and for `GET /api/v1/schemas/pipeline-definition.json`.

use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde_json::{Value, json};

use super::raw::File;

const ID: &str = "/api/v1/schemas/pipeline-definition.json";
const TITLE: &str = "Greenroom pipeline definition, version 1";

/// Draft 2020-12. It accepts slightly more than [`super::parse`], which also checks references.
pub fn json_schema() -> Value {
    let settings = SchemaSettings::draft2020_12().with_transform(RecursiveTransform(for_editors));
    let mut schema = settings.into_generator().into_root_schema_for::<File>();
    schema.insert("$id".to_owned(), json!(ID));
    schema.insert("title".to_owned(), json!(TITLE));
    schema.to_value()
}

fn for_editors(schema: &mut Schema) {
    without_null(schema);
    // Rust's number formats are not defined in JSON Schema, and line breaks of a doc comment are not part of
    // its text.
    schema.remove("format");
    if let Some(Value::String(description)) = schema.get_mut("description") {
        *description = description.replace('\n', " ");
    }
}

/// An optional field does not have to suggest `null` in an editor.
fn without_null(schema: &mut Schema) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
    let null = json!({ "type": "null" });
    let other = match schema.get("anyOf") {
        Some(Value::Array(choices)) if choices.contains(&null) => {
            choices.iter().find(|choice| **choice != null).and_then(Value::as_object).cloned()
        }
        _ => None,
    };
    if let Some(other) = other {
        schema.remove("anyOf");
        for (keyword, value) in other {
            schema.insert(keyword, value);
        }
    }
}
