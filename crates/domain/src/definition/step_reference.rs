//! A reference to a step of a registry, and the values that it gets.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::name_rules;

/// `registry/name@version`, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepReference {
    pub registry: String,
    pub name: String,
    /// `v2`, `v2.3`, `v2.3.0`, or `sha256:` and a digest.
    pub version: String,
}

/// A single value, with its type in the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Scalar {
    Bool(bool),
    Number(serde_json::Number),
    Text(String),
}

impl StepReference {
    pub(super) fn new(text: &str) -> Option<Self> {
        let name_rules::StepReferenceParts { registry, name, version } = name_rules::step_reference(text)?;
        Some(Self { registry: registry.to_owned(), name: name.to_owned(), version: version.to_owned() })
    }
}

impl fmt::Display for StepReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}@{}", self.registry, self.name, self.version)
    }
}

impl Serialize for StepReference {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for StepReference {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::new(&text).ok_or_else(|| serde::de::Error::custom("must be `registry/name@version`"))
    }
}
