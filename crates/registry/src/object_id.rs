//! The id of a git object. Pure.

use std::fmt;
use std::str::FromStr;

const SHA1_DIGITS: usize = 40;
const SHA256_DIGITS: usize = 64;

/// The id of an object: 40 hexadecimal digits, or 64 in a repository with SHA-256.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ObjectId(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an object id has 40 or 64 lower-case hexadecimal digits")]
pub struct InvalidObjectId;

impl ObjectId {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the name of the hash function for `git init --object-format`.
    pub(crate) fn format(&self) -> &'static str {
        if self.0.len() == SHA256_DIGITS { "sha256" } else { "sha1" }
    }
}

impl FromStr for ObjectId {
    type Err = InvalidObjectId;

    fn from_str(text: &str) -> Result<Self, InvalidObjectId> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let has_length = matches!(text.len(), SHA1_DIGITS | SHA256_DIGITS);
        if has_length && text.bytes().all(is_digit) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidObjectId)
        }
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_complete_ids_are_parsed() {
        for (text, is_valid) in [
            ("a".repeat(40), true),
            ("0".repeat(64), true),
            ("a".repeat(39), false),
            ("A".repeat(40), false),
            (format!("{}-", "a".repeat(39)), false),
            ("HEAD".to_owned(), false),
            (String::new(), false),
        ] {
            assert_eq!(text.parse::<ObjectId>().is_ok(), is_valid, "{text}");
        }
    }
}
