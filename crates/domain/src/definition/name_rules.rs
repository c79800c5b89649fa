//! The rules for names, as predicates for the checks and as patterns for the schema. A test shows that they
//! agree.

use crate::slug::{InvalidSlug, Slug};
use crate::text;

pub(super) const NAME: &str = "^[a-z][a-z0-9-]{0,62}$";
pub(super) const NAME_OR_TEMPLATE: &str = r"^[a-z]([a-z0-9-]{0,62}|[a-z0-9-]{0,61}\*)$";
pub(super) const VARIABLE: &str = "^[A-Za-z_][A-Za-z0-9_]{0,127}$";
pub(super) const INPUT: &str = "^[A-Za-z_][A-Za-z0-9_-]{0,62}$";
pub(super) const IMAGE: &str = "^[A-Za-z0-9][A-Za-z0-9._/:@-]*$";
pub(super) const CACHE_KEY: &str = "^[A-Za-z0-9][A-Za-z0-9._/:@+=-]{0,127}$";
pub(super) const AUDIENCE: &str = "^[!-~]{1,255}$";
pub(super) const STEP_REFERENCE: &str =
    r"^[a-z0-9-]+/[a-z0-9-]+@(v?[0-9]+(\.[0-9]+){0,2}(-[0-9A-Za-z.-]+)?|sha256:[0-9a-f]{64})$";

pub(crate) const NAME_RULE: &str =
    "1 to 63 characters: a small letter, then small letters, digits or hyphens";
pub(super) const CACHE_KEY_RULE: &str =
    "1 to 128 characters: a letter or digit, then letters, digits and `. _ - / : @ + =`";
pub(super) const AUDIENCE_RULE: &str = "1 to 255 letters, digits and signs of ASCII, without spaces";
pub(crate) const VARIABLE_RULE: &str = "letters, digits and `_`, not starting with a digit, 128 at most";

/// Prefix of the variables that the platform sets, such as the fence. Definitions can't override them.
pub(crate) const RESERVED_PREFIX: &str = "GREENROOM_";

/// Stage keys, pools, secrets and labels: a slug that may be a reserved one, because these are not part of
/// URL paths.
pub(crate) fn is_name(text: &str) -> bool {
    !matches!(text.parse::<Slug>(), Err(InvalidSlug::Shape))
}

/// Returns the part of `pr-*` before the star, if it is a valid name of a template.
pub(super) fn template_prefix(text: &str) -> Option<&str> {
    // With one more character the prefix has to be a valid name, otherwise no name could ever match.
    text.strip_suffix('*').filter(|prefix| is_name(prefix) && prefix.len() < 63)
}

pub(crate) fn is_variable(text: &str) -> bool {
    matches_rule(text, 128, |first| first.is_ascii_alphabetic() || first == b'_', is_word_character)
}

pub(crate) fn is_input(text: &str) -> bool {
    let start = |first: u8| first.is_ascii_alphabetic() || first == b'_';
    matches_rule(text, 63, start, |byte| is_word_character(byte) || byte == b'-')
}

pub(crate) fn is_image(text: &str) -> bool {
    let rest =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'/' | b':' | b'@' | b'-');
    matches_rule(text, usize::MAX, |first| first.is_ascii_alphanumeric(), rest)
}

/// Keys start with a letter or digit, so they are never `.` or `..`, which a URL would drop.
pub fn is_cache_key(text: &str) -> bool {
    let rest = |byte: u8| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'/' | b':' | b'@' | b'+' | b'=' | b'-')
    };
    matches_rule(text, 128, |first| first.is_ascii_alphanumeric(), rest)
}

/// The audience of an id token: often a URL or the name of a service.
pub(super) fn is_audience(text: &str) -> bool {
    matches_rule(text, 255, |first| first.is_ascii_graphic(), |byte| byte.is_ascii_graphic())
}

/// The parts of `registry/name@version`.
pub(super) struct StepReferenceParts<'a> {
    pub(super) registry: &'a str,
    pub(super) name: &'a str,
    pub(super) version: &'a str,
}

