//! The status of a fix, and why it has ended.

use crate::text_enum::text_enum;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FixStatus {
    /// Accepted, but not started.
    Queued,
    /// No environment is free.
    Waiting,
    /// The failing commit is deployed, to see the failure again.
    Reproducing,
    /// The fix is deployed.
    Verifying,
    /// The draft of the pull request is being opened.
    Opening,
    /// The draft is open. The rest is up to the people of the repository.
    Opened,
    Merged,
    Closed,
    /// The fix can't be proven, or is not needed.
    Refused,
    Failed,
    Canceled,
}

text_enum!(FixStatus {
    Queued = "queued",
    Waiting = "waiting",
    Reproducing = "reproducing",
    Verifying = "verifying",
    Opening = "opening",
    Opened = "opened",
    Merged = "merged",
    Closed = "closed",
    Refused = "refused",
    Failed = "failed",
    Canceled = "canceled",
});

impl FixStatus {
    pub const FINAL: &'static [Self] =
        &[Self::Merged, Self::Closed, Self::Refused, Self::Failed, Self::Canceled];

    pub const fn is_final(self) -> bool {
        matches!(self, Self::Merged | Self::Closed | Self::Refused | Self::Failed | Self::Canceled)
    }

    /// Returns whether it may hold an environment.
    pub const fn has_session(self) -> bool {
        matches!(self, Self::Reproducing | Self::Verifying)
    }

    /// Returns whether it can be canceled. Once the pull request is being opened, it is closed at the forge.
    pub const fn is_cancelable(self) -> bool {
        matches!(self, Self::Queued | Self::Waiting | Self::Reproducing | Self::Verifying)
    }
}

/// Why a fix was refused, has failed or was canceled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FixReason {
    /// The failing commit does not fail like this any more.
    NotReproduced,
    /// The fix fails too.
    StillRed,
    /// The step has passed on the base branch since the failure.
    AlreadyFixed,
    /// The repository does not contain the commit, or not on the branch.
    CommitNotOnBranch,
    /// The branch has other commits after the one that was verified.
    BranchMoved,
    /// No environment became free in time.
    NoEnvironment,
    /// The session ended before its work was done: it was taken over or released, or its lease expired.
    SessionLost,
    /// A deployment of the fix was canceled or superseded.
    DeploymentCanceled,
    /// A deployment ended with an error of the platform.
    PlatformError,
    /// Its requester may not deploy any more, or the token of the request has ended.
    RightsLost,
    /// The forge refuses the pull request or the credential, or is not connected any more.
    ForgeRefused,
    /// It took too long, for example because the forge does not respond.
    TimedOut,
    /// A user canceled it.
    Canceled,
}

text_enum!(FixReason {
    NotReproduced = "not_reproduced",
    StillRed = "still_red",
    AlreadyFixed = "already_fixed",
    CommitNotOnBranch = "commit_not_on_branch",
    BranchMoved = "branch_moved",
    NoEnvironment = "no_environment",
    SessionLost = "session_lost",
    DeploymentCanceled = "deployment_canceled",
    PlatformError = "platform_error",
    RightsLost = "rights_lost",
    ForgeRefused = "forge_refused",
    TimedOut = "timed_out",
    Canceled = "canceled",
});

impl FixReason {
    /// Returns the status of a fix that ends for this reason.
    pub const fn status(self) -> FixStatus {
        match self {
            Self::NotReproduced | Self::AlreadyFixed | Self::CommitNotOnBranch | Self::BranchMoved => {
                FixStatus::Refused
            }
            Self::Canceled => FixStatus::Canceled,
            Self::StillRed
            | Self::NoEnvironment
            | Self::SessionLost
            | Self::DeploymentCanceled
            | Self::PlatformError
            | Self::RightsLost
            | Self::ForgeRefused
            | Self::TimedOut => FixStatus::Failed,
        }
    }
}

/// Where the commit of a fix comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FixSource {
    /// A person or an agent has pushed it.
    Commit,
    /// A model writes it. Not available yet.
    Model,
}

text_enum!(FixSource { Commit = "commit", Model = "model" });
