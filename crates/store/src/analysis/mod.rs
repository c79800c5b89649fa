//! Analyses of failures: requested by members, ended by the transaction that stores the evidence, by what a model has concluded,
//! or by a deadline.

mod create;
mod end;
mod explain;
mod feedback;
mod read;

pub use create::AnalyzedFailure;
pub(crate) use explain::EXPLANATION_LEASE;
pub use explain::{DueAnalysis, ExplanationEnd, ModelName};
pub use read::{AnalysisRecord, FeedbackRecord, Findings};
