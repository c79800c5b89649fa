//! Removes characters that are not displayed, or display a text differently from its content.

use std::iter::Peekable;
use std::str::Chars;

use greenroom_domain::text::{has_no_width, is_hidden};

const ESCAPE: char = '\u{1b}';
const BELL: char = '\u{7}';

/// Removes escape sequences, control characters other than newline and tab, characters that change the direction
/// of writing, and characters without width. Returns how many characters were removed.
pub(crate) fn clean(text: &str) -> (String, usize) {
    let (mut cleaned, mut removed) = (String::with_capacity(text.len()), 0);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\n' | '\t' => cleaned.push(character),
            // Separators of lines and paragraphs.
            '\u{85}' | '\u{2028}' | '\u{2029}' => cleaned.push('\n'),
            // A newline follows; alone it would overwrite the line.
            '\r' if characters.peek() == Some(&'\n') => {}
            ESCAPE => removed += 1 + skip_escape_sequence(&mut characters),
            '\u{9b}' => removed += 1 + skip_parameters(&mut characters),
            other if is_hidden(other) || has_no_width(other) => removed += 1,
            other => cleaned.push(other),
        }
    }
    (cleaned, removed)
}

/// Does the same for a text of one line: newlines and tabs become spaces.
pub(crate) fn clean_line(text: &str) -> (String, usize) {
    let (cleaned, removed) = clean(text);
    (cleaned.replace(['\n', '\t'], " "), removed)
}

fn skip_escape_sequence(characters: &mut Peekable<Chars<'_>>) -> usize {
    match characters.peek() {
        Some('[') => {
            characters.next();
            1 + skip_parameters(characters)
        }
        // A command of the terminal, up to the bell or the next escape.
        Some(']') => {
            let mut count = 0;
            while let Some(next) = characters.next_if(|next| !matches!(*next, ESCAPE | BELL | '\n')) {
                count += next.len_utf8().min(1);
            }
            count
        }
        _ => 0,
    }
}

/// Skips a control sequence: parameters and the letter that ends it.
fn skip_parameters(characters: &mut Peekable<Chars<'_>>) -> usize {
    let mut count = 0;
    while characters.next_if(|next| matches!(next, ' '..='?')).is_some() {
        count += 1;
    }
    count + usize::from(characters.next_if(|next| matches!(next, '@'..='~')).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_visible_stays() {
        for text in ["", "error: a\n\tb", "größer ≥ 1 — 日本語 🚀", "a  b", "100 %"] {
            assert_eq!(clean(text), (text.to_owned(), 0));
        }
        assert_eq!(clean("a\r\nb"), ("a\nb".to_owned(), 0));
    }

    #[test]
    fn what_is_hidden_goes_and_is_counted() {
        for (text, expected, count) in [
            ("a\u{0}b\u{8}c\u{7f}d", "abcd", 3),
            ("\u{202e}evil\u{2066}", "evil", 2),
            ("gh\u{200b}p\u{feff}_\u{2060}x", "ghp_x", 3),
            ("a\u{e0041}\u{e0042}\u{fe0f}b", "ab", 3),
            ("a\rb", "ab", 1),
            ("a\u{2028}b\u{85}c", "a\nb\nc", 0),
            ("\u{1b}[1;31merror\u{1b}[0m", "error", 11),
            ("\u{9b}31mred", "red", 4),
            ("\u{1b}]0;title\u{7}x", "x", 10),
            ("\u{1b}]0;title\nx", "\nx", 9),
            ("gh\u{1b}[0mp_x", "ghp_x", 4),
            ("\u{1b}", "", 1),
            ("\u{1b}[", "", 2),
        ] {
            assert_eq!(clean(text), (expected.to_owned(), count), "{text:?}");
        }
    }

    #[test]
    fn a_line_stays_one_line() {
        assert_eq!(clean_line("a\nb\u{2029}c\td"), ("a b c d".to_owned(), 0));
    }

    #[test]
    fn nothing_hidden_is_left_of_any_character() {
        for character in (0..=u32::from(char::MAX)).filter_map(char::from_u32) {
            let (cleaned, _) = clean(&format!("a{character}b"));
            let is_left = |c: char| (is_hidden(c) && !matches!(c, '\n' | '\t')) || has_no_width(c);
            assert!(!cleaned.chars().any(is_left), "{character:?}");
        }
    }
}
