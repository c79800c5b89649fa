//! Digests: the SHA-256 of a canonical form, `sha256:` and 64 hexadecimal digits.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

const PREFIX: &str = "sha256:";

/// The text is not a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be `sha256:` and 64 of the digits 0-9 and a-f")]
pub struct InvalidDigest;

/// Returns the SHA-256 as a digest.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    format!("{PREFIX}{:x}", Sha256::digest(bytes))
}

/// Accepts one spelling only (lower case), so that equal digests are equal texts.
pub(crate) fn is_digest(text: &str) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.strip_prefix(PREFIX).is_some_and(|digits| digits.len() == 64 && digits.bytes().all(is_digit))
}

macro_rules! digests {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(String);

        impl $name {
            pub(crate) fn of(canonical: &[u8]) -> Self {
                Self(sha256(canonical))
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Returns the beginning of the digest, for display: `sha256:` and 12 digits.
            pub fn short(&self) -> &str {
                self.0.get(..PREFIX.len() + 12).unwrap_or(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = InvalidDigest;

            fn from_str(text: &str) -> Result<Self, InvalidDigest> {
                if is_digest(text) { Ok(Self(text.to_owned())) } else { Err(InvalidDigest) }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}

digests! {
    /// What an approval is for.
    SubjectDigest,
    /// The content of a step.
    StepDigest,
}
