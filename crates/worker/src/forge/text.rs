//! Cleans texts of a forge, and encodes ours for its URLs.

use std::fmt::Write;

/// Replaces the credential in a text that contains it.
const MASK: &str = "***";

/// Returns a text on one line: without control, bidirectional and zero-width characters, without the token, and cut after
/// `max` characters.
pub(super) fn clean(text: &str, token: &str, max: usize) -> String {
    // A part of the text is enough, and its length is bounded before anything else is done.
    let start: String = text.chars().take(max.saturating_mul(4).saturating_add(token.len())).collect();
    let masked = if token.is_empty() { start } else { start.replace(token, MASK) };
    let mut cleaned = String::new();
    for word in masked.split(|letter: char| letter.is_whitespace() || letter.is_control()) {
        let word: String = word.chars().filter(|letter| !is_invisible(*letter)).collect();
        if !word.is_empty() {
            if !cleaned.is_empty() {
                cleaned.push(' ');
            }
            cleaned.push_str(&word);
        }
    }
    // Removing characters may have joined the parts of a token.
    let cleaned = if token.is_empty() { cleaned } else { cleaned.replace(token, MASK) };
    cleaned.chars().take(max).collect()
}

fn is_invisible(letter: char) -> bool {
    matches!(letter, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Encodes one segment of a path, or the value of a query: everything but letters, digits and `-_.`.
pub(super) fn encode(text: &str) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |mut encoded, byte| {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.') {
            encoded.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(encoded, "%{byte:02X}");
        }
        encoded
    })
}

/// Returns whether a text is the id of a commit: SHA-1 or SHA-256.
pub(super) fn is_commit_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns whether a text can be the name of a branch, or the id of a commit, in a URL: it can't leave its segment.
pub(super) fn is_revision(text: &str) -> bool {
    (1..=255).contains(&text.len())
        && !text.contains("..")
        && !text.starts_with(['-', '/', '.'])
        && !text.ends_with(['/', '.'])
        && !text.contains(|letter: char| {
            letter.is_control()
                || letter.is_whitespace()
                || is_invisible(letter)
                || ":?*[\\^~".contains(letter)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_a_forge_are_bounded_and_show_no_token() {
        for (text, expected) in [
            ("plain text", "plain text"),
            ("two\nlines\r\n\tand a tab", "two lines and a tab"),
            ("\u{1b}[31mred\u{202e}\u{200b}", "[31mred"),
            ("Bad credentials: tok-123", "Bad credentials: ***"),
            ("tok\u{200b}-123 and tok-\u{ad}123", "*** and ***"),
            ("", ""),
        ] {
            assert_eq!(clean(text, "tok-123", 100), expected, "{text:?}");
        }
        assert_eq!(clean(&"ä".repeat(1_000_000), "t", 200).chars().count(), 200);
        let late = format!("{}tok-123", "x".repeat(98));
        assert!(!clean(&late, "tok-123", 100).contains("to"));
    }

    #[test]
    fn a_branch_stays_in_its_segment() {
        assert_eq!(encode("fix/a b?c#d%2e../ä"), "fix%2Fa%20b%3Fc%23d%252e..%2F%C3%A4");
        for good in ["main", "fix/checkout", "release-1.0", "ä", "0123abc", "a@b"] {
            assert!(is_revision(good), "{good}");
        }
        for bad in ["", "..", "a/../b", "/a", "a/", ".a", "-a", "a b", "a\nb", "a:b", "a?b", "a\\b", "a...b"]
        {
            assert!(!is_revision(bad), "{bad}");
        }
        assert!(is_commit_id(&"a1".repeat(20)) && !is_commit_id("abc") && !is_commit_id(&"g".repeat(40)));
    }
}
