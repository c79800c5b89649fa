//! Finds the lines of a log that contain a text. The log is passed in as consecutive parts. What is kept of
//! them is bounded, whatever the length of a line.

use std::ops::Range;

use greenroom_domain::log_lines::count_newlines;
use memchr::memmem::Finder;
use memchr::{memchr, memrchr};

/// How much of a line an excerpt shows before the text that was found, and from its first byte on.
const EXCERPT_BYTES_BEFORE: usize = 64;
const EXCERPT_BYTES_AFTER: usize = 192;
/// The maximum number of matching lines that are counted.
const MAX_TOTAL: u64 = 10_000;

/// A line that contains the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundLine {
    /// The number of newlines between the beginning of the search and this line.
    pub newlines: u64,
    /// The position in the log where the text begins, for the first time in this line.
    pub offset: u64,
    /// The line, or what surrounds the text if the line is longer.
    pub excerpt: String,
}

pub struct LineFinder {
    finder: Finder<'static>,
    ignores_case: bool,
    /// How many lines are returned.
    limit: usize,
    /// The bytes that were not searched yet, and before them some that an excerpt may need.
    buffer: Vec<u8>,
    /// The buffer in lower case. Empty unless the case is ignored.
    lowercase: Vec<u8>,
    /// The position in the log of the buffer's first byte.
    start: u64,
    /// How many bytes of the buffer were searched.
    searched: usize,
    /// The number of newlines that were searched.
    newlines: u64,
    /// Whether the text was found in the current line.
    is_found: bool,
    found: Vec<FoundLine>,
    total: u64,
    /// Where the first line that was found and not returned begins, or its excerpt if the line is long.
    first_omitted: Option<u64>,
}

impl LineFinder {
    /// Begins at a position of the log. `ignores_case` concerns ASCII letters only.
    pub fn new(text: &str, ignores_case: bool, start: u64, limit: usize) -> Self {
        let text = if ignores_case { text.to_ascii_lowercase() } else { text.to_owned() };
        Self {
            finder: Finder::new(text.as_bytes()).into_owned(),
            ignores_case,
            limit,
            buffer: Vec::new(),
            lowercase: Vec::new(),
            start,
            searched: 0,
            newlines: 0,
            is_found: false,
            found: Vec::new(),
            total: 0,
            first_omitted: None,
        }
    }

    /// Searches the next part. A match that begins near its end is found with the next part, unless this is
    /// the last one.
    pub fn push(&mut self, part: &[u8], is_last: bool) {
        self.buffer.extend_from_slice(part);
        if self.ignores_case {
            self.lowercase.extend(part.iter().map(u8::to_ascii_lowercase));
        }
        let needed = self.finder.needle().len().max(EXCERPT_BYTES_AFTER);
        let end = if is_last { self.buffer.len() } else { self.buffer.len().saturating_sub(needed) };
        while self.searched < end && !self.is_full() {
            let haystack = if self.ignores_case { &self.lowercase } else { &self.buffer };
            let found = self.finder.find(&haystack[self.searched..]).map(|index| self.searched + index);
            match found.filter(|index| *index < end) {
                Some(index) => {
                    self.skip_to(index);
                    self.record(index);
                    self.skip_line(end);
                }
                None => self.skip_to(end),
            }
        }
        let unneeded = self.searched.saturating_sub(EXCERPT_BYTES_BEFORE);
        self.buffer.drain(..unneeded);
        if self.ignores_case {
            self.lowercase.drain(..unneeded);
        }
        self.start += unneeded as u64;
        self.searched -= unneeded;
    }

    /// Returns whether as many lines were found as are counted.
    pub const fn is_full(&self) -> bool {
        self.total >= MAX_TOTAL
    }

    /// Returns the position up to which the log was searched.
    pub const fn searched_to(&self) -> u64 {
        self.start + self.searched as u64
    }

    /// Returns the number of lines that were found, including those that are not returned.
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// Returns from where a search finds the lines that this one has found and not returned.
    pub const fn first_omitted(&self) -> Option<u64> {
        self.first_omitted
    }

    pub fn into_found(self) -> Vec<FoundLine> {
        self.found
    }

    fn skip_to(&mut self, index: usize) {
        let newlines = count_newlines(&self.buffer[self.searched..index]);
        self.newlines += newlines;
        self.is_found &= newlines == 0;
        self.searched = index;
    }

    /// Skips to the next line, or to `end` if that comes first.
    fn skip_line(&mut self, end: usize) {
        match memchr(b'\n', &self.buffer[self.searched..end]) {
            Some(length) => self.skip_to(self.searched + length + 1),
            None => self.searched = end,
        }
    }

    fn record(&mut self, index: usize) {
        if std::mem::replace(&mut self.is_found, true) {
            return;
        }
        self.total += 1;
        let shown = self.excerpt(index);
        if self.found.len() < self.limit {
            let excerpt = String::from_utf8_lossy(&self.buffer[shown]).into_owned();
            let offset = self.start + index as u64;
            self.found.push(FoundLine { newlines: self.newlines, offset, excerpt });
        } else if self.first_omitted.is_none() {
            self.first_omitted = Some(self.start + shown.start as u64);
        }
    }

