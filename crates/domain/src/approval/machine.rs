//! The state machine of an approval. It is decided once: a final status never changes.
//!
//! | `pending`, and …                                  | Afterwards    |
//! |---------------------------------------------------|---------------|
//! | what is to be approved has changed                | `invalidated` |
//! | its time is over                                  | `expired`     |
//! | a vote rejects                                    | `rejected`    |
//! | the votes meet all rules, or it is overridden     | `approved`    |
//! | the stage ended                                   | `canceled`    |
//! | a newer one was approved                          | `superseded`  |
//!
//! The first row that applies decides. A command that arrives when the time is over finds it `expired`.

use jiff::{SignedDuration, Timestamp};

use super::gate::{Gate, Refusal};
use super::status::ApprovalStatus;
use super::tally::Decision;
use crate::digest::SubjectDigest;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Approval {
    pub status: ApprovalStatus,
    pub subject_digest: SubjectDigest,
    pub expires_at: Timestamp,
    /// How long it is valid once it is approved.
    pub valid_for: SignedDuration,
    pub decided_at: Option<Timestamp>,
    /// Set if it is approved: the first step has to start before.
    pub valid_until: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApprovalCommand<'a> {
    /// The deployment is advanced: what is to be approved may have changed.
    Compare(&'a SubjectDigest),
    /// The stage is planned or run again: what was to be approved is not what it would do.
    Invalidate,
    /// A vote was cast or withdrawn.
    Decide(Decision),
    /// An admin overrides it.
    Override,
    /// The stage ended.
    Cancel,
    /// A newer one was approved for the same stage and environment.
    Supersede,
}

impl Approval {
    pub fn open(
        subject_digest: SubjectDigest,
        timeout: SignedDuration,
        valid_for: SignedDuration,
        now: Timestamp,
    ) -> Self {
        Self {
            status: ApprovalStatus::Pending,
            subject_digest,
            expires_at: later(now, timeout),
            valid_for,
            decided_at: None,
            valid_until: None,
        }
    }

    /// Applies a command. Returns whether that, or the time, decided the approval.
    pub fn apply(&mut self, command: &ApprovalCommand<'_>, now: Timestamp) -> bool {
        if self.status.is_final() {
            return false;
        }
        let is_late = self.expires_at <= now;
        let status = match command {
            ApprovalCommand::Compare(present) if **present != self.subject_digest => {
                ApprovalStatus::Invalidated
            }
            ApprovalCommand::Invalidate => ApprovalStatus::Invalidated,
            _ if is_late => ApprovalStatus::Expired,
            ApprovalCommand::Compare(_) | ApprovalCommand::Decide(Decision::Open { .. }) => return false,
            ApprovalCommand::Decide(Decision::Rejected { .. }) => ApprovalStatus::Rejected,
            ApprovalCommand::Decide(Decision::Approved) | ApprovalCommand::Override => {
                ApprovalStatus::Approved
            }
            ApprovalCommand::Cancel => ApprovalStatus::Canceled,
            ApprovalCommand::Supersede => ApprovalStatus::Superseded,
        };
        self.status = status;
        self.decided_at = Some(now);
        self.valid_until = (status == ApprovalStatus::Approved).then(|| later(now, self.valid_for));
        true
    }

    /// Returns the gate of the stage that waits for this approval.
    pub fn gate(&self) -> Gate {
        match self.status {
            ApprovalStatus::Pending => {
                Gate::Pending { digest: self.subject_digest.clone(), expires_at: self.expires_at }
            }
            ApprovalStatus::Approved => match self.valid_until {
                Some(until) => Gate::Approved { digest: self.subject_digest.clone(), until },
                None => Gate::Wanted,
            },
            ApprovalStatus::Rejected => Gate::Refused(Refusal::Rejected),
            ApprovalStatus::Expired => Gate::Refused(Refusal::Expired),
            ApprovalStatus::Superseded => Gate::Refused(Refusal::Superseded),
            ApprovalStatus::Canceled | ApprovalStatus::Invalidated => Gate::Wanted,
        }
    }
}

fn later(now: Timestamp, duration: SignedDuration) -> Timestamp {
    now.saturating_add(duration).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
