//! Analyses of failures: requested by members, ended by the transaction that stores the evidence or by a deadline.

mod create;
mod end;
mod feedback;
mod read;

pub use create::AnalyzedFailure;
pub use read::{AnalysisRecord, FeedbackRecord, Findings};
