//! The raw `step.yaml`: serde parses it. Only the structure is checked here.

use serde::Deserialize;

use crate::definition::RawValue;
use crate::definition::located::{Entries, Located};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct File {
    pub(super) name: Option<Located<String>>,
    pub(super) description: Option<Located<String>>,
    pub(super) inputs: Option<Entries<Input>>,
    pub(super) secrets: Option<Entries<Expected>>,
    pub(super) id_tokens: Option<Entries<Expected>>,
    pub(super) outputs: Option<Entries<Output>>,
    pub(super) image: Option<Located<String>>,
    pub(super) run: Option<Located<String>>,
}

/// An input, in keywords of JSON Schema, and whether it is required.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Input {
    #[serde(rename = "type")]
    pub(super) kind: Option<Located<String>>,
    pub(super) description: Option<Located<String>>,
    pub(super) default: Option<Located<RawValue>>,
    #[serde(rename = "enum")]
    pub(super) choices: Option<Located<Vec<Located<RawValue>>>>,
    pub(super) pattern: Option<Located<String>>,
    pub(super) min_length: Option<Located<u64>>,
    pub(super) max_length: Option<Located<u64>>,
    pub(super) minimum: Option<Located<RawValue>>,
    pub(super) maximum: Option<Located<RawValue>>,
    pub(super) required: Option<Located<RawValue>>,
}

/// A secret or an id token that the step expects.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Expected {
    pub(super) description: Option<Located<String>>,
    pub(super) required: Option<Located<RawValue>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Output {
    pub(super) description: Option<Located<String>>,
}
