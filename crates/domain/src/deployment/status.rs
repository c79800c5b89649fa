//! The words for where a deployment, its stages and their attempts stand, and why.

use crate::word::words;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeploymentStatus {
    /// Accepted; it has not begun.
    Queued,
    Running,
    /// Nothing of it runs, because it waits for something that it names.
    Waiting,
    /// Held before its next stage, because the pipeline was stopped.
    Paused,
    /// It is to end, and something of it still runs.
    Canceling,
    Succeeded,
    /// The user's work said no.
    Failed,
    /// The platform could not.
    Errored,
    Canceled,
    /// Another of its session came after it before it had begun.
    Superseded,
}

words!(DeploymentStatus {
    Queued = "queued",
    Running = "running",
    Waiting = "waiting",
    Paused = "paused",
    Canceling = "canceling",
    Succeeded = "succeeded",
    Failed = "failed",
    Errored = "errored",
    Canceled = "canceled",
    Superseded = "superseded",
});

impl DeploymentStatus {
    pub const fn is_end(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Errored | Self::Canceled | Self::Superseded)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StageStatus {
    /// It needs others to end first, or a pause to pass.
    Pending,
    /// Somebody has to agree.
    Waiting,
    /// It waits for a runner.
    Queued,
    Running,
    Succeeded,
    Failed,
    Errored,
    Canceled,
    Skipped,
}

words!(StageStatus {
    Pending = "pending",
    Waiting = "waiting",
    Queued = "queued",
    Running = "running",
    Succeeded = "succeeded",
    Failed = "failed",
    Errored = "errored",
    Canceled = "canceled",
    Skipped = "skipped",
});

impl StageStatus {
    pub const fn is_end(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Errored | Self::Canceled | Self::Skipped)
    }
}

/// One attempt of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JobStatus {
    /// It waits for a runner.
    Queued,
    /// A runner has it.
    Running,
    Succeeded,
    Failed,
    Errored,
    Canceled,
}

words!(JobStatus {
    Queued = "queued",
    Running = "running",
    Succeeded = "succeeded",
    Failed = "failed",
    Errored = "errored",
    Canceled = "canceled",
});

impl JobStatus {
    pub const fn is_end(self) -> bool {
        !matches!(self, Self::Queued | Self::Running)
    }
}

/// Why something ended as it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    StepFailed,
    TimedOut,
    /// The runner was not heard from any more.
    RunnerLost,
    /// No runner took it for too long.
    NoRunner,
    /// The runner could not carry it out: no checkout, no image.
    RunnerError,
    /// The repository has no such commit.
    CommitNotFound,
    /// The commit is not on the branch that the deployment names or the environment demands.
    CommitNotOnBranch,
    /// The address is not that of a repository which the runner may read.
    RepositoryUnavailable,
    /// The registry has no such image, or does not give it out.
    ImageNotFound,
    /// The stage's pool takes no jobs of this pipeline, or none that deploy to this environment.
    PoolRestricted,
    /// The stage asks for something that this installation can't do yet.
    Unsupported,
    /// The definition can't be read any more, or its `if` can't be worked out.
    InvalidDefinition,
    /// The stage's `if` takes more steps or time than an evaluation may.
    ConditionLimit,
    CanceledByUser,
    /// Its session has ended.
    SessionEnded,
    PipelineStopped,
    /// It was to end, and its runner is gone: something of it may have gone on for a while.
    Abandoned,
    /// An operator or an admin ended it without its runner.
    GivenUp,
    ConditionFalse,
    /// The stage is restricted to sessions of ephemeral environments.
    OnlyEphemeral,
    UpstreamFailed,
    UpstreamSkipped,
    DeploymentCanceled,
}

words!(Reason {
    StepFailed = "step_failed",
    TimedOut = "timed_out",
    RunnerLost = "runner_lost",
    NoRunner = "no_runner",
    RunnerError = "runner_error",
    CommitNotFound = "commit_not_found",
    CommitNotOnBranch = "commit_not_on_branch",
    RepositoryUnavailable = "repository_unavailable",
    ImageNotFound = "image_not_found",
    PoolRestricted = "pool_restricted",
    Unsupported = "unsupported",
    InvalidDefinition = "invalid_definition",
    ConditionLimit = "condition_limit",
    CanceledByUser = "canceled_by_user",
    SessionEnded = "session_ended",
    PipelineStopped = "pipeline_stopped",
    Abandoned = "abandoned",
    GivenUp = "given_up",
    ConditionFalse = "condition_false",
    OnlyEphemeral = "only_ephemeral",
    UpstreamFailed = "upstream_failed",
    UpstreamSkipped = "upstream_skipped",
    DeploymentCanceled = "deployment_canceled",
});
