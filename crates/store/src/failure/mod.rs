//! Failures of stages: recorded when an attempt ends, completed with evidence by a worker, and read by those who
//! look for the cause.

mod baseline;
mod changes;
mod collect;
mod commits;
mod compared;
mod due;
mod good_stage;
mod history;
mod known;
mod list;
mod note;
mod read;
mod record;
mod running;
mod silence;

pub use baseline::Baseline;
pub use changes::{DefinitionChange, FailureChanges, GoodRun, ImageChange};
pub use collect::{Collected, Findings};
pub use commits::CommitRange;
pub use compared::ComparedStep;
pub use due::{DueFailure, FailedAttempt, LEASE};
pub use known::{FailureEnd, FailureNote, KnownFailure};
pub use list::FailureFilter;
pub use read::{CollectedRecord, FailureRecord};
pub use running::RunningStep;
