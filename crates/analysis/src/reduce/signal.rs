//! How strongly the keywords in a line suggest that it shows a failure. Each new template is examined once.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, Match, MatchKind};

use super::keywords::{KEYWORDS, Kind, Signal};

static FINDER: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::LeftmostLongest)
        .build(KEYWORDS.iter().map(|(word, _)| word))
        .ok()
});

/// Returns the signal of a line without escape sequences.
pub(crate) fn signal(line: &[u8]) -> Signal {
    let line = line.trim_ascii();
    let Some(finder) = FINDER.as_ref() else { return Signal::None };
    let head = head(line);
    if matches!(head, Signal::Summary | Signal::Title) {
        return head;
    }
    let mut signal = if has_location(line) { Signal::Phrase } else { head };
    let mut level = Signal::Explicit;
    // By a phrase whose meaning does not depend on its surroundings.
    let mut named = Signal::None;
    let (mut is_summary, mut is_title) = (false, false);
    for found in finder.find_iter(line) {
        let Some((_, kind)) = KEYWORDS.get(found.pattern().as_usize()) else { continue };
        match kind {
            Kind::Passed => return Signal::None,
            Kind::Harmless => {}
            Kind::Level if is_level(line, &found) => level = Signal::Weak,
            Kind::Level => {}
            Kind::Summary => is_summary = true,
            Kind::Title => is_title = true,
            Kind::Text(text) => named = named.max(*text),
            Kind::Count => signal = signal.max(counted(line, &found)),
            Kind::WholeWord(text) if is_word(line, &found) => signal = signal.max(*text),
            Kind::WholeWord(_) => {}
        }
    }
    let signal = match (is_summary, is_title, named) {
        // A consequence that names its cause.
        (true, _, Signal::Explicit) => Signal::Explicit,
        (true, ..) => Signal::Summary,
        (false, true, _) => Signal::Title,
        (false, false, _) => signal.max(named),
    };
    signal.min(level)
}

/// Returns the signal of lines whose beginning alone marks them: test frameworks, package managers, differences.
fn head(line: &[u8]) -> Signal {
    const EXPLICIT: &[&str] = &["E  ", "E: ", "Err:", "✗", "✘", "✖", "×", "! ", "Killed", "Diff in ", "@@ -"];
    const TITLE: &[&str] = &["●", "✕", "not ok "];
    let has = |heads: &[&str]| heads.iter().any(|head| line.starts_with(head.as_bytes()));
    // `FAIL` and the path of a package or a file.
    let failed = line.strip_prefix(b"FAIL".as_slice()).map(<[u8]>::trim_ascii_start);
    let is_path = |rest: &[u8]| {
        rest.is_empty() || !rest.contains(&b' ') && rest.iter().any(|byte| b"/.".contains(byte))
    };
    if failed.is_some_and(is_path) {
        Signal::Summary
    } else if has(TITLE) {
        Signal::Title
    } else if has(EXPLICIT) {
        Signal::Explicit
    } else {
        Signal::None
    }
}

/// Whether the line begins with the position in a source file, as compilers and linters write it:
/// `path.ext:line:…` or `path.ext(line,column)`.
fn has_location(line: &[u8]) -> bool {
    let is_path =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'/' | b'_' | b'-' | b'@');
    let path = line.iter().take_while(|byte| is_path(byte)).count();
    let (name, rest) = line.split_at(path);
    let Some(dot) = memchr::memrchr(b'.', name) else { return false };
    let extension = name.get(dot + 1..).unwrap_or_default();
    let is_extension = (1..=5).contains(&extension.len()) && extension.iter().any(u8::is_ascii_alphabetic);
    let is_file = dot > 0 && is_extension && extension.iter().all(u8::is_ascii_alphanumeric);
    let separator = rest.first().copied().unwrap_or_default();
    let digits = rest.iter().skip(1).take_while(|byte| byte.is_ascii_digit()).count();
    let after = rest.get(1 + digits).copied().unwrap_or_default();
    is_file && digits > 0 && matches!((separator, after), (b':', b':') | (b'(', b',' | b')'))
}

