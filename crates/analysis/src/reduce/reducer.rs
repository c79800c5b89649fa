//! Reads a log once, in pieces, and keeps what may be evidence. Memory is bounded, however long the log is.

use std::collections::{HashMap, VecDeque};

use super::keywords::Signal;
use super::line::{Line, Scanner, without_escapes};
use super::record::{Record, Seen};
use super::reduction::{Budget, LogSize, Reduction};
use super::select::select;
use super::signal::signal;
use super::tail::Tail;
use super::template::{hash, mask};
use super::template_set::{MAX_TEMPLATES, TemplateSet};

/// How many new lines are kept, the last ones.
const MAX_RECORDS: usize = 4_096;
/// How many strong lines are kept beyond those.
const MAX_OLDER_STRONG: usize = 1_024;
/// How many lines with the same template are kept. Further ones are counted.
const MAX_REPEATS: u32 = 8;
/// Up to this many lines between two new lines are kept too, so that a block of lines stays whole.
const MAX_FILLED_LINES: u64 = 3;

/// Reads a log and ranks its lines.
#[derive(Clone, Debug)]
pub struct Reducer {
    scanner: Scanner,
    state: State,
    skipped_bytes: u64,
    skipped_lines: u64,
}

#[derive(Clone, Debug)]
struct State {
    baseline: TemplateSet,
    has_baseline: bool,
    templates: HashMap<u64, Template>,
    new_lines: u64,
    records: VecDeque<Record>,
    older_strong: VecDeque<Record>,
    tail: Tail,
    without_escapes: Vec<u8>,
    masked: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Template {
    count: u32,
    signal: Signal,
    is_new: bool,
}

impl Reducer {
    /// `baselines` are the templates of good runs of the same step. Without any, all lines are new.
    pub fn new(baselines: &[TemplateSet]) -> Self {
        let state = State {
            baseline: TemplateSet::union(baselines),
            has_baseline: !baselines.is_empty(),
            templates: HashMap::new(),
            new_lines: 0,
            records: VecDeque::new(),
            older_strong: VecDeque::new(),
            tail: Tail::default(),
            without_escapes: Vec::new(),
            masked: Vec::new(),
        };
        Self { scanner: Scanner::new(), state, skipped_bytes: 0, skipped_lines: 0 }
    }

    /// Reads the next bytes of the log. Pieces may begin and end anywhere.
    pub fn push(&mut self, bytes: &[u8]) {
        self.scanner.push(bytes, |line| self.state.read(line));
    }

    /// Moves over bytes in the middle of a log that are not read. `newlines` is how many newlines they contain, so
    /// that later lines have their numbers.
    pub fn skip(&mut self, bytes: u64, newlines: u64) {
        self.scanner.skip(bytes, newlines, |line| self.state.read(line));
        self.skipped_bytes += bytes;
        self.skipped_lines += newlines;
    }

    /// Ranks what has been read. More may follow, so the log of a running step can be ranked too.
    pub fn finish(&self, budget: Budget) -> Reduction {
        if self.scanner.is_within_line() {
            return self.ended().finish(budget);
        }
        let size = LogSize {
            lines: self.scanner.lines(),
            bytes: self.scanner.position(),
            new_lines: self.state.new_lines,
            skipped_bytes: self.skipped_bytes,
            skipped_lines: self.skipped_lines,
        };
        let count = |hash: u64| self.state.templates.get(&hash).map_or(1, |template| template.count);
        select(&self.state.candidates(), self.state.has_baseline, size, budget, count)
    }

    /// Returns the templates of the log, which are stored if its step succeeded.
    pub fn templates(&self) -> TemplateSet {
        if self.scanner.is_within_line() {
            return self.ended().templates();
        }
        TemplateSet::new(self.state.templates.keys().copied().collect())
    }

    /// Returns a copy in which the last line is complete.
    fn ended(&self) -> Self {
        let mut ended = self.clone();
        ended.scanner.end_line(|line| ended.state.read(line));
        ended
    }
}

impl State {
    fn read(&mut self, line: &Line<'_>) {
        let visible = without_escapes(line.visible, &mut self.without_escapes);
        mask(visible, &mut self.masked);
        let hash = hash(&self.masked);
        let seen = if self.masked.is_empty() {
            // Blank lines are no evidence.
            Seen { hash, count: 1, signal: Signal::None, is_new: false }
        } else {
            see(&mut self.templates, &self.baseline, hash, visible)
        };
        if seen.is_new {
            self.new_lines += 1;
            if seen.count <= MAX_REPEATS {
                fill(&mut self.records, &self.tail, line);
                self.records.push_back(Record::new(line, visible, seen));
                while self.records.len() > MAX_RECORDS {
                    let older = self.records.pop_front().filter(|record| record.signal.is_strong());
                    self.older_strong.extend(older);
                }
                while self.older_strong.len() > MAX_OLDER_STRONG {
                    self.older_strong.pop_front();
                }
            }
        }
        self.tail.push(line, visible, seen);
    }

    /// Returns what was kept, in the order of the log. The last lines are among them, new or not.
    fn candidates(&self) -> Vec<Record> {
        let tail = self.tail.all();
        let start = tail.first().map_or(u64::MAX, |first| first.from);
        let mut candidates: Vec<Record> = self
            .older_strong
            .iter()
            .chain(&self.records)
            .filter(|record| record.from < start)
            .cloned()
            .collect();
        candidates.extend(tail);
        candidates
    }
}

fn see(templates: &mut HashMap<u64, Template>, baseline: &TemplateSet, hash: u64, visible: &[u8]) -> Seen {
    if let Some(template) = templates.get_mut(&hash) {
        template.count = template.count.saturating_add(1);
        let &mut Template { count, signal, is_new } = template;
        return Seen { hash, count, signal, is_new };
    }
    let is_new = !baseline.contains(hash);
    let signal = if is_new { signal(visible) } else { Signal::None };
    if templates.len() < MAX_TEMPLATES {
        templates.insert(hash, Template { count: 1, signal, is_new });
    }
    Seen { hash, count: 1, signal, is_new }
}

/// Keeps the few lines between the last kept line and this one.
fn fill(records: &mut VecDeque<Record>, tail: &Tail, line: &Line<'_>) {
    let Some(last) = records.back() else { return };
    let between = line.number.saturating_sub(last.number + 1);
    if (1..=MAX_FILLED_LINES).contains(&between) {
        let after = last.to;
        let count = usize::try_from(between).unwrap_or_default();
        records.extend(tail.last(count).into_iter().filter(|record| record.from > after));
    }
}

#[cfg(test)]
#[path = "reducer_tests.rs"]
mod tests;
