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

    /// Returns how many bytes of the log are kept, or of its copy in lower case. Public for the tests in `tests/`.
    #[doc(hidden)]
    pub fn kept_bytes(&self) -> usize {
        self.buffer.len().max(self.lowercase.len())
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
