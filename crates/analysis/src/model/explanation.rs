//! What a model has concluded. Pure.
//!
//! A reference that was not given is dropped and counted. Texts are cleaned, masked and cut like those that were
//! sent: a model may repeat or invent anything.

use greenroom_domain::model::{Confidence, Explanation};
use serde::Deserialize;

use super::prompt::{MAX_CAUSE_CHARACTERS, MAX_NEXT, MAX_NEXT_CHARACTERS, Schema};
use super::text::{clean_line, cut_end, mask};

/// The text does not match the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NotAnExplanation;

/// Exactly the fields of the schema.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Received {
    #[serde(default)]
    evidence: Vec<String>,
    #[serde(default)]
    suspects: Vec<String>,
    category: String,
    cause: Option<String>,
    next: Vec<String>,
    confidence: Confidence,
    enough: bool,
}

/// Parses what a model wrote. The key of the request is masked too: the endpoint that received it could return it.
pub(super) fn parse(text: &str, schema: &Schema, key: Option<&str>) -> Result<Explanation, NotAnExplanation> {
    let received: Received = serde_json::from_str(without_code_fence(text)).map_err(|_| NotAnExplanation)?;
    let mut dropped_references = 0;
    let mut select = |ids: Vec<String>, exists: &dyn Fn(&str) -> bool| {
        let mut selected: Vec<String> = Vec::new();
        for id in ids {
            if !exists(&id) {
                dropped_references += 1;
            } else if !selected.contains(&id) {
                selected.push(id);
            }
        }
        selected
    };
    let evidence = select(received.evidence, &|id| schema.has_evidence(id));
    let suspects = select(received.suspects, &|id| schema.has_suspect(id));
    let category = select(vec![received.category], &|name| schema.has_category(name)).pop();
    let cause = received.cause.filter(|_| received.enough);
    let next = received.next.iter().map(|text| plain(text, MAX_NEXT_CHARACTERS, key));
    Ok(Explanation {
        category,
        evidence,
        suspects,
        cause: cause.map(|text| plain(&text, MAX_CAUSE_CHARACTERS, key)).filter(|text| !text.is_empty()),
        next: next.filter(|text| !text.is_empty()).take(MAX_NEXT).collect(),
        confidence: received.confidence,
        is_enough: received.enough,
        dropped_references,
    })
}

/// Models without a schema often write Markdown around their JSON.
fn without_code_fence(text: &str) -> &str {
    let text = text.trim();
    let inner = text.strip_prefix("```json").or_else(|| text.strip_prefix("```"));
    inner.and_then(|inner| inner.strip_suffix("```")).unwrap_or(text)
}

fn plain(text: &str, max_characters: usize, key: Option<&str>) -> String {
    let (mut cleaned, _) = clean_line(text);
    if let Some(key) = key.filter(|key| !key.is_empty()) {
        cleaned = cleaned.replace(key, "[masked]");
    }
    let (masked, _) = mask(cleaned.trim());
    cut_end(&masked, max_characters).0
}

#[cfg(test)]
#[path = "explanation_tests.rs"]
mod tests;
