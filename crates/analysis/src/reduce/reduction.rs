//! What is shown of a log.

/// How much is shown. The items with a smaller budget are the first ones of those with a larger budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    pub lines: usize,
    pub bytes: usize,
}

impl Budget {
    /// Enough for an answer to "what is it?".
    pub const HEADLINE: Self = Self { lines: 10, bytes: 8 * 1024 };
    /// A panel on a page.
    pub const PANEL: Self = Self { lines: 40, bytes: 24 * 1024 };
    /// What is stored.
    pub const STORED: Self = Self { lines: 200, bytes: 56 * 1024 };
}

/// Consecutive lines of the log that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// From 1 on.
    pub from_line: u64,
    pub to_line: u64,
    pub from_byte: u64,
    /// The position after the last byte, without the newline.
    pub to_byte: u64,
    /// No good run has these lines. A line that good runs have may be among them.
    pub is_new: bool,
    /// How many lines of the log have the template of the item's strongest line.
    pub repeats: u64,
    /// How many of the lines are longer than `MAX_SHOWN_BYTES`. They end with `CUT_MARK`.
    pub cut_lines: u32,
    /// The lines as `shown_text` returns them, separated by newlines.
    pub text: String,
}

/// The line that shows best why the step failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decisive {
    /// The index of its item.
    pub item: usize,
    pub line: u64,
    pub text: String,
    /// For the fingerprint.
    pub template: String,
}

/// How much of the log was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogSize {
    pub lines: u64,
    pub bytes: u64,
    /// How many lines no good run has.
    pub new_lines: u64,
    /// The part in the middle that was not read.
    pub skipped_bytes: u64,
    pub skipped_lines: u64,
}

/// The evidence of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reduction {
    /// The most important one first.
    pub items: Vec<Item>,
    /// `None` if the log has no text.
    pub decisive: Option<Decisive>,
    pub size: LogSize,
    /// How many new lines are not shown because a line with the same template is.
    pub folded_lines: u64,
    /// How many new lines are neither shown nor folded.
    pub omitted_lines: u64,
}

impl Reduction {
    /// Returns the numbers of the first `count` lines in the order of their importance: the decisive one, then the
    /// items.
    pub fn first_lines(&self, count: usize) -> Vec<u64> {
        let decisive = self.decisive.as_ref().map(|decisive| decisive.line);
        let others = self.items.iter().flat_map(|item| item.from_line..=item.to_line);
        decisive.into_iter().chain(others.filter(|line| Some(*line) != decisive)).take(count).collect()
    }
}
