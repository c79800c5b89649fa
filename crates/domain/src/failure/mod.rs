//! Failures of steps: what they are about, whose they are, and what their logs show.

mod category;
mod evidence;
mod verdict;

pub use category::Category;
pub use evidence::{
    CommitList, CommitListStatus, CommitTitle, DecisiveLine, EndKind, Evidence, EvidenceItem, EvidenceStatus,
    LogSummary,
};
pub use verdict::{Because, Changed, History, Verdict, VerdictKind};
