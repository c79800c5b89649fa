//! Decides what a fix does next, from what is stored about its session and deployments.

use super::{FixReason, FixStatus};
use crate::deployment::{DeploymentStatus, Reason};

/// How far a fix is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixProgress {
    pub status: FixStatus,
    /// How often the fix has to succeed.
    pub runs: u8,
    /// How often it has succeeded.
    pub succeeded_runs: u8,
}

/// How the current deployment of a fix has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeploymentOutcome {
    NotEnded,
    /// It failed, and the evidence is still being collected.
    Collecting,
    Succeeded,
    /// A step failed with the fingerprint of the failure to fix.
    SameFailure,
    OtherFailure(Option<Reason>),
    Errored,
    Canceled,
}

impl DeploymentOutcome {
    /// Returns the outcome of a deployment. `same` is whether one of its failures has the fingerprint; `None` if the evidence of
    /// one is missing and no other has it. `reason` is that of its first failed stage.
    pub fn new(status: DeploymentStatus, same: Option<bool>, reason: Option<Reason>) -> Self {
        match (status, same) {
            (DeploymentStatus::Succeeded, _) => Self::Succeeded,
            (DeploymentStatus::Errored, _) => Self::Errored,
            (DeploymentStatus::Canceled | DeploymentStatus::Superseded, _) => Self::Canceled,
            (DeploymentStatus::Failed, Some(true)) => Self::SameFailure,
            (DeploymentStatus::Failed, Some(false)) => Self::OtherFailure(reason),
            (DeploymentStatus::Failed, None) => Self::Collecting,
            _ => Self::NotEnded,
        }
    }
}

/// What is stored about the session and the current deployment of a fix that is being reproduced or verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observed {
    /// The session of the fix still holds the environment.
    pub is_session_held: bool,
    pub outcome: DeploymentOutcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    Wait,
    /// Deploy the fix in the session, for the first time or once more.
    DeployFix,
    /// The fix is verified: release the environment, and open the pull request.
    Open,
    /// Release the environment, and end the fix.
    End(FixReason),
}

impl FixProgress {
    pub fn next(self, observed: Observed) -> Next {
        let is_reproducing = self.status == FixStatus::Reproducing;
        // What ended before the session was lost still counts.
        match observed.outcome {
            DeploymentOutcome::Succeeded if is_reproducing => return Next::End(FixReason::NotReproduced),
            DeploymentOutcome::Succeeded if self.succeeded_runs.saturating_add(1) >= self.runs => {
                return Next::Open;
            }
            DeploymentOutcome::SameFailure if !is_reproducing => return Next::End(FixReason::StillRed),
            DeploymentOutcome::OtherFailure(Some(Reason::CommitNotFound | Reason::CommitNotOnBranch)) => {
                return Next::End(FixReason::CommitNotOnBranch);
            }
            DeploymentOutcome::OtherFailure(_) if is_reproducing => {
                return Next::End(FixReason::NotReproduced);
            }
            DeploymentOutcome::OtherFailure(_) => return Next::End(FixReason::StillRed),
            DeploymentOutcome::Errored => return Next::End(FixReason::PlatformError),
            _ => {}
        }
        if !observed.is_session_held {
            return Next::End(FixReason::SessionLost);
        }
        match observed.outcome {
            DeploymentOutcome::NotEnded | DeploymentOutcome::Collecting => Next::Wait,
            DeploymentOutcome::Canceled => Next::End(FixReason::DeploymentCanceled),
            _ => Next::DeployFix,
        }
    }
}
