//! The address at which browsers reach this server.

use std::str::FromStr;

/// An origin, `https://greenroom.example.com`, without a path and without a slash at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be an address such as https://greenroom.example.com, in small letters and without a path")]
pub struct InvalidPublicUrl;

impl PublicUrl {
    /// Returns the text that browsers send as `Origin`.
    pub fn origin(&self) -> &str {
        &self.0
    }

    /// Returns the address of a page. The path begins with a slash.
    pub fn join(&self, path: &str) -> String {
        format!("{}{path}", self.0)
    }
}

impl FromStr for PublicUrl {
    type Err = InvalidPublicUrl;

    fn from_str(text: &str) -> Result<Self, InvalidPublicUrl> {
        let text = text.strip_suffix('/').unwrap_or(text);
        let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
        let is_part = |character: char| {
            character.is_ascii_lowercase()
                || character.is_ascii_digit()
                || matches!(character, '.' | '-' | ':' | '[' | ']')
        };
        // Browsers leave out the port that is the scheme's default.
        let is_default = (text.starts_with("https://") && text.ends_with(":443"))
            || (text.starts_with("http://") && text.ends_with(":80"));
        match host {
            Some(host) if !host.is_empty() && host.chars().all(is_part) && !is_default => {
                Ok(Self(text.to_owned()))
            }
            _ => Err(InvalidPublicUrl),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_origins_are_accepted() {
        for (text, origin) in [
            ("https://greenroom.example.com", Some("https://greenroom.example.com")),
            ("http://127.0.0.1:7420/", Some("http://127.0.0.1:7420")),
            ("http://[::1]:7420", Some("http://[::1]:7420")),
            ("https://greenroom.example.com:443", None),
            ("https://Greenroom.example.com", None),
            ("https://example.com/greenroom", None),
            ("https://user@example.com", None),
            ("https://example.com?x", None),
            ("ftp://example.com", None),
            ("example.com", None),
            ("https://", None),
            ("", None),
        ] {
            assert_eq!(text.parse::<PublicUrl>().ok().as_ref().map(PublicUrl::origin), origin, "{text}");
        }
    }
}
