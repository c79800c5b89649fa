//! The end of what a deployment has left: its logs and artifacts. The deployment itself is kept for ever.

use greenroom_domain::id::{DeploymentId, OrganizationId, StepRunId};

use crate::change::Change;
use crate::object::log_folder;
use crate::{Store, StoreError};

impl Store {
    /// Removes the logs and artifacts of a deployment that ended so long ago, unless that was done, or it goes on again.
    /// What is in the object store is discarded in the same transaction, and removed from there afterwards.
    pub async fn expire_deployment(
        &self,
        organization: OrganizationId,
        id: DeploymentId,
        retention_days: i32,
    ) -> Result<bool, StoreError> {
        let mut change = self.change_by_clock(organization).await?;
        // Who retries a stage holds this row as well: it is either expired, or it goes on.
        let due = sqlx::query!(
            "update deployments set expired_at = clock_timestamp()
             where organization_id = $1 and id = $2 and expired_at is null
               and ended_at < clock_timestamp() - make_interval(days => $3)",
            organization.uuid(),
            id.uuid(),
            retention_days,
        )
        .execute(change.connection())
        .await?;
        if due.rows_affected() == 0 {
            return Ok(false);
        }
        let steps = change.drop_logs(id).await?;
        let mut objects: Vec<String> = steps.into_iter().map(|step| log_folder(organization, step)).collect();
        objects.extend(change.drop_artifacts(id).await?);
        change.discard_objects(&objects).await?;
        change.commit().await?;
        Ok(true)
    }
}

impl Change {
    /// The steps that had one.
    async fn drop_logs(&mut self, id: DeploymentId) -> Result<Vec<StepRunId>, StoreError> {
        let organization = self.organization();
        let steps = sqlx::query_scalar!(
            "select r.id from jobs j join step_runs r on r.organization_id = $1 and r.job_id = j.id
             where j.organization_id = $1 and j.deployment_id = $2 and r.log_bytes > 0",
            organization,
            id.uuid(),
        )
        .fetch_all(self.connection())
        .await?;
        sqlx::query!(
            "delete from log_segments where organization_id = $1 and step_run_id = any($2)",
            organization,
            &steps,
        )
        .execute(self.connection())
        .await?;
        Ok(steps.into_iter().map(StepRunId::from).collect())
    }

    /// Their objects.
    async fn drop_artifacts(&mut self, id: DeploymentId) -> Result<Vec<String>, StoreError> {
        let organization = self.organization();
        Ok(sqlx::query_scalar!(
            "delete from artifacts where organization_id = $1 and deployment_id = $2 returning object",
            organization,
            id.uuid(),
        )
        .fetch_all(self.connection())
        .await?)
    }
}
