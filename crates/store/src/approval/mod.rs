//! Approvals of stages: opened and closed when their deployment is advanced, decided by votes.
//!
//! Locks are taken in this order: environments, the deployment, approvals. A vote locks approvals only, the newest first, and
//! wakes up the deployments.

mod authors;
mod close;
mod event;
mod open;
mod overriding;
mod people;
mod previous;
mod read;
mod start;
mod state;
mod subject;
mod vote;

pub use self::overriding::{OverriddenGates, OverrideOutcome};
pub use self::previous::PreviousSuccess;
pub use self::read::{ApprovalFilter, ApprovalPeople, ApprovalRecord, OverrideRecord, VoteRecord};
pub(crate) use self::state::StoredApproval;
pub use self::vote::{NewVote, VoteOutcome};
