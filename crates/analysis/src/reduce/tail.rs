//! The last lines of the log. Every line is written here, so the memory of older lines is used again.

use super::line::Line;
use super::record::{Record, Seen};

/// How many lines are kept.
const TAIL_LINES: usize = 200;
/// How much of a line is kept. Longer than what is shown, so that the text is cut in the same way.
const KEPT_BYTES: usize = 512;

#[derive(Clone, Debug)]
struct TailLine {
    number: u64,
    from: u64,
    to: u64,
    seen: Seen,
    bytes: Vec<u8>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Tail {
    lines: Vec<TailLine>,
    /// The place of the oldest line, which is written next.
    next: usize,
}

impl Tail {
    /// `visible` is the line without escape sequences.
    pub(crate) fn push(&mut self, line: &Line<'_>, visible: &[u8], seen: Seen) {
        let kept = visible.get(..KEPT_BYTES).unwrap_or(visible);
        let &Line { number, from, to, .. } = line;
        if let Some(place) = self.lines.get_mut(self.next) {
            place.bytes.clear();
            place.bytes.extend_from_slice(kept);
            (place.number, place.from, place.to, place.seen) = (number, from, to, seen);
        } else {
            self.lines.push(TailLine { number, from, to, seen, bytes: kept.to_vec() });
        }
        self.next = (self.next + 1) % TAIL_LINES;
    }

    /// Returns up to `count` of the last lines, in their order.
    pub(crate) fn last(&self, count: usize) -> Vec<Record> {
        let (newer, older) = self.lines.split_at_checked(self.next).unwrap_or((&self.lines, &[]));
        let skipped = self.lines.len().saturating_sub(count);
        older.iter().chain(newer).skip(skipped).map(TailLine::record).collect()
    }

    pub(crate) fn all(&self) -> Vec<Record> {
        self.last(TAIL_LINES)
    }
}

impl TailLine {
    fn record(&self) -> Record {
        let line = Line { number: self.number, from: self.from, to: self.to, visible: &[] };
        Record::new(&line, &self.bytes, self.seen)
    }
}
