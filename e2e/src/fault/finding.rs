//! A finding: a property that did not hold, and what shows it.

use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    /// `L1` to `L12`, or `internal` for an answer that must never be given.
    pub(crate) property: &'static str,
    pub(crate) text: String,
}

impl Finding {
    pub(crate) fn new(property: &'static str, text: impl Into<String>) -> Self {
        Self { property, text: text.into() }
    }
}
