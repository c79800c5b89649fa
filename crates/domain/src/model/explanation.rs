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

/// References are to the evidence and to the changes that the model was given. Texts are plain: they were cleaned,
/// masked and cut, and nothing is done because of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// One of the given categories. `None`: the model has invented one.
    pub category: Option<String>,
    /// Ids of evidence, each once.
    pub evidence: Vec<String>,
    /// Changes, each once: ids as a model returns them, and titles once it is stored. The changes that are known of a failure
    /// may become more, so the numbers would refer to others later.
    pub suspects: Vec<String>,
    /// `None` if the model states that the data is not enough.
    pub cause: Option<String>,
    pub next: Vec<String>,
    pub confidence: Confidence,
    pub is_enough: bool,
    /// How many references were dropped because they do not exist.
    pub dropped_references: usize,
}
