//! The OpenAPI document with its shared parameters and responses written out, for tests that look at each operation.

use serde_json::Value;

/// Returns the document as the code generates it.
pub fn generated() -> Value {
    with_parts_written_out(greenroom_server::http::document())
}

/// Returns the document as it is committed.
pub fn committed() -> Value {
    with_parts_written_out(serde_json::from_str(include_str!("../../../../openapi/api.json")).unwrap())
}

fn with_parts_written_out(mut document: Value) -> Value {
    let components = document["components"].clone();
    write_out(&mut document["paths"], &components);
    document
}

fn write_out(value: &mut Value, components: &Value) {
    let shared = value["$ref"].as_str().and_then(|reference| {
        let path = reference.strip_prefix("#/components")?;
        let is_part = path.starts_with("/parameters/") || path.starts_with("/responses/");
        is_part.then(|| components.pointer(path).unwrap().clone())
    });
    if let Some(shared) = shared {
        *value = shared;
    }
    match value {
        Value::Object(fields) => fields.values_mut().for_each(|child| write_out(child, components)),
        Value::Array(items) => items.iter_mut().for_each(|child| write_out(child, components)),
        _ => {}
    }
}
