//! The manifest of a step, `step.yaml`: what it accepts, what it expects, and what it runs.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::input::StepInput;

/// A checked manifest. Everything with an order is a list, because `jsonb` in PostgreSQL does not keep the order of keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepManifest {
    pub name: String,
    pub description: Option<String>,
    pub inputs: Vec<StepInput>,
    pub secrets: Vec<ExpectedVariable>,
    pub id_tokens: Vec<ExpectedVariable>,
    pub outputs: Vec<StepOutput>,
    /// By digest: `name@sha256:…`.
    pub image: String,
    pub run: String,
}

/// A secret or an id token that the step expects in a variable. A pipeline definition names the secret or the
/// audience for it. It is required exactly if it has `required: true`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExpectedVariable {
    pub name: String,
    pub description: Option<String>,
    pub required: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepOutput {
    pub name: String,
    pub description: Option<String>,
}

impl StepManifest {
    pub fn input(&self, name: &str) -> Option<&StepInput> {
        self.inputs.iter().find(|input| input.name == name)
    }

    /// Returns the JSON Schema (draft 2020-12) of the inputs, which allows no others.
    pub fn inputs_schema(&self) -> Value {
        let properties: Map<String, Value> =
            self.inputs.iter().map(|input| (input.name.clone(), input.json_schema())).collect();
        let required: Vec<&str> =
            self.inputs.iter().filter(|input| input.required).map(|input| input.name.as_str()).collect();
        json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        })
    }
}

#[cfg(test)]
#[path = "manifest_tests.rs"]
pub(super) mod tests;
