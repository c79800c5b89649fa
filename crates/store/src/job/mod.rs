//! Jobs: attempts of stages in the hands of runners. Every word of a runner is checked against its own token and the job's.

mod assign;
mod checkout;
mod complete;
mod lease;
mod step;
mod upload;

use greenroom_domain::id::{DeploymentId, JobId, OrganizationId, PipelineId, PoolId, RunnerId};
use greenroom_domain::token::TokenHash;

use crate::StoreError;
use crate::change::Change;

pub use self::assign::Assigned;
pub use self::checkout::CheckoutRecorded;
pub use self::complete::{Completed, JobReport};
pub use self::lease::Beat;
pub use self::step::{Begun, EndedStep, Noted};
pub use self::upload::UploadPermission;

/// A runner, by its token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunnerPrincipal {
    pub organization_id: OrganizationId,
    pub id: RunnerId,
    pub name: String,
    pub pool_id: PoolId,
}

/// Who speaks of which job.
#[derive(Clone, Copy, Debug)]
pub struct JobWord<'a> {
    pub runner: &'a RunnerPrincipal,
    pub job: JobId,
    pub secret: &'a TokenHash,
}

/// Columns of a step `s` of a job that speaks for itself, if the word is good: the job is this runner's and runs.
macro_rules! own_step_query {
    ($columns:literal, $end:literal, $organization:expr, $word:expr, $step:expr) => {
        sqlx::query!(
            "select " + $columns + " from step_runs s
             join jobs j on j.organization_id = $1 and j.id = s.job_id
             where s.organization_id = $1 and s.id = $2 and j.id = $3 and j.runner_id = $4 and j.secret_hash = $5
               and j.status = 'running'" + $end,
            $organization,
            $step.uuid(),
            $word.job.uuid(),
            $word.runner.id.uuid(),
            $word.secret.as_slice(),
        )
    };
}

pub(crate) use own_step_query;

/// What a job that speaks for itself belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnJob {
    pub(crate) deployment_id: DeploymentId,
    pub(crate) pipeline_id: PipelineId,
    pub(crate) stage: String,
}

impl Change {
    /// The job, if the word is good: it is this runner's and runs, and will until this change is over.
    pub(crate) async fn own_job(&mut self, word: JobWord<'_>) -> Result<Option<OwnJob>, StoreError> {
        let organization = self.organization();
        let row = sqlx::query!(
            "select j.deployment_id, j.stage_key, d.pipeline_id
             from jobs j join deployments d on d.organization_id = $1 and d.id = j.deployment_id
             where j.organization_id = $1 and j.id = $2 and j.runner_id = $3 and j.secret_hash = $4
               and j.status = 'running' for share of j",
            organization,
            word.job.uuid(),
            word.runner.id.uuid(),
            word.secret.as_slice(),
        )
        .fetch_optional(self.connection())
        .await?;
        Ok(row.map(|row| OwnJob {
            deployment_id: row.deployment_id.into(),
            pipeline_id: row.pipeline_id.into(),
            stage: row.stage_key,
        }))
    }

    /// Whoever speaks of it.
    async fn deployment_of(&mut self, job: JobId) -> Result<Option<DeploymentId>, StoreError> {
        let organization = self.organization();
        let found = sqlx::query_scalar!(
            "select deployment_id from jobs where organization_id = $1 and id = $2",
            organization,
            job.uuid(),
        )
        .fetch_optional(self.connection())
        .await?;
        Ok(found.map(DeploymentId::from))
    }
}
