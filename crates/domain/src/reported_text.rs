//! Text that a runner reports, such as why a step failed. It may contain anything that a program printed, and
//! a report is never rejected because of it: characters that can't be stored or displayed are replaced.

use crate::text::{Lines, TextClass};

/// The maximum length of a reported text.
pub const MAX_CHARACTERS: usize = 4_000;

/// Replaces control characters other than tab and newline and those that change the direction of writing, and cuts the
/// text at [`MAX_CHARACTERS`].
pub fn clean(text: &str) -> String {
    let mut characters = text.chars();
    let mut cleaned: String = characters
        .by_ref()
        .take(MAX_CHARACTERS)
        .map(|character| match character {
            '\t' | '\n' => character,
            rejected if Lines::rejects(rejected) => char::REPLACEMENT_CHARACTER,
            other => other,
        })
        .collect();
    if characters.next().is_some() {
        cleaned.push('…');
    }
    cleaned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_can_t_be_stored_are_replaced() {
        assert_eq!(clean("exit code 1"), "exit code 1");
        assert_eq!(clean("one\n\ttwo"), "one\n\ttwo");
        assert_eq!(clean("a\u{0}b\u{1b}c"), "a\u{fffd}b\u{fffd}c");
        assert_eq!(clean("a\u{202e}b\u{2066}"), "a\u{fffd}b\u{fffd}");
        assert_eq!(clean("👩\u{200d}💻"), "👩\u{200d}💻");
    }

    #[test]
    fn a_long_text_is_cut() {
        let kept = "ä".repeat(MAX_CHARACTERS);
        assert_eq!(clean(&kept), kept);
        assert_eq!(clean(&format!("{kept}x")), format!("{kept}…"));
    }
}
