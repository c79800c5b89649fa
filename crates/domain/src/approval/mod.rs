//! Approvals: what has to be approved before a stage begins (`requirement`), what exactly is approved (`subject`), who may not
//! approve because they are behind the deployment (`exclusion`), who may vote (`voter`, `ballot`), what the votes decide
//! (`tally`), how an approval ends (`machine`), and whether it lets the stage begin (`gate`).
//!
//! Everything about people is an input, read when it is needed: whether a voter fits a rule is decided at each decision,
//! not when the vote is cast.

mod ballot;
mod exclusion;
mod gate;
mod machine;
mod order;
mod requirement;
mod status;
mod subject;
mod tally;
mod voter;

pub use ballot::{Ballot, VoteRejected, check_vote};
pub use exclusion::{Actor, Because, Behind, Excluded, excluded};
pub use gate::{Gate, Refusal};
pub use machine::{Approval, ApprovalCommand};
pub use order::{Place, supersedes};
pub use requirement::Requirement;
pub use status::ApprovalStatus;
pub use subject::{InvalidDigest, NeededStage, Subject, SubjectDigest, SubjectInput, SubjectStep};
pub use tally::{Decision, Prospect, Vote, VoteChoice, decide, prospect};
pub use voter::Person;

use crate::id::ApprovalId;

/// Returns the subject of an approval's events.
pub fn subject(id: ApprovalId) -> String {
    format!("approvals/{id}")
}
