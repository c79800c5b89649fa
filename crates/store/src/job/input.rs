//! What a job got that other jobs have left. It stays readable when the archives have been deleted.

use greenroom_domain::id::{DeploymentId, JobId};
use serde::Deserialize;

use crate::StoreError;
use crate::transaction::OrgTransaction;

/// One input of a job, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct JobInput {
    /// `artifact` or `cache`.
    pub kind: String,
    /// The stage of an artifact, the key of a cache.
    pub name: String,
    /// The stage that left it, and the pool that the stage ran in.
    pub stage: Option<String>,
    pub pool: Option<String>,
    pub zone: Option<String>,
    pub sha256: String,
}

impl OrgTransaction {
    /// Records the artifacts that a job gets: those that [`artifacts_of`](Self::artifacts_of) returns.
    pub(crate) async fn record_artifact_inputs(
        &mut self,
        job: JobId,
        deployment: DeploymentId,
        artifacts: &[uuid::Uuid],
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "insert into job_inputs (organization_id, job_id, kind, name, stage_key, pool, sha256)
             select $1, $2, 'artifact', a.stage_key, a.stage_key, p.name, a.sha256
             from artifacts a
             join jobs j on j.organization_id = $1 and j.id = a.job_id
             join runner_pools p on p.organization_id = $1 and p.id = j.pool_id
             where a.organization_id = $1 and a.deployment_id = $3 and a.id = any($4)
             on conflict do nothing",
            organization,
            job.uuid(),
            deployment.uuid(),
            artifacts,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// Records a cache that a job gets.
    pub(crate) async fn record_cache_input(
        &mut self,
        job: JobId,
        key: &str,
        object: &str,
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "insert into job_inputs (organization_id, job_id, kind, name, stage_key, pool, zone, sha256)
             select $1, $2, 'cache', c.key, c.stage_key, p.name, c.zone, c.sha256
             from caches c left join runner_pools p on p.organization_id = $1 and p.id = c.pool_id
             where c.organization_id = $1 and c.key = $3 and c.object = $4
             on conflict do nothing",
            organization,
            job.uuid(),
            key,
            object,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }
}
