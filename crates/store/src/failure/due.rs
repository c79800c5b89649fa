//! A failure that a worker has leased.

use std::time::Duration;

use greenroom_domain::deployment::{Reason, StageStatus};
use greenroom_domain::id::{DeploymentId, FailureId, JobId, OrganizationId, PipelineId, StepRunId, UserId};
use jiff::Timestamp;

use super::compared::ComparedStep;

/// How long a worker may take. If it crashes, the failure is due again after this time.
pub const LEASE: Duration = Duration::from_secs(120);

/// A failure that is leased to a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueFailure {
    pub organization_id: OrganizationId,
    pub id: FailureId,
    /// The evidence was collected before. Only the verdict has to be decided again.
    pub is_collected: bool,
    pub tries: u32,
    pub attempt: FailedAttempt,
    /// Also identifies the lease.
    pub leased_until: Timestamp,
}

/// The attempt of a stage that has failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedAttempt {
    pub pipeline_id: PipelineId,
    pub deployment_id: DeploymentId,
    pub stage_key: String,
    pub attempt: u32,
    pub job_id: Option<JobId>,
    /// The step that failed; `None` if none had started.
    pub step_run_id: Option<StepRunId>,
    pub step: Option<String>,
    /// The name of the environment; empty without one.
    pub place: String,
    pub template: Option<String>,
    pub commit_id: String,
    pub branch: Option<String>,
    pub definition_version: i32,
    pub created_by: UserId,
    pub status: StageStatus,
    pub reason: Reason,
    pub detail: Option<String>,
    pub exit_code: Option<i32>,
    pub failed_at: Timestamp,
}

impl FailedAttempt {
    /// Returns one of its steps, to be compared with good runs.
    pub fn compared(&self, step: StepRunId) -> ComparedStep<'_> {
        ComparedStep {
            step,
            pipeline_id: self.pipeline_id,
            stage_key: &self.stage_key,
            place: &self.place,
            template: self.template.as_deref(),
            before: self.failed_at,
        }
    }
}
