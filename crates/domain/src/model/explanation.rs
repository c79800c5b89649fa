//! What a model has concluded about a failure.

use serde::{Deserialize, Serialize};

use crate::text_enum::text_enum;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Confidence {
    Low,
    Medium,
    High,
}

text_enum!(Confidence { Low = "low", Medium = "medium", High = "high" });

/// References are ids of the evidence and of the changes that the model was given. Texts are plain: they were cleaned,
/// masked and cut, and nothing is done because of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// One of the given categories. `None`: the model has invented one.
    pub category: Option<String>,
    /// Ids of evidence, each once.
    pub evidence: Vec<String>,
    /// Ids of changes, each once.
    pub suspects: Vec<String>,
    /// `None` if the model states that the data is not enough.
    pub cause: Option<String>,
    pub next: Vec<String>,
    pub confidence: Confidence,
    pub is_enough: bool,
    /// How many references were dropped because they do not exist.
    pub dropped_references: usize,
}
