//! Masks secrets by their form, in addition to what the runner has masked by value.

use std::ops::Range;

use super::mask_rules::{
    assignments, authorizations, pem_blocks, prefixed_tokens, random_runs, url_credentials,
};

pub(crate) const MASK: &str = "[masked]";

/// Replaces everything with the form of a secret. Returns how many places were masked. The text has to be cleaned
/// before, because a hidden character in a secret would disguise its form.
pub(crate) fn mask(text: &str) -> (String, usize) {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for find in [pem_blocks, prefixed_tokens, url_credentials, authorizations, assignments, random_runs] {
        find(text, &mut ranges);
    }
    ranges.sort_by_key(|range| (range.start, range.end));
    let (mut masked, mut end, mut count) = (String::with_capacity(text.len()), 0, 0);
    for range in ranges {
        if range.start >= end {
            masked.push_str(text.get(end..range.start).unwrap_or_default());
            masked.push_str(MASK);
            count += 1;
        }
        end = end.max(range.end);
    }
    masked.push_str(text.get(end..).unwrap_or_default());
    (masked, count)
}

#[cfg(test)]
#[path = "mask_tests.rs"]
mod tests;
