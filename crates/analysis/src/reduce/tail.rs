//! The last lines of the log, and the last one with text if these are blank. Every line is written here, so the memory of
//! older lines is used again.

use super::line::{Line, MAX_SHOWN_BYTES};
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
    has_text: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Tail {
    lines: Vec<TailLine>,
    /// How many of them have text.
    with_text: usize,
    /// The last line with text, if none of them has.
    last_text: Option<TailLine>,
    /// The place of the oldest line, which is written next.
    next: usize,
}

impl Tail {
    /// `visible` is the line without escape sequences.
    pub(crate) fn push(&mut self, line: &Line<'_>, visible: &[u8], seen: Seen) {
        let kept = visible.get(..KEPT_BYTES).unwrap_or(visible);
        let &Line { number, from, to, .. } = line;
        let has_text = visible.len() > MAX_SHOWN_BYTES || visible.iter().any(|byte| !b" \t".contains(byte));
        if let Some(place) = self.lines.get_mut(self.next) {
            if place.has_text {
                self.with_text -= 1;
                if self.with_text == 0 && !has_text {
                    self.last_text = Some(place.clone());
                }
            }
            place.bytes.clear();
            place.bytes.extend_from_slice(kept);
            (place.number, place.from, place.to, place.seen) = (number, from, to, seen);
            place.has_text = has_text;
        } else {
            self.lines.push(TailLine { number, from, to, seen, bytes: kept.to_vec(), has_text });
        }
        self.with_text += usize::from(has_text);
        self.next = (self.next + 1) % TAIL_LINES;
    }

    /// Returns up to `count` of the last lines, in their order.
    pub(crate) fn last(&self, count: usize) -> Vec<Record> {
        let (newer, older) = self.lines.split_at_checked(self.next).unwrap_or((&self.lines, &[]));
        let skipped = self.lines.len().saturating_sub(count);
        older.iter().chain(newer).skip(skipped).map(TailLine::record).collect()
    }

    pub(crate) fn all(&self) -> Vec<Record> {
        let last_text = self.last_text.as_ref().filter(|_| self.with_text == 0);
        last_text.map(TailLine::record).into_iter().chain(self.last(TAIL_LINES)).collect()
    }
}

impl TailLine {
    fn record(&self) -> Record {
        let line = Line { number: self.number, from: self.from, to: self.to, visible: &[] };
        Record::new(&line, &self.bytes, self.seen)
    }
}
