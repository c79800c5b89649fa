//! Free text from users: of limited length, and without characters that would disguise it. Each kind of field has one class of
//! text: names, single lines and notes.

use std::fmt;
use std::marker::PhantomData;

/// Why a text is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidText {
    #[error("must not be empty")]
    Empty,
    #[error("must be {0} characters at most")]
    TooLong(usize),
    #[error("must not contain {}", Described(*.0))]
    Character(char),
}

/// A character that is rejected: by its number, because it is not displayed, and what to do about it.
struct Described(char);

impl fmt::Display for Described {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = u32::from(self.0);
        match self.0 {
            line if line == '\n' || is_line_separator(line) => {
                write!(f, "U+{code:04X}, a line break: write it as one line")
            }
            '\t' => write!(f, "U+{code:04X}, a tab: replace it by a space"),
            control if control.is_control() => {
                write!(f, "U+{code:04X}, a control character: remove it")
            }
            hidden if is_hidden(hidden) => {
                write!(f, "U+{code:04X}, which changes the direction of writing: remove it")
            }
            _ => write!(f, "U+{code:04X}, which is not displayed: remove it"),
        }
    }
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

/// Returns whether a character takes no space, so that a text can be hidden in it or split by it.
pub fn has_no_width(character: char) -> bool {
    matches!(
        character,
        '\u{ad}'
            | '\u{34f}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1d173}'..='\u{1d17a}'
            // Tags and the supplement of variation selectors: complete alphabets that are not displayed.
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Returns whether a character is rejected in a name: two names that are displayed alike are equal but for letters that
/// look alike. The two selectors that follow an emoji to choose its form are permitted.
pub fn is_hidden_in_name(character: char) -> bool {
    let chooses_emoji = matches!(character, '\u{fe0e}' | '\u{fe0f}');
    OneLine::rejects(character) || (has_no_width(character) && !chooses_emoji)
}

/// The separators of lines and of paragraphs, which are not control characters.
const fn is_line_separator(character: char) -> bool {
    matches!(character, '\u{2028}' | '\u{2029}')
}

/// Which characters a text may contain.
pub trait TextClass {
    fn rejects(character: char) -> bool;
}

/// Names, by which people distinguish records: nothing that is not displayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {}

/// One line: no line breaks, no control characters, and none that change the direction of writing. Letters may be joined by
/// characters without width, as emoji and some scripts need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OneLine {}

/// The same as one line, and newlines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {}

impl TextClass for Named {
    fn rejects(character: char) -> bool {
        is_hidden_in_name(character)
    }
}

impl TextClass for OneLine {
    fn rejects(character: char) -> bool {
        is_hidden(character) || is_line_separator(character)
    }
}

impl TextClass for Lines {
    fn rejects(character: char) -> bool {
        character != '\n' && OneLine::rejects(character)
    }
}

/// A text of a class, without surrounding blanks, of 1 to `N` characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text<C, const N: usize> {
    text: String,
    class: PhantomData<C>,
}

pub type Name = Text<Named, 100>;
pub type Line<const N: usize> = Text<OneLine, N>;
pub type Reason = Line<500>;
pub type Note<const N: usize> = Text<Lines, N>;

impl<C: TextClass, const N: usize> Text<C, N> {
    pub fn new(text: &str) -> Result<Self, InvalidText> {
        let text = text.trim();
        if text.is_empty() {
            return Err(InvalidText::Empty);
        }
        if text.chars().count() > N {
            return Err(InvalidText::TooLong(N));
        }
        if let Some(rejected) = text.chars().find(|character| C::rejects(*character)) {
            return Err(InvalidText::Character(rejected));
        }
        Ok(Self { text: text.to_owned(), class: PhantomData })
    }

    /// Returns `None` for a text of blanks only.
    pub fn optional(text: &str) -> Result<Option<Self>, InvalidText> {
        match Self::new(text) {
            Err(InvalidText::Empty) => Ok(None),
            other => other.map(Some),
        }
    }
}

impl<C, const N: usize> Text<C, N> {
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn into_string(self) -> String {
        self.text
    }
}

impl<C, const N: usize> fmt::Display for Text<C, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
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

/// The beginning of a commit's id, for which deployments are looked up: 1 to 64 hexadecimal digits, and so no character
/// that a query could read as a wildcard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitPrefix(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be a commit's id or its beginning: 1 to 64 of the digits 0-9 and a-f, in small letters")]
pub struct InvalidCommitPrefix;

impl CommitPrefix {
    pub fn new(text: &str) -> Result<Self, InvalidCommitPrefix> {
        let hexadecimal = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if hexadecimal && (1..=64).contains(&text.len()) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidCommitPrefix)
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The name of a branch, according to `git check-ref-format`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidBranch {
    #[error(
        "must be the name of a branch: 1 to 255 characters, without spaces, control characters or any of ~ ^ : ? * [ \\"
    )]
    Form,
    #[error("must not contain {}", Described(*.0))]
    Character(char),
}

