//! Names that are part of URL paths: `[a-z][a-z0-9-]{0,62}`.

use std::fmt;
use std::str::FromStr;

const MAX_LENGTH: usize = 63;

/// Path segments that are used next to names, and so can't be names.
pub const RESERVED: [&str; 5] = ["claim", "events", "validate", "history", "queue"];

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slug(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidSlug {
    #[error("must be 1 to 63 characters: a small letter, then small letters, digits or hyphens")]
    Shape,
    #[error("is a reserved word: claim, events, validate, history and queue can't be names")]
    Reserved,
}

impl Slug {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Derives a slug from a display name. Returns `None` if that is not possible.
    pub fn from_name(name: &str) -> Option<Self> {
        let mut text = String::with_capacity(name.len());
        for character in name.chars().flat_map(char::to_lowercase) {
            match character {
                'a'..='z' | '0'..='9' => text.push(character),
                _ if text.is_empty() || text.ends_with('-') => {}
                _ => text.push('-'),
            }
        }
        let text: String =
            text.trim_start_matches(|c: char| !c.is_ascii_lowercase()).chars().take(MAX_LENGTH).collect();
        text.trim_end_matches('-').parse().ok()
    }
}

impl FromStr for Slug {
    type Err = InvalidSlug;

    fn from_str(text: &str) -> Result<Self, InvalidSlug> {
        let shaped = text.len() <= MAX_LENGTH
            && text.starts_with(|c: char| c.is_ascii_lowercase())
            && text.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'));
        if !shaped {
            return Err(InvalidSlug::Shape);
        }
        if RESERVED.contains(&text) {
            return Err(InvalidSlug::Reserved);
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for Slug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl serde::Serialize for Slug {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shape() {
        for good in ["a", "a1", "qa-1", &"a".repeat(63)] {
            assert!(good.parse::<Slug>().is_ok(), "{good}");
        }
        for bad in ["", "1a", "-a", "A", "a_b", "a b", "ä", "a/b", "a\n", &"a".repeat(64)] {
            assert_eq!(bad.parse::<Slug>(), Err(InvalidSlug::Shape), "{bad}");
        }
        for word in RESERVED {
            assert_eq!(word.parse::<Slug>(), Err(InvalidSlug::Reserved), "{word}");
        }
    }

    #[test]
    fn from_names() {
        for (name, slug) in [
            ("Storefront", Some("storefront")),
            ("  Web Shop (EU) ", Some("web-shop-eu")),
            ("99 Bottles", Some("bottles")),
            ("Über uns", Some("ber-uns")),
            ("…", None),
            ("Events", None),
        ] {
            assert_eq!(Slug::from_name(name).as_ref().map(Slug::as_str), slug, "{name}");
        }
    }
}
