//! The patterns of rules: texts with `*` for anything, `#` for digits, and `^` and `$` for the ends of the line. They
//! take linear time for each `#` and `*`, and lines have a few hundred bytes.

/// Whether a line, in lower case, matches.
pub(super) fn matches(pattern: &str, line: &str) -> bool {
    let (pattern, is_start) = pattern.strip_prefix('^').map_or((pattern, false), |rest| (rest, true));
    let (pattern, is_end) = pattern.strip_suffix('$').map_or((pattern, false), |rest| (rest, true));
    let mut rest = line;
    let parts = pattern.split('*').count();
    for (index, part) in pattern.split('*').enumerate() {
        let is_first = is_start && index == 0;
        let is_last = is_end && index + 1 == parts;
        match find(part, rest, is_first, is_last) {
            Some(after) => rest = after,
            None => return false,
        }
    }
    true
}

/// Finds the first place where the part matches, and returns what follows.
fn find<'a>(part: &str, line: &'a str, is_first: bool, is_last: bool) -> Option<&'a str> {
    let starts = line.char_indices().map(|(start, _)| start).chain([line.len()]);
    starts
        .take(if is_first { 1 } else { usize::MAX })
        .filter_map(|start| line.get(start..))
        .filter_map(|rest| prefix(part, rest))
        .find(|after| !is_last || after.is_empty())
}

/// Returns what follows the part at the beginning of a line.
fn prefix<'a>(part: &str, line: &'a str) -> Option<&'a str> {
    let mut rest = line;
    for (index, text) in part.split('#').enumerate() {
        if index > 0 {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            rest = rest.get(digits..).filter(|_| digits > 0)?;
        }
        rest = rest.strip_prefix(text)?;
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_in_order() {
        for (pattern, line, expected) in [
            ("refused", "connection refused by host", true),
            ("^refused", "connection refused", false),
            ("refused$", "connection refused", true),
            ("refused$", "refused and refused", true),
            ("refused$", "refused twice", false),
            ("a*c", "abc", true),
            ("a*c", "cab", false),
            (":#:#: error", "x.c:12:3: error: y", true),
            (":#:#: error", "x.c:12: error: y", false),
            ("^killed$", "killed", true),
            ("^killed$", "killed it", false),
            ("ä*ü", "ääü", true),
        ] {
            assert_eq!(matches(pattern, line), expected, "{pattern} in {line}");
        }
    }
}
