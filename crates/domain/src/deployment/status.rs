//! The statuses of deployments, stages, jobs and steps, and the reasons for them.

use crate::text_enum::text_enum;

/// Implements `FINAL` and `is_final` for the enum of a status. This is the only list of its final statuses.
macro_rules! final_statuses {
    ($type:ident { $($variant:ident),* $(,)? }) => {
        impl $type {
            /// The statuses that do not change any more, except by a retry.
            pub const FINAL: &'static [Self] = &[$(Self::$variant),*];

            pub const fn is_final(self) -> bool {
                matches!(self, $(Self::$variant)|*)
            }
        }
    };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeploymentStatus {
    /// Accepted, but not started.
    Queued,
    Running,
    /// No stage runs; `waiting_on` returns why.
    Waiting,
    /// No further stage starts, because the pipeline was stopped with `pause`.
    Paused,
    /// Canceled, but a job is still running.
    Canceling,
    Succeeded,
    /// A step of the user failed, or a timeout was exceeded.
    Failed,
    /// The platform failed, not a step of the user.
    Errored,
    Canceled,
    /// A newer deployment of the same session replaced it before it started, or a newer one is live in the lasting
    /// environment.
    Superseded,
}

text_enum!(DeploymentStatus {
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

final_statuses!(DeploymentStatus { Succeeded, Failed, Errored, Canceled, Superseded });

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StageStatus {
    /// The stage waits for the stages that it needs, or backs off before a retry.
    Pending,
    /// The stage waits for an approval, or until it may begin in its lasting environment.
    Waiting,
    /// The stage waits for a runner.
    Queued,
    Running,
    Succeeded,
    Failed,
    Errored,
    Canceled,
    Skipped,
}

text_enum!(StageStatus {
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

final_statuses!(StageStatus { Succeeded, Failed, Errored, Canceled, Skipped });

/// The status of one attempt of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum JobStatus {
    /// The job waits for a runner.
    Queued,
    /// A runner has taken the job.
    Running,
    Succeeded,
    Failed,
    Errored,
    Canceled,
}

text_enum!(JobStatus {
    Queued = "queued",
    Running = "running",
    Succeeded = "succeeded",
    Failed = "failed",
    Errored = "errored",
    Canceled = "canceled",
});

final_statuses!(JobStatus { Succeeded, Failed, Errored, Canceled });

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StepStatus {
    /// The step has not started.
    Pending,
    Running,
    Succeeded,
    /// The step of the user failed.
    Failed,
    /// The platform failed, not the step.
    Errored,
    Canceled,
    /// The job ended before the step started.
    Skipped,
}

text_enum!(StepStatus {
    Pending = "pending",
    Running = "running",
    Succeeded = "succeeded",
    Failed = "failed",
    Errored = "errored",
    Canceled = "canceled",
    Skipped = "skipped",
});

final_statuses!(StepStatus { Succeeded, Failed, Errored, Canceled, Skipped });

/// Why a deployment, a stage or a job has its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    StepFailed,
    TimedOut,
    /// The heartbeats of the runner stopped.
    RunnerLost,
    /// No runner took the job in time.
    NoRunner,
    /// The runner could not run the job, for example because the checkout or the image pull failed.
    RunnerError,
    /// The repository does not contain the commit.
    CommitNotFound,
    /// The commit is not on the branch that the deployment names or that the environment requires.
    CommitNotOnBranch,
    /// The URL is not that of a repository which the runner may read.
    RepositoryUnavailable,
    /// The address of a submodule is not https on a host that the stage lists.
    CheckoutHostNotAllowed,
    /// The registry has no such image, or denies access to it.
    ImageNotFound,
    /// The stage's pool takes no jobs of this pipeline, or none that deploy to this environment.
    PoolRestricted,
    /// A stage that it needs has left something, and ran in a pool that takes more jobs than its own.
    InputRefused,
    /// A step uses a secret that does not exist for its pipeline and environment.
    SecretMissing,
    /// A rule of a secret denies it to a step.
    SecretDenied,
    /// The user who started or last retried the deployment may not deploy to the environment.
    DeployDenied,
    /// The definition was saved before the steps of registries that it uses could be locked.
    Unsupported,
    /// A version of a step that the stage uses is refused and must not run any more.
    StepRefused,
    /// The files of a step of a registry do not have the digest that the definition has locked.
    StepDigestMismatch,
    /// The definition can't be read any more, no longer has the stage, or an `if` can't be evaluated.
    InvalidDefinition,
    /// The stage's `if` takes more steps or time than an evaluation may.
    ConditionLimit,
    CanceledByUser,
    /// Its session has ended.
    SessionEnded,
    PipelineStopped,
    /// Canceled, but the runner was lost: its steps may have continued for a while.
    Abandoned,
    /// An operator or an admin ended the job without its runner.
    GivenUp,
    ConditionFalse,
    /// The stage's `if` is false, and is about the branch, which is not known.
    BranchUnknown,
    /// The stage is restricted to sessions of ephemeral environments.
    OnlyEphemeral,
    UpstreamFailed,
    UpstreamSkipped,
    DeploymentCanceled,
    /// A deployment was live in the lasting environment that was accepted later.
    Outdated,
    /// When the first step was to start, the stage might not begin any more: in its lasting environment, or because its
    /// approval was not valid.
    GateClosed,
    /// An approver rejected it.
    ApprovalRejected,
    /// It was not approved in time.
    ApprovalExpired,
    /// Its first step did not start in time after the approval. It waits for another one.
    ApprovalLapsed,
    /// A newer deployment of the same session superseded it.
    NewerDeployment,
}

text_enum!(Reason {
    StepFailed = "step_failed",
    TimedOut = "timed_out",
    RunnerLost = "runner_lost",
    NoRunner = "no_runner",
    RunnerError = "runner_error",
    CommitNotFound = "commit_not_found",
    CommitNotOnBranch = "commit_not_on_branch",
    RepositoryUnavailable = "repository_unavailable",
    CheckoutHostNotAllowed = "checkout_host_not_allowed",
    ImageNotFound = "image_not_found",
    PoolRestricted = "pool_restricted",
    InputRefused = "input_refused",
    SecretMissing = "secret_missing",
    SecretDenied = "secret_denied",
    DeployDenied = "deploy_denied",
    Unsupported = "unsupported",
    StepRefused = "step_refused",
    StepDigestMismatch = "step_digest_mismatch",
    InvalidDefinition = "invalid_definition",
    ConditionLimit = "condition_limit",
    CanceledByUser = "canceled_by_user",
    SessionEnded = "session_ended",
    PipelineStopped = "pipeline_stopped",
    Abandoned = "abandoned",
    GivenUp = "given_up",
    ConditionFalse = "condition_false",
    BranchUnknown = "branch_unknown",
    OnlyEphemeral = "only_ephemeral",
    UpstreamFailed = "upstream_failed",
    UpstreamSkipped = "upstream_skipped",
    DeploymentCanceled = "deployment_canceled",
    Outdated = "outdated",
    GateClosed = "gate_closed",
    ApprovalRejected = "approval_rejected",
    ApprovalExpired = "approval_expired",
    ApprovalLapsed = "approval_lapsed",
    NewerDeployment = "newer_deployment",
} formerly {
    // A sentence instead of a code. Rows from before have it, and during a rolling upgrade an older server
    // still writes it.
    NewerDeployment = "a newer deployment",
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_codes_and_the_former_text_is_still_read() {
        for reason in Reason::ALL {
            let text = reason.as_str();
            assert!(text.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{text}");
            assert_eq!(text.parse(), Ok(*reason));
        }
        assert_eq!("a newer deployment".parse(), Ok(Reason::NewerDeployment));
    }

    /// The live statuses are listed here, so that a new status has to be classified.
    #[test]
    fn every_status_is_live_or_final() {
        macro_rules! live {
            ($type:ident) => {
                $type::ALL.iter().filter(|status| !status.is_final()).map(|status| status.as_str()).collect()
            };
        }
        let (deployments, stages): (Vec<_>, Vec<_>) = (live!(DeploymentStatus), live!(StageStatus));
        let (jobs, steps): (Vec<_>, Vec<_>) = (live!(JobStatus), live!(StepStatus));
        assert_eq!(deployments, ["queued", "running", "waiting", "paused", "canceling"]);
        assert_eq!(stages, ["pending", "waiting", "queued", "running"]);
        assert_eq!(jobs, ["queued", "running"]);
        assert_eq!(steps, ["pending", "running"]);
    }
}
