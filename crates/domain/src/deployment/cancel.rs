//! Canceling: what becomes of a deployment, and of a stage with its newest attempt.

use super::machine::Deployment;
use super::plan::Purpose;
use super::stage::Job;
use super::status::{DeploymentStatus, JobStatus, Reason, StageStatus};

/// Why a deployment is canceled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelCause {
    /// A user cancels it. With `force` its steps get no grace time.
    User { force: bool },
    /// Its session has ended.
    SessionEnd,
    /// Its pipeline was stopped. `with_queued`: deployments that have not started are canceled too.
    PipelineStop { with_queued: bool },
    /// An operator or an admin ends it without its runners.
    GiveUp,
}

impl CancelCause {
    pub const fn reason(self) -> Reason {
        match self {
            Self::User { .. } => Reason::CanceledByUser,
            Self::SessionEnd => Reason::SessionEnded,
            Self::PipelineStop { .. } => Reason::PipelineStopped,
            Self::GiveUp => Reason::GivenUp,
        }
    }
}

/// What becomes of a deployment that is canceled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Canceled {
    Unchanged,
    /// It ends immediately with the status `canceled`. None of its stages has started.
    Ended,
    /// Its status becomes `canceling`. It ends when no attempt of its stages is running any more.
    Canceling,
    /// The reason is recorded, and the status stays until the deployment is advanced next. Then
    /// [`advance`](super::advance) cancels its stages, which ends it unless an attempt is running.
    Marked,
}

impl Canceled {
    /// Returns the status of a deployment that had the status `before`.
    pub const fn status(self, before: DeploymentStatus) -> DeploymentStatus {
        match self {
            Self::Unchanged | Self::Marked => before,
            Self::Ended => DeploymentStatus::Canceled,
            Self::Canceling => DeploymentStatus::Canceling,
        }
    }
}

/// Decides what becomes of a deployment. `is_canceled`: an earlier cancellation is recorded already.
///
/// | Status                         | User           | Session's end | Pipeline's stop | Giving up |
/// |--------------------------------|----------------|---------------|-----------------|-----------|
/// | `queued`                       | ended (1)      | ended         | marked (2)      | marked    |
/// | `running`, `waiting`, `paused` | canceling (1)  | canceling     | marked          | marked    |
/// | `canceling`                    | canceling (1)  | unchanged     | marked          | marked    |
/// | final                          | unchanged      | unchanged     | unchanged       | unchanged |
///
/// (1) Unchanged if it is canceled already, except with `force`. (2) Only if the stop includes queued ones.
///
/// A teardown is not affected by the end of its session or a stop of its pipeline: other sessions wait for it.
pub fn cancel(status: DeploymentStatus, purpose: Purpose, is_canceled: bool, cause: CancelCause) -> Canceled {
    if status.is_final() {
        return Canceled::Unchanged;
    }
    let is_queued = status == DeploymentStatus::Queued;
    let is_teardown = purpose == Purpose::Teardown;
    match cause {
        CancelCause::User { force: false } if is_canceled => Canceled::Unchanged,
        CancelCause::SessionEnd | CancelCause::PipelineStop { .. } if is_teardown => Canceled::Unchanged,
        CancelCause::SessionEnd if status == DeploymentStatus::Canceling => Canceled::Unchanged,
        CancelCause::PipelineStop { with_queued: false } if is_queued => Canceled::Unchanged,
        CancelCause::User { .. } | CancelCause::SessionEnd if is_queued => Canceled::Ended,
        CancelCause::User { .. } | CancelCause::SessionEnd => Canceled::Canceling,
        CancelCause::PipelineStop { .. } | CancelCause::GiveUp => Canceled::Marked,
    }
}

/// What becomes of a stage that is canceled or given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CanceledStage {
    /// The stage has ended, or its newest attempt ends.
    Done,
    /// The stage had already ended.
    Unchanged,
    NoSuchStage,
}

/// Cancels one stage. Stages that need it are skipped, the others continue.
///
/// | Stage                | Newest attempt | Stage afterwards | Attempt afterwards               |
/// |----------------------|----------------|------------------|----------------------------------|
/// | `pending`, `waiting` | none, or ended | `canceled`       | unchanged                        |
/// | `queued`, `running`  | live           | unchanged        | must end: [`Job::cancel`] is set |
/// | `queued`, `running`  | ended          | `canceled`       | unchanged                        |
/// | final                |                | unchanged        | unchanged                        |
///
/// An attempt that must end does so when the deployment is advanced next, if no runner has taken it; otherwise
/// with the report of its runner, or when the runner is lost.
pub fn cancel_stage(deployment: &mut Deployment, key: &str, reason: Reason) -> CanceledStage {
    deployment.cancel_stage(key, reason, |job| {
        job.cancel.get_or_insert(reason);
    })
}

/// Ends one stage immediately, without waiting for its runner. Like [`cancel_stage`], but a live attempt ends
/// with the status `canceled`, and the stage with the next advance.
pub fn give_up_stage(deployment: &mut Deployment, key: &str) -> CanceledStage {
    deployment.cancel_stage(key, Reason::GivenUp, |job| {
        job.status = JobStatus::Canceled;
        job.reason = Some(Reason::GivenUp);
        job.cancel = Some(Reason::GivenUp);
    })
}

impl Deployment {
    /// If the newest attempt of the stage is live, cancels it with `cancel_job`; otherwise cancels the stage
    /// itself.
    fn cancel_stage(
        &mut self,
        key: &str,
        reason: Reason,
        cancel_job: impl FnOnce(&mut Job),
    ) -> CanceledStage {
        let Some(stage) = self.stages.iter_mut().find(|stage| stage.key == key) else {
            return CanceledStage::NoSuchStage;
        };
        if stage.status.is_final() {
            return CanceledStage::Unchanged;
        }
        match &mut stage.job {
            Some(job) if !job.status.is_final() => cancel_job(job),
            _ => stage.end(StageStatus::Canceled, reason),
        }
        CanceledStage::Done
    }
}

#[cfg(test)]
#[path = "cancel_tests.rs"]
mod tests;
