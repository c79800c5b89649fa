//! The JSON Schema of an explanation, made for one request: ids and categories are enums of what was given.
//!
//! It uses only what all providers support: every property is required, and none may be added. Bounds on lengths are
//! an exception: without them a small model repeats itself until its tokens are used up, and some providers reject
//! them. So [`Schema::without_bounds`] exists, and bounds are enforced on what is received in any case. The order of the properties is the order
//! in which a model writes them: first what it selects, then its conclusion.

use serde::Serialize;

pub(crate) const MAX_CAUSE_CHARACTERS: usize = 400;
pub(crate) const MAX_NEXT: usize = 3;
pub(crate) const MAX_NEXT_CHARACTERS: usize = 200;
/// More evidence or suspects explain nothing.
const MAX_SELECTED: usize = 5;

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Schema {
    r#type: &'static str,
    properties: Properties,
    required: Vec<&'static str>,
    #[serde(rename = "additionalProperties")]
    additional_properties: bool,
}

#[derive(Clone, Debug, Serialize)]
struct Properties {
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<Array<Choice>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    suspects: Option<Array<Choice>>,
    category: Choice,
    cause: Plain,
    next: Array<Plain>,
    confidence: Choice,
    enough: Plain,
}

#[derive(Clone, Debug, Serialize)]
struct Array<Items> {
    r#type: &'static str,
    items: Items,
    #[serde(rename = "maxItems", skip_serializing_if = "Option::is_none")]
    max_items: Option<usize>,
}

#[derive(Clone, Debug, Serialize)]
struct Choice {
    r#type: &'static str,
    r#enum: Vec<String>,
}

#[derive(Clone, Debug, Serialize)]
struct Plain {
    r#type: &'static str,
    #[serde(rename = "maxLength", skip_serializing_if = "Option::is_none")]
    max_length: Option<usize>,
}

impl Schema {
    pub(super) fn new(categories: &[String], evidence: &[String], changes: &[String]) -> Self {
        let one_of = |values: &[String]| Choice { r#type: "string", r#enum: values.to_vec() };
        // An enum without values is not valid, so the property is left out.
        let some_of =
            |ids: &[String]| (!ids.is_empty()).then(|| array(one_of(ids), ids.len().min(MAX_SELECTED)));
        let string = |max| Plain { r#type: "string", max_length: Some(max) };
        let properties = Properties {
            evidence: some_of(evidence),
            suspects: some_of(changes),
            category: one_of(categories),
            cause: string(MAX_CAUSE_CHARACTERS),
            next: array(string(MAX_NEXT_CHARACTERS), MAX_NEXT),
            confidence: one_of(&["low", "medium", "high"].map(str::to_owned)),
            enough: Plain { r#type: "boolean", max_length: None },
        };
        let mut required = Vec::new();
        required.extend(properties.evidence.is_some().then_some("evidence"));
        required.extend(properties.suspects.is_some().then_some("suspects"));
        required.extend(["category", "cause", "next", "confidence", "enough"]);
        Self { r#type: "object", properties, required, additional_properties: false }
    }

    /// Returns the schema for endpoints that do not support bounds.
    pub(crate) fn without_bounds(&self) -> Self {
        let mut schema = self.clone();
        let properties = &mut schema.properties;
        for ids in [&mut properties.evidence, &mut properties.suspects].into_iter().flatten() {
            ids.max_items = None;
        }
        properties.cause.max_length = None;
        properties.next.max_items = None;
        properties.next.items.max_length = None;
        schema
    }

    pub(crate) fn has_category(&self, name: &str) -> bool {
        self.properties.category.r#enum.iter().any(|known| known == name)
    }

    pub(crate) fn has_evidence(&self, id: &str) -> bool {
        has(self.properties.evidence.as_ref(), id)
    }

    pub(crate) fn has_suspect(&self, id: &str) -> bool {
        has(self.properties.suspects.as_ref(), id)
    }
}

fn array<Items>(items: Items, max_items: usize) -> Array<Items> {
    Array { r#type: "array", items, max_items: Some(max_items) }
}

fn has(ids: Option<&Array<Choice>>, id: &str) -> bool {
    ids.is_some_and(|ids| ids.items.r#enum.iter().any(|known| known == id))
}
