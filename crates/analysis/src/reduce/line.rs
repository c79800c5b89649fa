//! Splits a log, which arrives in pieces of any length, into lines, and finds what of a line was visible in the end.

use memchr::{memchr, memchr_iter, memrchr};

/// How much of a line counts. The rest is skipped.
pub(crate) const MAX_LINE_BYTES: usize = 8 * 1024;
/// How much of a line is shown.
pub const MAX_SHOWN_BYTES: usize = 500;
/// Ends the text of a line of which only the first [`MAX_SHOWN_BYTES`] are shown.
pub const CUT_MARK: char = '…';

const ESCAPE: u8 = 0x1b;

/// A line of the log.
pub(crate) struct Line<'a> {
    /// From 1 on.
    pub(crate) number: u64,
    pub(crate) from: u64,
    /// The position of its newline, or the end of the log.
    pub(crate) to: u64,
    /// What follows the last carriage return, which overwrote the rest; [`MAX_LINE_BYTES`] at most.
    pub(crate) visible: &'a [u8],
}

/// The position in the log, and the beginning of a line whose newline has not arrived yet.
#[derive(Clone, Debug)]
pub(crate) struct Scanner {
    number: u64,
    from: u64,
    position: u64,
    visible: Vec<u8>,
    /// The last byte was a carriage return: what follows on the same line overwrites `visible`.
    returned: bool,
}

impl Scanner {
    pub(crate) fn new() -> Self {
        Self { number: 1, from: 0, position: 0, visible: Vec::new(), returned: false }
    }

    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Returns the number of lines, like `greenroom_domain::log_lines`.
    pub(crate) fn lines(&self) -> u64 {
        self.number - u64::from(!self.is_within_line())
    }

    pub(crate) fn is_within_line(&self) -> bool {
        self.from < self.position
    }

