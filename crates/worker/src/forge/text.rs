//! Cleans texts of a forge, and encodes ours for its URLs.

use std::fmt::Write;

use greenroom_domain::text::is_hidden_in_name;

/// Replaces the credential in a text that contains it.
const MASK: &str = "***";

/// Returns a text on one line: without control, bidirectional and zero-width characters, without the token, and cut after
/// `max` characters.
pub fn clean(text: &str, token: &str, max: usize) -> String {
    // A part of the text is enough, and its length is bounded before anything else is done.
    let start: String = text.chars().take(max.saturating_mul(4).saturating_add(token.len())).collect();
    let masked = if token.is_empty() { start } else { start.replace(token, MASK) };
    let mut cleaned = String::new();
    for word in masked.split(|letter: char| letter.is_whitespace() || letter.is_control()) {
        let word: String = word.chars().filter(|letter| !is_hidden_in_name(*letter)).collect();
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

/// Encodes one segment of a path, or the value of a query: everything but letters, digits and `-_.`.
pub fn encode(text: &str) -> String {
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
pub fn is_commit_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns whether a text can be the name of a branch, or the id of a commit, in a URL: it can't leave its segment.
pub fn is_revision(text: &str) -> bool {
    (1..=255).contains(&text.len())
        && !text.contains("..")
        && !text.starts_with(['-', '/', '.'])
        && !text.ends_with(['/', '.'])
        && !text.contains(|letter: char| {
            letter.is_whitespace() || is_hidden_in_name(letter) || ":?*[\\^~".contains(letter)
        })
}
