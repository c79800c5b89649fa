//! Approvals: what has to be approved before a stage begins (`requirement`), what exactly is approved (`subject`), who may not
//! approve because they are behind the deployment (`exclusion`) or admitted by those who are (`newcomer`), who may vote
//! (`voter`, `confirmation`, `ballot`), what the votes decide (`tally`), how an approval ends (`machine`), whether it lets the stage begin
//! (`gate`), and what is new in it (`changes`).
//!
//! Everything about people is an input, read when it is needed: whether a voter fits a rule is decided at each decision,
//! not when the vote is cast.

mod ballot;
mod changes;
mod confirmation;
mod exclusion;
mod gate;
mod machine;
mod newcomer;
mod order;
mod requirement;
mod status;
mod subject;
mod tally;
mod voter;

pub use ballot::{Ballot, VoteRejected, check_vote};
pub use changes::{Before, Change, Changes, StepChange, changes};
pub use confirmation::{Admission, AdmissionKind, Confirmation};
pub use exclusion::{Actor, Because, Behind, Excluded, excluded};
pub use gate::{Gate, Refusal};
pub use machine::{Approval, ApprovalCommand};
pub use newcomer::{Newcomer, Newcomers};
pub use order::{Place, supersedes};
pub use requirement::{Requirement, gated_before_checkout};
pub use status::ApprovalStatus;
pub use subject::{NeededStage, Subject, SubjectCache, SubjectInput, SubjectStep};
pub use tally::{Decision, Prospect, Vote, VoteChoice, decide, prospect};
pub use voter::Person;

pub use crate::digest::{InvalidDigest, SubjectDigest};
use crate::id::{ApprovalId, PipelineId};

/// Returns the subject of an approval's events.
pub fn subject(pipeline: PipelineId, id: ApprovalId) -> String {
    format!("pipelines/{pipeline}/approvals/{id}")
}
