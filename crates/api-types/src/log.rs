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
    /// an earlier version of the server has stored a part of the log; `lineNumbers` and `times` are empty then.
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
