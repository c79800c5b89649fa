//! Masks secrets in a log before it leaves this machine. Works on a stream: a secret may arrive in several
//! pieces, and output can't be changed after it was written.
//!
//! Every byte that belongs to an occurrence of a secret, in any of its [`forms`](super::forms), is masked, also
//! where occurrences overlap; each contiguous run of masked bytes becomes one `***`. The automaton's state is
//! kept between pieces, so the cost does not depend on how the input is split. While a step runs it can get
//! further secrets, such as renewed id tokens: then the patterns are replaced within the stream.

use std::collections::VecDeque;
use std::sync::Arc;

use aho_corasick::automaton::StateID;

use super::patterns::{BEGINNING_BYTES, Search, SecretPatterns};

const MASK: &[u8] = b"***";

/// Without secrets, input is passed on immediately and unchanged. Positions are counted from the beginning of
/// the input.
pub struct Masker {
    patterns: Arc<SecretPatterns>,
    /// The state of the automaton after the input so far.
    state: StateID,
    /// The last bytes of the input: at least those that are not written yet, and those that may be the
    /// beginning of an occurrence. The latter may be written already, if they are masked.
    held: Vec<u8>,
    /// The position of the first held byte.
    held_from: usize,
    /// The position of the first byte that is not written yet.
    written: usize,
    /// Start and end of each masked run that is not written yet, in order. They neither overlap nor touch.
    masked: VecDeque<(usize, usize)>,
    /// Whether the last written byte was masked. Then its mask is already written, and further masked bytes
    /// add none.
    in_mask: bool,
}

impl Masker {
    pub fn new(patterns: Arc<SecretPatterns>) -> Self {
        let state = patterns.search.as_ref().map(Search::start).unwrap_or_default();
        Masker {
            patterns,
            state,
            held: Vec::new(),
            held_from: 0,
            written: 0,
            masked: VecDeque::new(),
            in_mask: false,
        }
    }

    pub fn patterns(&self) -> &Arc<SecretPatterns> {
        &self.patterns
    }

    /// Adds input, and appends to `out` what is decided: everything before the first byte that may belong to
    /// an incomplete occurrence, and whatever is masked directly after that.
    pub fn push(&mut self, input: &[u8], out: &mut Vec<u8>) {
        let Some(search) = &self.patterns.search else {
            self.finish(out);
            out.extend_from_slice(input);
            self.in_mask &= input.is_empty();
            return;
        };
        let position = self.held_from + self.held.len();
        self.held.extend_from_slice(input);
        self.state = walk(search, self.state, input, |length, end| {
            add_run(&mut self.masked, position + end - length, position + end);
        });
        self.write(self.undecided_from(), out);
    }

    /// Uses other patterns for the input from here on. Occurrences of patterns that are in both sets are masked
    /// also if they have already begun. So are those of new patterns, unless their first bytes are written.
    pub fn replace_patterns(&mut self, patterns: Arc<SecretPatterns>) {
        let from = self.undecided_from();
        self.patterns = patterns;
        let Some(search) = &self.patterns.search else {
            // Whatever is held is written with the next input.
            return;
        };
        let mut runs: Vec<(usize, usize)> = self.masked.drain(..).collect();
        self.state = walk(search, search.start(), &self.held[from - self.held_from..], |length, end| {
            runs.push((from + end - length, from + end));
        });
        runs.sort_unstable_by_key(|&(_, end)| end);
        for (start, end) in runs {
            if end > self.written {
                add_run(&mut self.masked, start.max(self.written), end);
            }
        }
    }

    /// Returns the position of the first byte that may belong to an incomplete occurrence.
    fn undecided_from(&self) -> usize {
        let undecided = self.patterns.search.as_ref().map_or(0, |search| search.depth(self.state));
        self.held_from + self.held.len() - undecided
    }

    /// Ends the input and writes all held bytes.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.write(self.held_from + self.held.len(), out);
    }

    /// Writes the bytes before `decided`, and the masked run that contains this position or begins there.
    fn write(&mut self, decided: usize, out: &mut Vec<u8>) {
        loop {
            match self.masked.front() {
                Some(&(start, end)) if start <= self.written => {
                    self.masked.pop_front();
                    if !self.in_mask {
                        out.extend_from_slice(MASK);
                        self.in_mask = true;
                    }
                    self.written = self.written.max(end);
                }
                next => {
                    let until = next.map_or(decided, |&(start, _)| start.min(decided));
                    if until <= self.written {
                        break;
                    }
                    out.extend_from_slice(&self.held[self.written - self.held_from..until - self.held_from]);
                    self.in_mask = false;
                    self.written = until;
                }
            }
        }
        let unused = self.written.min(decided) - self.held_from;
        // Not more often, because the rest has to be moved each time.
        if unused * 2 >= self.held.len() {
            self.held.drain(..unused);
            self.held_from += unused;
        }
    }
}

/// Walks the automaton over a piece of input and returns its state. Calls `found` with length and end of each
/// occurrence. Where no pattern can begin, the automaton is not used.
fn walk(search: &Search, mut state: StateID, input: &[u8], mut found: impl FnMut(usize, usize)) -> StateID {
    let mut at = 0;
    // Where the oldest possible occurrence begins; `None` if that is before this piece.
    let mut begin = None;
    while at < input.len() {
        if state == search.start() {
            at = search.skip(input, at);
            begin = Some(at);
        }
        let Some(&byte) = input.get(at) else { break };
        state = search.next(state, byte);
        at += 1;
        if let Some(length) = search.found_bytes(state) {
            found(length, at);
        }
        // The oldest one has ended, and others have just begun: most of them can be skipped.
        let depth = search.depth(state);
        if depth < BEGINNING_BYTES && depth <= at && begin.is_none_or(|begin| begin < at - depth) {
            at -= depth;
            state = search.start();
        }
    }
    state
}

/// Adds an occurrence that ends at the end of the input, where no earlier one ends.
fn add_run(runs: &mut VecDeque<(usize, usize)>, mut start: usize, end: usize) {
    while let Some((last, _)) = runs.pop_back_if(|&mut (_, last_end)| last_end >= start) {
        start = start.min(last);
    }
    runs.push_back((start, end));
}

/// Masks a whole text.
pub fn mask(patterns: &Arc<SecretPatterns>, text: &str) -> String {
    let mut masker = Masker::new(Arc::clone(patterns));
    let mut out = Vec::new();
    masker.push(text.as_bytes(), &mut out);
    masker.finish(&mut out);
    // A form that was masked may begin or end within a letter.
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
#[path = "masker_tests.rs"]
mod tests;