/// Splits `registry/name@version` into its three parts.
pub(super) fn step_reference(text: &str) -> Option<StepReferenceParts<'_>> {
    let (place, version) = text.split_once('@')?;
    let (registry, name) = place.split_once('/')?;
    let is_plain =
        |part: &str| !part.is_empty() && part.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'));
    let is_valid = is_plain(registry) && is_plain(name) && is_version(version);
    is_valid.then_some(StepReferenceParts { registry, name, version })
}

fn is_version(text: &str) -> bool {
    if let Some(digest) = text.strip_prefix("sha256:") {
        return digest.len() == 64 && digest.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    }
    let number = text.strip_prefix('v').unwrap_or(text);
    let (number, suffix) =
        number.split_once('-').map_or((number, None), |(number, rest)| (number, Some(rest)));
    let suffix_is_plain = suffix.is_none_or(|rest| {
        !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-'))
    });
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    number.split('.').count() <= 3 && number.split('.').all(is_number) && suffix_is_plain
}

const fn is_word_character(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn matches_rule(
    text: &str,
    max_length: usize,
    start: impl Fn(u8) -> bool,
    rest: impl Fn(u8) -> bool,
) -> bool {
    text.len() <= max_length && text.bytes().next().is_some_and(start) && text.bytes().all(rest)
}

/// Returns whether a character is forbidden in a definition, because it could disguise a text in a terminal
/// or a log. That includes characters that change the direction of writing, with which a script displays
/// differently from what it runs.
pub(super) fn is_hidden(character: char) -> bool {
    let is_layout = matches!(character, '\n' | '\r' | '\t');
    (text::is_hidden(character) && !is_layout) || character == '\u{feff}'
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;

    /// Every predicate returns the result of its pattern for all of these texts.
    #[test]
    fn patterns_agree() -> Result<(), regex::Error> {
        let digest = format!("acme/deploy@sha256:{}", "a".repeat(64));
        let texts = [
            "",
            "a",
            "A",
            "_",
            "-",
            "1",
            "a1",
            "1a",
            "-a",
            "a-",
            "qa-1",
            "pr-*",
            "*",
            "p*",
            "P*",
            "pr-**",
            "pr-*x",
            "a b",
            "ä",
            "a\n",
            "A_B",
            "_x",
            "a.b",
            "rust:1.95",
            "a/b@v1",
            "a/b@1",
            "a/b@v",
            "a/b@1.2.3.4",
            "a/b@1.2-rc.1",
            "a/b@1-",
            "A/b@1",
            "a/b",
            "a@1",
            "a/b/c@1",
            "/b@1",
            "a/@1",
            "a/b@main",
            "a/b@sha256:abc",
            "a/b@v1@v2",
            "a/b@1..2",
            "claim",
        ];
        let long: Vec<String> = [62, 63, 64, 127, 128, 129].iter().map(|n| "a".repeat(*n)).collect();
        let starred: Vec<String> = long.iter().map(|text| format!("{text}*")).collect();
        let all =
            texts.into_iter().chain([digest.as_str()]).chain(long.iter().chain(&starred).map(String::as_str));
        type Holds = fn(&str) -> bool;
        let rules: [(&str, Holds); 7] = [
            (NAME, is_name),
            (NAME_OR_TEMPLATE, |text| is_name(text) || template_prefix(text).is_some()),
            (VARIABLE, is_variable),
            (INPUT, is_input),
            (IMAGE, is_image),
            (CACHE_KEY, is_cache_key),
            (STEP_REFERENCE, |text| step_reference(text).is_some()),
        ];
        let compiled = rules.map(|(pattern, holds)| (Regex::new(pattern), holds));
        for text in all {
            for (pattern, holds) in &compiled {
                let pattern = pattern.as_ref().map_err(Clone::clone)?;
                assert_eq!(holds(text), pattern.is_match(text), "{text:?} against {pattern}");
            }
        }
        Ok(())
    }

    #[test]
    fn hidden_characters() {
        assert!("a\tb\r\nc — ä".chars().all(|character| !is_hidden(character)));
        for character in
            ['\0', '\u{7}', '\u{1b}', '\u{7f}', '\u{85}', '\u{200f}', '\u{202e}', '\u{2066}', '\u{feff}']
        {
            assert!(is_hidden(character), "{character:?}");
        }
    }
}