    /// Returns what is shown of the line around an index. It does not cut a character in two.
    fn excerpt(&self, index: usize) -> Range<usize> {
        let is_within_character =
            |index: usize| self.buffer.get(index).is_some_and(|byte| byte & 0b1100_0000 == 0b1000_0000);
        let first = index.saturating_sub(EXCERPT_BYTES_BEFORE);
        let start = match memrchr(b'\n', &self.buffer[first..index]) {
            Some(newline) => first + newline + 1,
            None => (first..index).take(4).find(|start| !is_within_character(*start)).unwrap_or(first),
        };
        let last = self.buffer.len().min(index + EXCERPT_BYTES_AFTER);
        let end = match memchr(b'\n', &self.buffer[index..last]) {
            Some(length) => index + length,
            None => (index..=last).rev().take(4).find(|end| !is_within_character(*end)).unwrap_or(last),
        };
        start..end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(log: &[u8], part: usize, text: &str, ignores_case: bool, limit: usize) -> LineFinder {
        let mut finder = LineFinder::new(text, ignores_case, 0, limit);
        let parts = log.chunks(part).collect::<Vec<_>>();
        for (number, bytes) in parts.iter().enumerate() {
            finder.push(bytes, number + 1 == parts.len());
        }
        finder
    }

    /// Returns newlines and offset of each line that contains the text, found in the plainest way.
    fn expected(log: &[u8], text: &str, ignores_case: bool) -> Vec<(u64, u64)> {
        let fold = |bytes: &[u8]| if ignores_case { bytes.to_ascii_lowercase() } else { bytes.to_vec() };
        let (text, mut offset, mut found) = (fold(text.as_bytes()), 0, Vec::new());
        for (number, line) in log.split(|byte| *byte == b'\n').enumerate() {
            let line = fold(line);
            if let Some(index) = line.windows(text.len()).position(|window| window == text) {
                found.push((number as u64, (offset + index) as u64));
            }
            offset += line.len() + 1;
        }
        found
    }

    #[test]
    fn every_matching_line_is_found_once_whatever_the_parts() {
        let mut seed = 7_u32;
        let mut random = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 24) as usize
        };
        for alphabet in [&b"ab\n"[..], &b"aAbB\n\0\xff"[..], &b"abcdefgh"[..]] {
            let log: Vec<u8> = (0..3_000).map(|_| alphabet[random() % alphabet.len()]).collect();
            let texts = [("a", false), ("abab", false), ("AB", true), ("bA", false), ("zz", true)];
            for (text, ignores_case) in texts {
                let expected = expected(&log, text, ignores_case);
                for part in [1, 2, 63, 64, 65, 191, 500, log.len()] {
                    let finder = search(&log, part, text, ignores_case, usize::MAX);
                    assert_eq!((finder.total(), finder.searched_to()), (expected.len() as u64, 3_000));
                    let found: Vec<(u64, u64)> =
                        finder.into_found().iter().map(|line| (line.newlines, line.offset)).collect();
                    assert_eq!(found, expected, "{text:?} in parts of {part} bytes");
                }
            }
        }
    }

    #[test]
    fn an_excerpt_is_the_line_or_a_part_of_it_with_whole_characters() {
        let long = "ä".repeat(1_000);
        let log = format!("first\nthe second line\r\n{long}needle{long}\nlast needle");
        for part in [1, 100, log.len()] {
            let found = search(log.as_bytes(), part, "second", false, 10).into_found();
            assert_eq!(found[0].excerpt, "the second line\r");
            let found = search(log.as_bytes(), part, "needle", false, 10).into_found();
            assert_eq!(found[0].excerpt, format!("{}needle{}", "ä".repeat(32), "ä".repeat(93)));
            assert_eq!(found[1].excerpt, "last needle");
        }
        let found = search(b"\x80\x80\x80\x80\x80 x \xff\xfe\0", 100, "x", false, 1).into_found();
        assert_eq!(found[0].excerpt, "\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd} x \u{fffd}\u{fffd}\0");
    }

    #[test]
    fn what_exceeds_the_limit_is_counted_and_found_from_where_it_begins() {
        let log = b"no\na yes\n".repeat(30_000);
        let finder = search(&log, 1_000, "yes", false, 3);
        assert_eq!((finder.total(), finder.is_full()), (10_000, true));
        // The fourth line with the text.
        assert_eq!(finder.first_omitted(), Some(3 * 9 + 3));
        assert!(finder.searched_to() <= 10_000 * 9);
        assert_eq!(finder.into_found().len(), 3);
    }

    /// One line of many matches costs no more memory and is found once.
    #[test]
    fn a_huge_line_is_found_once_and_not_kept() {
        let mut finder = LineFinder::new("aa", true, 0, 10);
        for _ in 0..100 {
            finder.push(&vec![b'A'; 100_000], false);
            assert!(finder.buffer.len() <= 1_000 && finder.lowercase.len() <= 1_000);
        }
        finder.push(b"\naa", true);
        let found = finder.into_found();
        assert_eq!(found.iter().map(|line| line.newlines).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(found[1].offset, 10_000_001);
    }
}
