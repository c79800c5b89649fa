//! What is kept of a line.

use super::keywords::Signal;
use super::line::{Line, shown};

/// A line with the text that is shown of it.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) number: u64,
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// The hash of its template.
    pub(crate) hash: u64,
    pub(crate) signal: Signal,
    pub(crate) is_new: bool,
    pub(crate) is_cut: bool,
    pub(crate) text: Box<str>,
}

impl Record {
    /// `visible` is the line without escape sequences.
    pub(crate) fn new(line: &Line<'_>, visible: &[u8], seen: Seen) -> Self {
        let (text, is_cut) = shown(visible);
        let Seen { hash, signal, is_new, .. } = seen;
        Self {
            number: line.number,
            from: line.from,
            to: line.to,
            hash,
            signal,
            is_new,
            is_cut,
            text: text.into(),
        }
    }

    /// Whether `next` is the line after this one.
    pub(crate) fn is_before(&self, next: &Self) -> bool {
        self.to + 1 == next.from
    }

    pub(crate) fn is_blank(&self) -> bool {
        self.text.trim_ascii().is_empty()
    }
}

/// What is known of the template of a line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) hash: u64,
    /// How often the log contains it, up to this line.
    pub(crate) count: u32,
    pub(crate) signal: Signal,
    /// No good run contains it.
    pub(crate) is_new: bool,
}