impl Branch {
    pub fn new(text: &str) -> Result<Self, InvalidBranch> {
        if let Some(hidden) = text.chars().find(|character| is_hidden_in_name(*character)) {
            return Err(InvalidBranch::Character(hidden));
        }
        let is_forbidden =
            |character: char| matches!(character, ' ' | '~' | '^' | ':' | '?' | '*' | '[' | '\\');
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
        if is_valid { Ok(Self(text.to_owned())) } else { Err(InvalidBranch::Form) }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// An e-mail address, stored as it was written and compared case-insensitively.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Email(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidEmail {
    #[error("must be an e-mail address such as name@example.com")]
    Form,
    #[error("must not contain {}", Described(*.0))]
    Character(char),
}

impl Email {
    /// Checks only what all addresses have in common; only sending a mail can show whether an address exists.
    pub fn new(text: &str) -> Result<Self, InvalidEmail> {
        if let Some(hidden) = text.chars().find(|character| is_hidden_in_name(*character)) {
            return Err(InvalidEmail::Character(hidden));
        }
        let (local, domain) = text.rsplit_once('@').ok_or(InvalidEmail::Form)?;
        let plain = !text.chars().any(char::is_whitespace);
        if text.len() <= 254 && plain && !local.is_empty() && !domain.is_empty() && !local.contains('@') {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidEmail::Form)
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
        for hidden in [
            '\u{0}', '\u{9}', '\u{1b}', '\u{85}', '\u{61c}', '\u{200e}', '\u{200f}', '\u{202a}', '\u{202e}',
            '\u{2028}', '\u{2029}', '\u{2066}', '\u{2069}',
        ] {
            let (text, rejected) = (format!("a{hidden}b"), InvalidText::Character(hidden));
            assert_eq!(Name::new(&text), Err(rejected), "{hidden:?}");
            assert_eq!(Reason::new(&text), Err(rejected), "{hidden:?}");
            assert_eq!(Note::<10>::new(&text), Err(rejected), "{hidden:?}");
        }
        let line_break = InvalidText::Character('\n');
        assert_eq!(Name::new("a\nb"), Err(line_break));
        assert_eq!(Reason::new("a\nb"), Err(line_break));
        assert_eq!(Note::<10>::new(" a\nb\n").unwrap().as_str(), "a\nb");
        assert_eq!(Note::<10>::optional(" \n "), Ok(None));
        assert_eq!(Note::<2>::optional("a\nb"), Err(InvalidText::TooLong(2)));
        assert_eq!(Name::new(&"ä".repeat(101)), Err(InvalidText::TooLong(100)));
        assert!(Name::new(&"ä".repeat(100)).is_ok());
    }

    #[test]
    fn a_name_has_nothing_that_is_not_displayed() {
        for hidden in ['\u{ad}', '\u{200b}', '\u{200d}', '\u{2060}', '\u{3164}', '\u{feff}', '\u{e0041}'] {
            let text = format!("a{hidden}b");
            assert_eq!(Name::new(&text), Err(InvalidText::Character(hidden)), "{hidden:?}");
            assert_eq!(Branch::new(&text), Err(InvalidBranch::Character(hidden)), "{hidden:?}");
            assert_eq!(Email::new(&format!("{text}@c")), Err(InvalidEmail::Character(hidden)), "{hidden:?}");
            assert_eq!(Reason::new(&text).unwrap().as_str(), text, "{hidden:?}");
            assert_eq!(Note::<10>::new(&text).unwrap().as_str(), text, "{hidden:?}");
        }
        for name in ["\u{2764}\u{fe0f} shop", "Ada Lovelace", "größer", "日本語", "a_b-c.d"] {
            assert_eq!(Name::new(name).unwrap().as_str(), name);
        }
    }

    #[test]
    fn the_rejected_character_is_named() {
        for (character, part) in [
            ('\0', "U+0000, a control character"),
            ('\t', "U+0009, a tab"),
            ('\n', "U+000A, a line break"),
            ('\u{2028}', "U+2028, a line break"),
            ('\u{202e}', "U+202E, which changes the direction"),
            ('\u{200b}', "U+200B, which is not displayed"),
            ('\u{e0041}', "U+E0041, which is not displayed"),
        ] {
            let text = Name::new(&format!("a{character}b")).unwrap_err().to_string();
            assert!(text.starts_with("must not contain ") && text.contains(part), "{text}");
            assert!(!text.contains(character), "{text}");
        }
    }

    #[test]
    fn beginnings_of_commits() {
        for good in ["0", "9f3c2a1", &"a".repeat(64)] {
            assert_eq!(CommitPrefix::new(good).unwrap().as_str(), good);
        }
        for bad in ["", "_", "____", "%", "9f_c", "9F3C", "g", " 9", "9\\", "'", &"a".repeat(65)] {
            assert_eq!(CommitPrefix::new(bad), Err(InvalidCommitPrefix), "{bad}");
        }
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
            assert!(Branch::new(bad).is_err(), "{bad}");
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
