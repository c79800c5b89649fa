//! Free text from users: of limited length, and without characters that would break a line or a terminal.

use std::fmt;

/// Why a text is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidText {
    #[error("must not be empty")]
    Empty,
    #[error("must be {0} characters at most")]
    TooLong(usize),
    #[error("must not contain control characters, nor those that change the direction of writing")]
    Control,
}

/// Returns whether a character could disguise a text in a terminal or a log: control characters (PostgreSQL
/// can't store NUL at all) and those that change the direction of writing, with which a text displays
/// differently from its content.
pub fn is_hidden(character: char) -> bool {
    let changes_direction = matches!(
        character,
        '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    character.is_control() || changes_direction
}

/// One line, such as a display name, of at most `N` characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line<const N: usize>(String);

pub type Name = Line<100>;
pub type Reason = Line<500>;

impl<const N: usize> Line<N> {
    pub fn new(text: &str) -> Result<Self, InvalidText> {
        let text = text.trim();
        if text.is_empty() {
            return Err(InvalidText::Empty);
        }
        if text.chars().count() > N {
            return Err(InvalidText::TooLong(N));
        }
        if text.chars().any(is_hidden) {
            return Err(InvalidText::Control);
        }
        Ok(Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn into_string(self) -> String {
        self.0
    }
}

impl<const N: usize> fmt::Display for Line<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A commit: 7 to 64 hexadecimal digits. A short one is replaced by the full one when a job of its deployment
/// has checked it out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitId(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be 7 to 64 of the digits 0-9 and a-f")]
pub struct InvalidCommitId;

impl CommitId {
    pub fn new(text: &str) -> Result<Self, InvalidCommitId> {
        let hexadecimal = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if hexadecimal && (7..=64).contains(&text.len()) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidCommitId)
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether the id is complete: SHA-1 has 40 digits, SHA-256 64.
    pub fn is_full(&self) -> bool {
        matches!(self.0.len(), 40 | 64)
    }
}

/// The name of a branch, according to `git check-ref-format`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be the name of a branch: 1 to 255 characters, without spaces, control characters or any of ~ ^ : ? * [ \\"
)]
pub struct InvalidBranch;

impl Branch {
    pub fn new(text: &str) -> Result<Self, InvalidBranch> {
        let is_forbidden = |character: char| {
            is_hidden(character) || matches!(character, ' ' | '~' | '^' | ':' | '?' | '*' | '[' | '\\')
        };
        let is_part = |part: &str| {
            !part.is_empty() && !part.starts_with('.') && !part.ends_with('.') && !part.ends_with(".lock")
        };
        let is_valid = (1..=255).contains(&text.chars().count())
            && !text.chars().any(is_forbidden)
            && !text.starts_with('-')
            && !text.contains("..")
            && !text.contains("@{")
            && text != "@"
            && text.split('/').all(is_part);
        if is_valid { Ok(Self(text.to_owned())) } else { Err(InvalidBranch) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// An e-mail address, stored as it was written and compared case-insensitively.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Email(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be an e-mail address such as name@example.com")]
pub struct InvalidEmail;

impl Email {
    /// Checks only what all addresses have in common; only sending a mail can show whether an address exists.
    pub fn new(text: &str) -> Result<Self, InvalidEmail> {
        let (local, domain) = text.rsplit_once('@').ok_or(InvalidEmail)?;
        let plain = !text.chars().any(|c| is_hidden(c) || c.is_whitespace());
        if text.len() <= 254 && plain && !local.is_empty() && !domain.is_empty() && !local.contains('@') {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidEmail)
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        assert_eq!(Name::new("  Dev One ").unwrap().as_str(), "Dev One");
        assert_eq!(Name::new(" \t "), Err(InvalidText::Empty));
        assert_eq!(Name::new("a\nb"), Err(InvalidText::Control));
        for hidden in [
            '\u{0}', '\u{1b}', '\u{85}', '\u{61c}', '\u{200e}', '\u{200f}', '\u{202a}', '\u{202e}',
            '\u{2066}', '\u{2069}',
        ] {
            assert_eq!(Name::new(&format!("a{hidden}b")), Err(InvalidText::Control), "{hidden:?}");
        }
        assert_eq!(Name::new(&"ä".repeat(101)), Err(InvalidText::TooLong(100)));
        assert!(Name::new(&"ä".repeat(100)).is_ok());
    }

    #[test]
    fn branches() {
        for good in ["main", "release/1.2", "feature/ä-1", "a@b", "dependabot/npm/x-1.0"] {
            assert_eq!(Branch::new(good).unwrap().as_str(), good);
        }
        for bad in [
            "",
            "a b",
            "a:b",
            "a..b",
            "*",
            "a*",
            "-x",
            "/a",
            "a/",
            "a//b",
            ".a",
            "a/.b",
            "a.",
            "a.lock",
            "a@{1}",
            "@",
            "a\u{0}b",
            "a\nb",
            "a~1",
            "a^",
            "a?",
            "a[b",
            "a\\b",
            &"a".repeat(256),
        ] {
            assert_eq!(Branch::new(bad), Err(InvalidBranch), "{bad}");
        }
    }

    #[test]
    fn emails() {
        assert!(Email::new("dev@example.test").is_ok());
        for bad in
            ["", "dev", "@example.test", "dev@", "a@b@c", "a b@c", "a@b\n", &format!("{}@b", "a".repeat(254))]
        {
            assert!(Email::new(bad).is_err(), "{bad}");
        }
    }
}
