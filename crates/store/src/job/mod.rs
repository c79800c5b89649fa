//! Jobs: attempts of stages that runners execute. Every request of a runner is authenticated by the runner's
//! token and the job's secret.

mod assign;
mod checkout;
mod complete;
mod id_token;
mod input;
mod lease;
mod refused_start;
mod step;
mod step_archive;
mod upload;

use greenroom_domain::id::{DeploymentId, JobId, OrganizationId, PipelineId, PoolId, RunnerId};
use greenroom_domain::token::TokenHash;

use crate::StoreError;
use crate::transaction::OrgTransaction;

pub use self::assign::{AssignedStep, JobAssignment, JobEnvironment};
pub use self::checkout::CheckoutOutcome;
pub use self::complete::{CompletedJob, JobReport};
pub use self::id_token::{IdTokenOutcome, RequestedIdTokens};
pub use self::input::JobInput;
pub use self::lease::HeartbeatResult;
pub use self::refused_start::RefusedStart;
pub use self::step::{AcceptedStart, StepEndOutcome, StepResult, StepStartOutcome};
pub use self::step_archive::StepArchive;
pub use self::upload::UploadPermission;

/// A runner that was authenticated by its token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunnerPrincipal {
    pub organization_id: OrganizationId,
    pub id: RunnerId,
    pub name: String,
    pub pool_id: PoolId,
}

/// What authenticates a runner's request about a job.
#[derive(Clone, Copy, Debug)]
pub struct JobCredentials<'a> {
    pub runner: &'a RunnerPrincipal,
    pub job: JobId,
    pub secret: &'a TokenHash,
}

/// The result of reading something with job credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobLookup<T> {
    Found(T),
    NotFound,
    /// The job is not, or no longer, assigned to this runner.
    Gone,
}

impl<T> From<Option<T>> for JobLookup<T> {
    fn from(found: Option<T>) -> Self {
        found.map_or(Self::NotFound, Self::Found)
    }
}

/// Selects columns of a step `s`, if the job credentials are valid: the job is running and assigned to this
/// runner.
macro_rules! authenticated_step_query {
    ($columns:literal, $end:literal, $organization:expr, $credentials:expr, $step:expr) => {
        sqlx::query!(
            "select " + $columns + " from step_runs s
             join jobs j on j.organization_id = $1 and j.id = s.job_id
             where s.organization_id = $1 and s.id = $2 and j.id = $3 and j.runner_id = $4 and j.secret_hash = $5
               and j.status = 'running'" + $end,
            $organization,
            $step.uuid(),
            $credentials.job.uuid(),
            $credentials.runner.id.uuid(),
            $credentials.secret.as_slice(),
        )
    };
}

pub(crate) use authenticated_step_query;

/// What a job with valid credentials belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AuthenticatedJob {
    pub(crate) deployment_id: DeploymentId,
    pub(crate) pipeline_id: PipelineId,
    pub(crate) definition_version: i32,
    pub(crate) stage: String,
}

impl OrgTransaction {
    /// Returns the job if the credentials are valid: it is running and assigned to this runner. It is locked,
    /// so that this stays so until the end of the transaction.
    pub(crate) async fn authenticated_job(
        &mut self,
        credentials: JobCredentials<'_>,
    ) -> Result<Option<AuthenticatedJob>, StoreError> {
        let organization = self.organization();
        let row = sqlx::query!(
            "select j.deployment_id, j.stage_key, d.pipeline_id, d.definition_version
             from jobs j join deployments d on d.organization_id = $1 and d.id = j.deployment_id
             where j.organization_id = $1 and j.id = $2 and j.runner_id = $3 and j.secret_hash = $4
               and j.status = 'running' for share of j",
            organization,
            credentials.job.uuid(),
            credentials.runner.id.uuid(),
            credentials.secret.as_slice(),
        )
        .fetch_optional(self.connection())
        .await?;
        Ok(row.map(|row| AuthenticatedJob {
            deployment_id: row.deployment_id.into(),
            pipeline_id: row.pipeline_id.into(),
            definition_version: row.definition_version,
            stage: row.stage_key,
        }))
    }

    /// Returns the job's deployment, without checking any credentials.
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
