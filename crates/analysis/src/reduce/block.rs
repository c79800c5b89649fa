//! Lines that belong together: traces, compiler messages with their source, failed tests, statements of a database.

use std::ops::Range;

use super::keywords::Signal;
use super::record::Record;

/// A block has no more lines than this.
const MAX_BLOCK_LINES: usize = 60;
/// A source line and its caret follow the position within this many lines.
const MAX_CARET_DISTANCE: usize = 4;

/// Consecutive lines, by their indexes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) lines: Range<usize>,
    /// The line that shows best what is wrong.
    pub(crate) lead: usize,
    pub(crate) signal: Signal,
}

/// Returns the blocks that begin with a strong line or a consequence, in the order of the log.
pub(crate) fn blocks(records: &[Record]) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut start = 0;
    while start < records.len() {
        let block = block_at(records, start);
        start = block.as_ref().map_or(start + 1, |block| block.lines.end.max(start + 1));
        blocks.extend(block);
    }
    blocks
}

/// The lines from `start` on, as long as no line of the log is missing between them.
struct Run<'a> {
    records: &'a [Record],
    start: usize,
    length: usize,
}

impl<'a> Run<'a> {
    fn new(records: &'a [Record], start: usize) -> Self {
        let rest = records.get(start..).unwrap_or_default();
        let follows =
            rest.iter().zip(rest.iter().skip(1)).take_while(|(line, next)| line.is_before(next)).count();
        Self { records, start, length: (follows + 1).min(rest.len()).min(MAX_BLOCK_LINES) }
    }

    fn text(&self, offset: usize) -> Option<&'a str> {
        (offset < self.length)
            .then(|| self.records.get(self.start + offset))
            .flatten()
            .map(|record| &*record.text)
    }

    fn block(&self, end: usize, lead: usize) -> Option<Block> {
        let signal = self.records.get(self.start + lead)?.signal;
        Some(Block { lines: self.start..self.start + end, lead: self.start + lead, signal })
    }

    /// Returns the end of the lines that continue the line before `offset`.
    fn continued(&self, mut offset: usize) -> usize {
        while let Some(text) = self.text(offset) {
            let next = self.text(offset + 1).unwrap_or_default();
            let is_gap = is_blank(text) && is_continuation(next) && !is_blank(next);
            if !is_continuation(text) && !is_gap {
                break;
            }
            offset += 1;
        }
        offset
    }
}

fn block_at(records: &[Record], start: usize) -> Option<Block> {
    let record = records.get(start).filter(|record| !record.is_blank())?;
    let run = Run::new(records, start);
    let has_signal = record.signal >= Signal::Summary;
    python_trace(&run, 0)
        .or_else(|| source_with_caret(&run))
        .or_else(|| difference(&run))
        .filter(|block| {
            records.get(block.lines.clone()).is_some_and(|lines| lines.iter().any(|line| line.is_new))
        })
        .or_else(|| {
            has_signal.then(|| titled_trace(&run).or_else(|| panic(&run)).or_else(|| plain(&run))).flatten()
        })
}

/// `Traceback …`, its frames, and the exception: the last one, if others caused it.
fn python_trace(run: &Run<'_>, first: usize) -> Option<Block> {
    let mut offset = first;
    let mut found = None;
    while run.text(offset).is_some_and(|text| text.trim_start().starts_with("Traceback (most recent call")) {
        let indent = run.text(offset).map_or(0, indentation);
        let frames = |text: &str| is_blank(text) || indentation(text) > indent;
        let length = (offset + 1..).take_while(|line| run.text(*line).is_some_and(frames)).count();
        let lead = offset + 1 + length;
        run.text(lead)?;
        found = Some(lead);
        offset = run.continued(lead + 1);
        // "During handling of the above exception, another exception occurred:"
        let is_between = |text: &str| is_blank(text) || text.contains("above exception");
        let between = (offset..).take_while(|line| run.text(*line).is_some_and(is_between)).count();
        if run.text(offset + between).is_some_and(|text| text.trim_start().starts_with("Traceback")) {
            offset += between;
        }
    }
    let mut block = run.block(offset, found?)?;
    block.signal = Signal::Explicit;
    Some(block)
}

/// `FAIL: test_a`, a ruler, and a trace.
fn titled_trace(run: &Run<'_>) -> Option<Block> {
    let is_ruler = |text: &str| text.len() > 3 && text.bytes().all(|byte| matches!(byte, b'-' | b'='));
    run.text(1).filter(|text| is_ruler(text))?;
    python_trace(run, 2)
}

