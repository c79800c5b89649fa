//! The evidence of a failure as it is stored: what its log shows.

use serde::{Deserialize, Serialize};

use crate::id::StepRunId;
use crate::text_enum::text_enum;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EvidenceStatus {
    Collecting,
    Ready,
}

text_enum!(EvidenceStatus { Collecting = "collecting", Ready = "ready" });

/// What ended a failure: the next good run of its stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EndKind {
    /// Another commit.
    Commit,
    /// The same commit, with another version of the definition.
    Definition,
    /// The same commit and definition.
    Retry,
    /// Only in another place.
    Elsewhere,
}

text_enum!(EndKind {
    Commit = "commit",
    Definition = "definition",
    Retry = "retry",
    Elsewhere = "elsewhere",
});

/// Whether the commits between a good run and a failure are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CommitListStatus {
    /// No forge is connected that has the repository.
    #[default]
    NotConnected,
    Ready,
    /// The forge could not be called. Its `lastError` is the reason.
    Unavailable,
}

text_enum!(CommitListStatus {
    NotConnected = "not_connected",
    Ready = "ready",
    Unavailable = "unavailable",
});

/// The commits between the last good run and a failure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommitList {
    pub status: CommitListStatus,
    pub total: u64,
    /// The newest ones first.
    pub commits: Vec<CommitTitle>,
    /// Names of files that differ.
    pub files: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommitTitle {
    pub id: String,
    pub title: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// The most important one first.
    pub items: Vec<EvidenceItem>,
    pub decisive: Option<DecisiveLine>,
    /// What is known of the log; `None` if there is none, or it could not be read.
    pub log: Option<LogSummary>,
    /// What a forge lists since the last good run; `None` if none is connected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commits: Option<CommitList>,
}

/// Consecutive lines of a log that belong together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EvidenceItem {
    /// From 1 on; 0 if the item is not a part of a log.
    pub from_line: u64,
    pub to_line: u64,
    pub from_byte: u64,
    pub to_byte: u64,
    /// No good run has these lines.
    pub is_new: bool,
    /// How many lines of the log are like it, with other numbers and ids.
    pub repeats: u64,
    pub text: String,
}

/// The line that shows best why the step failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DecisiveLine {
    /// The index of its item.
    pub item: usize,
    pub line: u64,
    pub text: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogSummary {
    pub lines: u64,
    pub bytes: u64,
    /// How many lines no good run has.
    pub new_lines: u64,
    /// The longest time without output.
    pub silent_seconds: u64,
    /// The good runs that it was compared with.
    pub baselines: Vec<StepRunId>,
    /// How many new lines are not shown.
    pub omitted_lines: u64,
    /// The part in the middle of a long log that was not read.
    pub skipped_bytes: u64,
}
