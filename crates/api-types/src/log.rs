//! Lines of step logs.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Where the lines of a log are.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogIndex {
    /// The length of the log.
    pub bytes: u64,
    /// The number of lines. A last line without a newline counts. Null if the lines are not known, because
    /// an earlier version of the server has stored a part of the log; `lineNumbers` and `times` are empty
    /// then.
    pub lines: Option<u64>,
    /// True if the log is complete.
    pub complete: bool,
    /// The distance in bytes between two entries of `lineNumbers` and `times`: a power of two.
    #[schema(minimum = 65_536, maximum = 262_144)]
    pub every: u64,
    /// The entry with the index `i`, from 0 on, is the number of the line that contains the byte `i × every`.
    /// Lines are numbered from 1.
    pub line_numbers: Vec<u64>,
    /// When that byte was written, by the clock of its runner.
    pub times: Vec<Timestamp>,
}

/// A line of a log that contains the text of a search.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogMatch {
    /// The number of the line, from 1 on. Null if the lines of the log are not known.
    pub line: Option<u64>,
    /// The position of the text in the log, where it is first found in this line.
    pub byte: u64,
    /// The line without its newline. Of a long line, 64 bytes before the position and 192 bytes from there on
    /// at most. Invalid UTF-8 is replaced.
    pub text: String,
}

/// The result of a search in a log.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogMatches {
    /// The first lines that contain the text, in the order of the log, `limit` at most.
    pub matches: Vec<LogMatch>,
    /// The number of lines that contain the text, up to `searchedTo`. At 10,000 a search ends.
    #[schema(maximum = 10_000)]
    pub total: u64,
    /// The position up to which the log was searched.
    pub searched_to: u64,
    /// Where to continue: `after` of the next search. Null if the search has reached the end of the log, and
    /// `matches` has every line that was found.
    pub next: Option<u64>,
}