/// A position, the source with a caret below, an empty line and the exception, as Node.js writes it.
fn source_with_caret(run: &Run<'_>) -> Option<Block> {
    let position = run.text(0)?.trim_end();
    let digits = position.bytes().rev().take_while(u8::is_ascii_digit).count();
    let is_position = digits > 0 && position.get(..position.len() - digits)?.ends_with(':');
    if !is_position {
        return None;
    }
    let caret = (1..=MAX_CARET_DISTANCE).find(|offset| run.text(*offset).is_some_and(is_caret))?;
    let lead =
        (caret + 1..=caret + 2).find(|offset| run.text(*offset).is_some_and(|text| !is_blank(text)))?;
    let mut block = run.block(run.continued(lead + 1), lead)?;
    block.signal = Signal::Explicit;
    Some(block)
}

/// A difference between two files. The first line that differs leads.
fn difference(run: &Run<'_>) -> Option<Block> {
    let starts = |offset: usize, head: &str| run.text(offset).is_some_and(|text| text.starts_with(head));
    if !(starts(0, "--- ") && starts(1, "+++ ") && starts(2, "@@ ")) {
        return None;
    }
    let is_part = |text: &str| text.starts_with([' ', '+', '-', '@', '\\']);
    let end = 3 + (3..).take_while(|offset| run.text(*offset).is_some_and(is_part)).count();
    let lead = (3..end).find(|offset| starts(*offset, "-") || starts(*offset, "+"))?;
    let mut block = run.block(end, lead)?;
    block.signal = Signal::Explicit;
    Some(block)
}

/// A panic of Rust, whose message is on the next line.
fn panic(run: &Run<'_>) -> Option<Block> {
    let head = run.text(0)?;
    if !(head.contains("panicked at") && head.ends_with(':')) {
        return None;
    }
    run.text(1)?;
    let mut block = run.block(run.continued(2), 1)?;
    block.signal = Signal::Explicit;
    Some(block)
}

/// A line and those that continue it. The deepest cause leads, or, below a title, the first strong line.
fn plain(run: &Run<'_>) -> Option<Block> {
    let end = run.continued(1);
    let is_cause =
        |offset: &usize| run.text(*offset).is_some_and(|text| text.trim_start().starts_with("Caused by:"));
    // "Caused by:" alone is followed by the causes, one per line.
    let is_alone = |offset: usize| run.text(offset).is_some_and(|text| text.trim() == "Caused by:");
    let lead = match (1..end).rev().find(is_cause) {
        Some(offset) if is_alone(offset) => end - 1,
        Some(offset) => offset,
        None => below_title(run, end).unwrap_or(0),
    };
    let mut block = run.block(end, lead)?;
    block.signal = block.signal.max(run.records.get(run.start)?.signal);
    Some(block)
}

/// Returns the line below the title of a failed test that shows why it failed.
fn below_title(run: &Run<'_>, end: usize) -> Option<usize> {
    let signal =
        |offset: usize| run.records.get(run.start + offset).map_or(Signal::None, |record| record.signal);
    if signal(0) != Signal::Title {
        return None;
    }
    let strong = (1..end).find(|offset| signal(*offset) >= Signal::Phrase)?;
    // The text of a YAML block begins on the next line.
    let is_key = run.text(strong).is_some_and(|text| text.ends_with("|-") || text.ends_with('|'));
    Some(if is_key && strong + 1 < end { strong + 1 } else { strong })
}

fn is_blank(text: &str) -> bool {
    text.trim_ascii().is_empty()
}

fn indentation(text: &str) -> usize {
    text.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

fn is_caret(text: &str) -> bool {
    let text = text.trim();
    text.contains('^') && text.bytes().all(|byte| matches!(byte, b'^' | b'~' | b' '))
}

/// Whether the line continues the one before it.
fn is_continuation(text: &str) -> bool {
    const HEADS: [&str; 30] = [
        "Caused by:",
        "... ",
        "at ",
        "note:",
        "help:",
        "hint:",
        "Hint:",
        "HINT:",
        "DETAIL:",
        "CONTEXT:",
        "LINE ",
        "QUERY:",
        "STATEMENT:",
        "goroutine ",
        "created by ",
        "Suppressed:",
        "|",
        "+ ",
        "- ",
        "+\t",
        "-\t",
        "@@ ",
        "stack backtrace",
        "E  ",
        "> ",
        "Expected",
        "Received",
        "symbol:",
        "location:",
        "exit status",
    ];
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let is_source = digits > 0 && text.get(digits..).is_some_and(|rest| rest.starts_with(" |"));
    let is_indented = indentation(text) > 0 && !is_blank(text);
    is_indented || is_source || is_caret(text) || HEADS.iter().any(|head| text.starts_with(head))
}
