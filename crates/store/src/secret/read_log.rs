//! The log of reads: which step or job got which version of a secret.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{DeploymentId, JobId, OrganizationId, RunnerId, SecretId, StepRunId};
use greenroom_domain::secret::VersionStatus;
use jiff::Timestamp;

use crate::error::{from_column, parse_column};
use crate::page::{MAX_COUNT, Page, PageResult, Total};
use crate::{Store, StoreError};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretRead {
    pub secret_id: SecretId,
    pub version: i32,
    pub deployment_id: DeploymentId,
    pub stage: String,
    pub attempt: u32,
    pub job_id: JobId,
    /// `None` if the platform itself used it for the job.
    pub step_run_id: Option<StepRunId>,
    pub runner_id: RunnerId,
    pub read_at: Timestamp,
}

/// A read of a deployment, with what is needed to decide whether to rotate the secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeploymentSecretRead {
    pub read: SecretRead,
    pub name: String,
    /// The status of the version that was read.
    pub version_status: VersionStatus,
}

#[boxed_futures]
impl Store {
    /// Returns the reads of a secret, newest first.
    pub async fn secret_reads(
        &self,
        organization: OrganizationId,
        secret: SecretId,
        page: Page,
    ) -> Result<PageResult<SecretRead>, StoreError> {
        let total = sqlx::query_scalar!(
            r#"select count(*) as "count!" from (
                   select 1 from secret_reads where organization_id = $1 and secret_id = $2 limit $3
               ) counted"#,
            organization.uuid(),
            secret.uuid(),
            MAX_COUNT + 1,
        )
        .fetch_one(&self.pool())
        .await?;
        let rows = sqlx::query!(
            "select version, deployment_id, stage_key, attempt, job_id, step_run_id, runner_id, read_at from secret_reads
             where organization_id = $1 and secret_id = $2
             order by read_at desc, job_id desc, step_run_id desc limit $3 offset $4",
            organization.uuid(),
            secret.uuid(),
            page.limit,
            page.offset,
        )
        .fetch_all(&self.pool())
        .await?;
        let rows = rows.into_iter().map(|row| {
            Ok(SecretRead {
                secret_id: secret,
                version: row.version,
                deployment_id: row.deployment_id.into(),
                stage: row.stage_key,
                attempt: from_column("secret_reads.attempt", row.attempt)?,
                job_id: row.job_id.into(),
                step_run_id: row.step_run_id.map(StepRunId::from),
                runner_id: row.runner_id.into(),
                read_at: row.read_at.to_jiff(),
            })
        });
        let rows = rows.collect::<Result<_, StoreError>>()?;
        Ok(PageResult { rows, total: Total::counted(total) })
    }

    /// Returns what a deployment has read, oldest first.
    pub async fn secret_reads_of_deployment(
        &self,
        organization: OrganizationId,
        deployment: DeploymentId,
        page: Page,
    ) -> Result<PageResult<DeploymentSecretRead>, StoreError> {
        let total = sqlx::query_scalar!(
            r#"select count(*) as "count!" from (
                   select 1 from secret_reads where organization_id = $1 and deployment_id = $2 limit $3
               ) counted"#,
            organization.uuid(),
            deployment.uuid(),
            MAX_COUNT + 1,
        )
        .fetch_one(&self.pool())
        .await?;
        let rows = sqlx::query!(
            "select r.secret_id, s.name, r.version, v.status, r.stage_key, r.attempt, r.job_id, r.step_run_id,
                    r.runner_id, r.read_at
             from secret_reads r
             join secrets s on s.organization_id = $1 and s.id = r.secret_id
             join secret_versions v on v.organization_id = $1 and v.secret_id = r.secret_id and v.version = r.version
             where r.organization_id = $1 and r.deployment_id = $2
             order by r.read_at, r.secret_id, r.job_id, r.step_run_id limit $3 offset $4",
            organization.uuid(),
            deployment.uuid(),
            page.limit,
            page.offset,
        )
        .fetch_all(&self.pool())
        .await?;
        let rows = rows.into_iter().map(|row| {
            let read = SecretRead {
                secret_id: row.secret_id.into(),
                version: row.version,
                deployment_id: deployment,
                stage: row.stage_key,
                attempt: from_column("secret_reads.attempt", row.attempt)?,
                job_id: row.job_id.into(),
                step_run_id: row.step_run_id.map(StepRunId::from),
                runner_id: row.runner_id.into(),
                read_at: row.read_at.to_jiff(),
            };
            let version_status = parse_column("secret_versions.status", &row.status)?;
            Ok(DeploymentSecretRead { read, name: row.name, version_status })
        });
        let rows = rows.collect::<Result<_, StoreError>>()?;
        Ok(PageResult { rows, total: Total::counted(total) })
    }
}
