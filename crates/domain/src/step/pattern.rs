//! Patterns of inputs. They come from registries, so their size is limited; the time of a match is linear in the text.

use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(super) const MAX_PATTERN_BYTES: usize = 1024;
/// The maximum size of a compiled pattern, and of the cache that a match uses. Compiling takes a few milliseconds at
/// most.
const MAX_COMPILED_BYTES: usize = 256 * 1024;
const MAX_NESTING: u32 = 32;

/// A regular expression in the syntax of the crate `regex`. As in JSON Schema, it may match any part of a text, unless
/// it begins with `^` and ends with `$`.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    /// Compiled when it is first used: most manifests are only read to display them.
    compiled: OnceLock<Option<Regex>>,
}

/// Why a pattern is rejected, as the predicate of a sentence about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPattern {
    #[error("is longer than {MAX_PATTERN_BYTES} bytes")]
    TooLong,
    #[error("needs too much memory; use smaller repetitions, and `[0-9A-Za-z_]` instead of `\\w`")]
    TooLarge,
    #[error("is not a regular expression; it must not have look-around or back references")]
    Syntax,
}

impl Pattern {
    pub fn new(text: &str) -> Result<Self, InvalidPattern> {
        let compiled = compile(text)?;
        Ok(Self { text: text.to_owned(), compiled: OnceLock::from(Some(compiled)) })
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns whether the text matches. None does if a stored pattern can't be compiled any more.
    pub fn is_match(&self, text: &str) -> bool {
        self.compiled
            .get_or_init(|| compile(&self.text).ok())
            .as_ref()
            .is_some_and(|regex| regex.is_match(text))
    }
}

fn compile(text: &str) -> Result<Regex, InvalidPattern> {
    if text.len() > MAX_PATTERN_BYTES {
        return Err(InvalidPattern::TooLong);
    }
    let mut builder = RegexBuilder::new(text);
    builder.size_limit(MAX_COMPILED_BYTES).dfa_size_limit(MAX_COMPILED_BYTES).nest_limit(MAX_NESTING);
    builder.build().map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => InvalidPattern::TooLarge,
        _ => InvalidPattern::Syntax,
    })
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self { text: String::deserialize(deserializer)?, compiled: OnceLock::new() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches() {
        for (pattern, text, expected) in [
            ("^[a-z]+$", "abc", true),
            ("^[a-z]+$", "abc\n", false),
            ("^[a-z]+$", "abc\n; rm -rf /", false),
            ("[a-z]", "1a2", true),
            ("^.{3}$", "äöü", true),
            (r"^\d+$", "12", true),
        ] {
            let pattern = Pattern::new(pattern).unwrap();
            assert_eq!(pattern.is_match(text), expected, "{pattern:?} and {text:?}");
            let stored = serde_json::to_string(&pattern).unwrap();
            let stored: Pattern = serde_json::from_str(&stored).unwrap();
            assert_eq!(stored.is_match(text), expected, "stored {pattern:?} and {text:?}");
        }
    }

    #[test]
    fn rejected() {
        let (long, deep) = ("a".repeat(1025), "(".repeat(100) + &")".repeat(100));
        for (pattern, reason) in [
            ("[", InvalidPattern::Syntax),
            (r"(a)\1", InvalidPattern::Syntax),
            ("(?=a)", InvalidPattern::Syntax),
            (&deep, InvalidPattern::Syntax),
            (r"\w{1000}", InvalidPattern::TooLarge),
            ("((a{100}){100}){100}", InvalidPattern::TooLarge),
            ("a{1000000000}", InvalidPattern::TooLarge),
            (&long, InvalidPattern::TooLong),
        ] {
            assert_eq!(Pattern::new(pattern).err(), Some(reason), "{pattern}");
        }
        // A stored pattern that can't be compiled matches nothing.
        let stored: Pattern = serde_json::from_str("\"[\"").unwrap();
        assert!(!stored.is_match("["));
    }

    /// A pattern that takes exponential time in backtracking engines.
    #[test]
    fn nested_repetition_takes_linear_time() {
        let pattern = Pattern::new("^(a+)+$").unwrap();
        assert!(!pattern.is_match(&("a".repeat(4096) + "b")));
    }
}