fn byte_before(line: &[u8], found: &Match) -> Option<u8> {
    found.start().checked_sub(1).and_then(|position| line.get(position)).copied()
}

/// Returns whether a matched keyword stands alone: it is not part of an identifier, a path or a command-line option.
fn is_word(line: &[u8], found: &Match) -> bool {
    let before = byte_before(line, found);
    let after = line.get(found.end()).copied();
    let next = line.get(found.end() + 1).copied();
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'/' | b'.' | b'$');
    // The names of exception types end with the keyword: `TypeError`, `java.lang.NullPointerException`.
    let is_capital = line.get(found.start()).is_some_and(u8::is_ascii_uppercase);
    let starts = match before {
        Some(byte) if is_capital => !byte.is_ascii_uppercase() && !matches!(byte, b'_' | b'-' | b'/'),
        Some(byte) => !is_part(byte),
        None => true,
    };
    let is_name = is_capital && before.is_some_and(|byte| byte.is_ascii_alphabetic());
    let ends = match after {
        Some(byte) if is_name => matches!(byte, b':' | b'(' | b' '),
        Some(b'.') => !next.is_some_and(|byte| byte.is_ascii_alphanumeric()),
        Some(byte) => !is_part(byte),
        None => true,
    };
    starts && ends
}

/// Returns the signal of a keyword that often has a count: `0 errors`, `no error` and `failed: 0` are harmless.
fn counted(line: &[u8], found: &Match) -> Signal {
    if !is_word(line, found) {
        return Signal::None;
    }
    let before = line.get(..found.start()).unwrap_or_default().trim_ascii_end();
    let after = line.get(found.end()..).unwrap_or_default();
    let previous = before.rsplit(|byte| !byte.is_ascii_alphanumeric()).next().unwrap_or_default();
    let is_none = [
        b"0".as_slice(),
        b"no",
        b"without",
        b"zero",
        b"any",
        b"if",
        b"on",
        b"ignore",
        b"ignoring",
        b"ignored",
    ]
    .iter()
    .any(|none| previous.eq_ignore_ascii_case(none) && before.ends_with(previous));
    let is_separator = |byte: &u8| matches!(byte, b':' | b'=' | b' ' | b'"');
    let separators = after.iter().take_while(|byte| is_separator(byte)).count();
    let value = after.get(separators..).unwrap_or_default();
    let is_zero = separators > 0
        && value.first() == Some(&b'0')
        && !value.get(1).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'.');
    if is_none || is_zero {
        return Signal::None;
    }
    let is_upper =
        line.get(found.start()..found.end()).is_some_and(|word| word.iter().all(u8::is_ascii_uppercase));
    let is_name = byte_before(line, found).is_some_and(|byte| byte.is_ascii_alphabetic());
    let is_marked = matches!(after.first(), Some(b':' | b']' | b'[' | b'!' | b'('));
    let is_first = !before.iter().any(u8::is_ascii_alphabetic);
    if is_upper || is_name || is_marked || is_first { Signal::Explicit } else { Signal::Phrase }
}

/// Returns whether the keyword is the severity level of a log line: it is near the beginning, and spelled as a level.
fn is_level(line: &[u8], found: &Match) -> bool {
    const MAX_START: usize = 48;
    let word = line.get(found.start()..found.end()).unwrap_or_default();
    let after = line.get(found.end()).copied();
    let is_written = word.iter().all(u8::is_ascii_uppercase) || matches!(after, Some(b':' | b']' | b'"'));
    let before = byte_before(line, found);
    let is_start = !before.is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    let is_end = !after.is_some_and(|byte| byte.is_ascii_alphanumeric());
    is_written && is_start && is_end && found.start() <= MAX_START
}

#[cfg(test)]
#[path = "signal_tests.rs"]
mod tests;
