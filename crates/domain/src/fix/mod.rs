//! Fixes of failures: a commit that is proven in one claimed environment, red before it and green with it, and then proposed as
//! the draft of a pull request.

mod machine;
mod proposal;
mod status;

#[cfg(test)]
mod machine_tests;
#[cfg(test)]
mod proposal_tests;

pub use machine::{DeploymentOutcome, FixProgress, Next, Observed};
pub use proposal::{Proof, Proposal};
pub use status::{FixReason, FixSource, FixStatus};

use jiff::SignedDuration;

use crate::id::{FixId, PipelineId};

/// How long a fix waits for an environment.
pub const MAX_WAIT: SignedDuration = SignedDuration::from_hours(2);
/// How long a fix may take until its pull request is open, besides the wait.
pub const MAX_WORK: SignedDuration = SignedDuration::from_hours(8);
/// How often a fix may be deployed to be verified.
pub const RUNS: std::ops::RangeInclusive<u8> = 1..=5;

/// Returns the subject of a fix's events: its path below the organization.
pub fn subject(pipeline: PipelineId, id: FixId) -> String {
    format!("pipelines/{pipeline}/fix-pull-requests/{id}")
}