    pub(crate) fn push(&mut self, bytes: &[u8], mut each: impl FnMut(&Line<'_>)) {
        let mut start = 0;
        for newline in memchr_iter(b'\n', bytes) {
            let Some(piece) = bytes.get(start..newline) else { break };
            let to = self.position + piece.len() as u64;
            if self.is_within_line() {
                self.append(piece);
                each(&Line { number: self.number, from: self.from, to, visible: &self.visible });
                self.visible.clear();
                self.returned = false;
            } else {
                each(&Line { number: self.number, from: self.from, to, visible: visible(piece) });
            }
            self.next_line(to + 1, 1);
            start = newline + 1;
        }
        let rest = bytes.get(start..).unwrap_or_default();
        self.append(rest);
        self.position += rest.len() as u64;
    }

    /// Ends the line whose newline has not arrived.
    pub(crate) fn end_line(&mut self, each: impl FnOnce(&Line<'_>)) {
        if self.is_within_line() {
            each(&Line { number: self.number, from: self.from, to: self.position, visible: &self.visible });
            self.visible.clear();
            self.returned = false;
            self.next_line(self.position, 1);
        }
    }

    /// Moves over a part of the log that is not read.
    pub(crate) fn skip(&mut self, bytes: u64, newlines: u64, each: impl FnOnce(&Line<'_>)) {
        let was_within_line = self.is_within_line();
        self.end_line(each);
        self.next_line(self.position + bytes, newlines);
        // The line that the gap begins in has been counted already.
        self.number -= u64::from(was_within_line);
    }

    fn next_line(&mut self, position: u64, newlines: u64) {
        self.position = position;
        self.from = position;
        self.number += newlines;
    }

    /// Appends bytes of the same line.
    fn append(&mut self, piece: &[u8]) {
        let body = without_returns(piece);
        if let Some(shown) = memrchr(b'\r', body).and_then(|last| body.get(last + 1..)) {
            self.visible.clear();
            self.extend(shown);
        } else if !body.is_empty() {
            if self.returned {
                self.visible.clear();
            }
            self.extend(body);
        }
        if !piece.is_empty() {
            self.returned = body.len() < piece.len() || (self.returned && body.is_empty());
        }
    }

    fn extend(&mut self, shown: &[u8]) {
        let room = MAX_LINE_BYTES - self.visible.len();
        self.visible.extend_from_slice(shown.get(..room).unwrap_or(shown));
    }
}

/// Returns the bytes without the carriage returns at their end, which overwrite nothing.
fn without_returns(bytes: &[u8]) -> &[u8] {
    let length = bytes.iter().rposition(|byte| *byte != b'\r').map_or(0, |last| last + 1);
    bytes.get(..length).unwrap_or_default()
}

/// Returns what a terminal shows of a line, apart from escape sequences.
fn visible(line: &[u8]) -> &[u8] {
    let body = without_returns(line);
    let shown = memrchr(b'\r', body).and_then(|last| body.get(last + 1..)).unwrap_or(body);
    shown.get(..MAX_LINE_BYTES).unwrap_or(shown)
}

/// Removes the escape sequences of ANSI terminals. `buffer` is used only if there are any.
pub(crate) fn without_escapes<'a>(visible: &'a [u8], buffer: &'a mut Vec<u8>) -> &'a [u8] {
    if memchr(ESCAPE, visible).is_none() {
        return visible;
    }
    buffer.clear();
    let mut rest = visible;
    while let Some(escape) = memchr(ESCAPE, rest) {
        let (before, sequence) = rest.split_at(escape);
        buffer.extend_from_slice(before);
        rest = sequence.get(sequence_length(sequence)..).unwrap_or_default();
    }
    buffer.extend_from_slice(rest);
    buffer
}

/// Returns the length of the escape sequence at the beginning of the bytes.
fn sequence_length(bytes: &[u8]) -> usize {
    match bytes.get(1) {
        None => 1,
        Some(b'[') => {
            let parameters = bytes.iter().skip(2).take_while(|byte| matches!(byte, 0x20..=0x3f)).count();
            // A byte that can't end a sequence is text.
            let has_end = matches!(bytes.get(2 + parameters), Some(0x40..=0x7e));
            2 + parameters + usize::from(has_end)
        }
        // Titles and links, which end with BEL or with `ESC \`.
        Some(b']') => {
            let end = bytes.iter().skip(2).position(|byte| matches!(*byte, 0x07 | ESCAPE));
            match end.map(|end| (end + 2, bytes.get(end + 2))) {
                Some((end, Some(&ESCAPE))) if bytes.get(end + 1) == Some(&b'\\') => end + 2,
                Some((end, Some(&ESCAPE))) => end,
                Some((end, _)) => end + 1,
                None => bytes.len(),
            }
        }
        // The choice of a character set.
        Some(b'(' | b')') => 3,
        Some(0x20..=0x7e) => 2,
        Some(_) => 1,
    }
}

/// Returns the text that is shown of a line: without escape sequences and what a carriage return overwrote. Invalid
/// UTF-8 and control characters are replaced. A line of more than [`MAX_SHOWN_BYTES`] ends with [`CUT_MARK`].
pub fn shown_text(line: &[u8]) -> String {
    let mut buffer = Vec::new();
    shown(without_escapes(visible(line), &mut buffer)).0
}

/// Returns the text that is shown of bytes without escape sequences, and whether it was cut.
pub(crate) fn shown(bytes: &[u8]) -> (String, bool) {
    let is_cut = bytes.len() > MAX_SHOWN_BYTES;
    let kept = if is_cut { bytes.get(..boundary(bytes)).unwrap_or_default() } else { bytes };
    let mut text: String = String::from_utf8_lossy(kept)
        .chars()
        .map(|character| match character {
            '\t' => '\t',
            control if control.is_control() => char::REPLACEMENT_CHARACTER,
            other => other,
        })
        .collect();
    if is_cut {
        text.push(CUT_MARK);
    }
    (text, is_cut)
}

/// Returns the last position up to [`MAX_SHOWN_BYTES`] that is not within a character.
fn boundary(bytes: &[u8]) -> usize {
    let is_within = |position: usize| bytes.get(position).is_some_and(|byte| byte & 0xc0 == 0x80);
    (MAX_SHOWN_BYTES - 3..=MAX_SHOWN_BYTES)
        .rev()
        .find(|position| !is_within(*position))
        .unwrap_or(MAX_SHOWN_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(pieces: &[&[u8]]) -> Vec<(u64, u64, u64, String)> {
        let (mut scanner, mut lines) = (Scanner::new(), Vec::new());
        let mut record = |line: &Line<'_>| {
            lines.push((line.number, line.from, line.to, String::from_utf8_lossy(line.visible).into_owned()));
        };
        for piece in pieces {
            scanner.push(piece, &mut record);
        }
        scanner.end_line(&mut record);
        lines
    }

    #[test]
    fn carriage_returns_overwrite_unless_they_end_the_line() {
        let expected = [(1, 0, 2, "a".into()), (2, 3, 10, "cd".into()), (3, 11, 14, "e".into())];
        let log = b"a\r\nb\rx\rcd\r\ne\r\r".as_slice();
        let log = &log[..log.len()];
        assert_eq!(lines(&[log]), expected);
        for cut in 0..log.len() {
            assert_eq!(lines(&[&log[..cut], &log[cut..]]), expected, "cut at {cut}");
        }
    }

    #[test]
    fn a_gap_keeps_numbers_and_positions() {
        let (mut scanner, mut found) = (Scanner::new(), Vec::new());
        let mut record = |line: &Line<'_>| found.push((line.number, line.from, line.to));
        scanner.push(b"one\ntw", &mut record);
        scanner.skip(100, 3, &mut record);
        scanner.push(b"end\nlast", &mut record);
        scanner.end_line(&mut record);
        // The second line is cut by the gap; the fifth begins in it.
        assert_eq!(found, [(1, 0, 3), (2, 4, 6), (5, 106, 109), (6, 110, 114)]);
        assert_eq!((scanner.lines(), scanner.position()), (6, 114));
    }

    #[test]
    fn escape_sequences_are_removed() {
        for (line, expected) in [
            ("\u{1b}[1;31merror\u{1b}[0m: x", "error: x"),
            ("\u{1b}]8;;http://a\u{1b}\\link\u{1b}]8;;\u{7}", "link"),
            ("\u{1b}(Ba\u{1b}=b\u{1b}", "ab"),
            ("a\u{1b}[31", "a"),
            ("a\u{1b}[\u{1}b", "a\u{fffd}b"),
        ] {
            assert_eq!(shown_text(line.as_bytes()), expected, "{line:?}");
        }
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        let text = shown_text("ä".repeat(300).as_bytes());
        assert_eq!(text, format!("{}…", "ä".repeat(250)));
        let text = shown_text(format!("x{}", "ä".repeat(300)).as_bytes());
        assert_eq!(text, format!("x{}…", "ä".repeat(249)));
        assert_eq!(shown_text(&[b'a', 0xff, 0, b'b']), "a\u{fffd}\u{fffd}b");
    }
}
