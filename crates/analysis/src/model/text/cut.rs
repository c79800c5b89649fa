//! Shortens texts.

const LEFT_OUT: &str = "\n[… cut …]\n";
const ELLIPSIS: char = '…';

/// Keeps the beginning and the end of a text that is too long: in a trace the decisive line is one of both. Returns
/// the text, and how many bytes were left out.
pub(crate) fn cut_middle(text: &str, max_bytes: usize) -> (String, usize) {
    if text.len() <= max_bytes {
        return (text.to_owned(), 0);
    }
    let half = max_bytes.saturating_sub(LEFT_OUT.len()) / 2;
    let head = text.floor_char_boundary(half);
    let tail = text.ceil_char_boundary(text.len() - half);
    (format!("{}{LEFT_OUT}{}", &text[..head], &text[tail..]), tail - head)
}

/// Bounds a text before it is searched for secrets: only its beginning and its end are kept. It is cut at white space,
/// so that no part of a secret is left that can't be recognized.
pub(crate) fn bound(text: &str, max_bytes: usize) -> (String, bool) {
    if text.len() <= max_bytes {
        return (text.to_owned(), false);
    }
    let half = max_bytes / 2;
    let head = &text[..text.floor_char_boundary(half)];
    let tail = &text[text.ceil_char_boundary(text.len() - half)..];
    let head = head.rfind([' ', '\n']).map_or("", |end| &head[..end]);
    let tail = tail.find([' ', '\n']).map_or("", |start| &tail[start..]);
    (format!("{head}{LEFT_OUT}{tail}"), true)
}

/// Cuts a text at a number of characters. Returns whether it was longer.
pub(crate) fn cut_end(text: &str, max_characters: usize) -> (String, bool) {
    if text.chars().count() <= max_characters {
        return (text.to_owned(), false);
    }
    let kept: String = text.chars().take(max_characters.saturating_sub(1)).collect();
    (kept.trim_end().to_owned() + &ELLIPSIS.to_string(), true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_stay() {
        let text = format!("first{}last", "ä".repeat(1_000));
        let (kept, left_out) = cut_middle(&text, 101);
        assert!(kept.starts_with("first") && kept.ends_with("last") && kept.len() <= 101, "{kept}");
        assert_eq!(left_out, text.len() - (kept.len() - LEFT_OUT.len()));
        assert_eq!(cut_middle("short", 5), ("short".to_owned(), 0));
        for max in 0..60 {
            assert!(cut_middle(&text, max).0.len() <= max.max(LEFT_OUT.len()));
        }
    }

    #[test]
    fn a_text_is_bounded_between_words() {
        let text = format!("a b {} c d", "x".repeat(1_000));
        assert_eq!(bound(&text, 100), (format!("a b{LEFT_OUT} c d"), true));
        assert_eq!(bound(&"ä".repeat(1_000), 101), (LEFT_OUT.to_owned(), true));
        assert_eq!(bound("a b", 3), ("a b".to_owned(), false));
    }

    #[test]
    fn characters_are_counted() {
        assert_eq!(cut_end("äöü", 3), ("äöü".to_owned(), false));
        assert_eq!(cut_end("äöüß", 3), ("äö…".to_owned(), true));
        assert_eq!(cut_end("a bcd", 3), ("a…".to_owned(), true));
    }
}
