//! The only place where YAML is parsed, with its limits.

use serde::de::DeserializeOwned;
use serde_saphyr::options::{DuplicateKeyPolicy, MergeKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Options, Spanned};

use super::diagnostic::{Diagnostic, Document};
use super::located::Position;
use super::outline::Outline;
use super::{limits, name_rules, syntax};

/// Parses the structure of the file. Its values are not checked yet.
pub(crate) fn read<T: DeserializeOwned>(source: &str, document: Document) -> Result<T, Diagnostic> {
    if source.len() > limits::SOURCE_BYTES {
        let message = format!("{} is larger than {} bytes (1 MiB)", document.noun(), limits::SOURCE_BYTES);
        return Err(Diagnostic::new(Position::START, String::new(), message));
    }
    if let Some((at, character)) = hidden_character(source) {
        let code = u32::from(character);
        let message = format!("the character U+{code:04X} is not allowed: it would not show to a reader");
        return Err(Diagnostic::new(at, String::new(), message));
    }
    parse(source, DuplicateKeyPolicy::Error).map_err(|error| {
        // Parse again without types, to find the position of the error in the structure. If that fails too,
        // the text isn't YAML, and that error comes first.
        match parse::<Spanned<Outline>>(source, DuplicateKeyPolicy::LastWins) {
            Ok(outline) => syntax::explain(&error, source, document, Some(&outline)),
            Err(error) => syntax::explain(&error, source, document, None),
        }
    })
}

fn parse<T: DeserializeOwned>(
    source: &str,
    duplicates: DuplicateKeyPolicy,
) -> Result<T, serde_saphyr::Error> {
    serde_saphyr::from_str_with_options(source, options(duplicates))
}

fn options(duplicates: DuplicateKeyPolicy) -> Options {
    let budget = serde_saphyr::budget! {
        max_depth: limits::DEPTH,
        flow_nesting_limit: limits::DEPTH,
        max_nodes: limits::NODES,
        max_events: 3 * limits::NODES,
        max_aliases: limits::ALIASES,
        max_anchors: limits::ALIASES,
        max_merge_keys: limits::ALIASES,
        max_recorded_anchor_events: limits::REPLAYED_EVENTS,
        max_recorded_anchor_bytes: limits::SCALAR_BYTES,
        max_total_scalar_bytes: limits::SCALAR_BYTES,
        max_documents: 1,
        // The number of aliases has its own limit.
        enforce_alias_anchor_ratio: false,
    };
    let alias_limits = serde_saphyr::alias_limits! {
        max_total_replayed_events: limits::REPLAYED_EVENTS,
        max_replay_stack_depth: limits::DEPTH,
    };
    serde_saphyr::options! {
        budget: budget,
        alias_limits: alias_limits,
        duplicate_keys: duplicates,
        merge_keys: MergeKeyPolicy::Merge,
        strict_booleans: true,
        reject_unsupported_tags: true,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        with_snippet: false,
    }
}

/// Returns the first hidden character and its position.
fn hidden_character(source: &str) -> Option<(Position, char)> {
    source.lines().zip(1..).find_map(|(text, line)| {
        let (character, column) =
            text.chars().zip(1..).find(|(character, _)| name_rules::is_hidden(*character))?;
        Some((Position { line, column }, character))
    })
}
