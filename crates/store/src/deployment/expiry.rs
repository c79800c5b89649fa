//! Retention of logs and artifacts of deployments. The deployments themselves are never deleted.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{DeploymentId, OrganizationId, StepRunId};

use crate::object::log_folder;
use crate::transaction::OrgTransaction;
use crate::{Store, StoreError};

#[boxed_futures]
impl Store {
    /// Removes the logs and artifacts of a deployment that ended more than `retention_days` ago. Returns
    /// false if this was already done, or the deployment continues. Objects are discarded in the same
    /// transaction, and removed from the object store afterwards.
    pub async fn expire_deployment(
        &self,
        organization: OrganizationId,
        id: DeploymentId,
        retention_days: i32,
    ) -> Result<bool, StoreError> {
        let mut transaction = self.system_transaction(organization).await?;
        // A retry of a stage locks this row too, so the deployment either expires or continues.
        let due = sqlx::query!(
            "update deployments set expired_at = clock_timestamp()
             where organization_id = $1 and id = $2 and expired_at is null
               and ended_at < clock_timestamp() - make_interval(days => $3)",
            organization.uuid(),
            id.uuid(),
            retention_days,
        )
        .execute(transaction.connection())
        .await?;
        if due.rows_affected() == 0 {
            return Ok(false);
        }
        let steps = transaction.delete_logs(id).await?;
        let mut objects: Vec<String> = steps.into_iter().map(|step| log_folder(organization, step)).collect();
        objects.extend(transaction.delete_artifacts(id).await?);
        transaction.delete_evidence(id).await?;
        transaction.delete_prompts(id).await?;
        transaction.discard_objects(&objects).await?;
        transaction.commit().await?;
        Ok(true)
    }
}

impl OrgTransaction {
    /// Deletes the logs of a deployment. Returns the steps that had a log.
    async fn delete_logs(&mut self, id: DeploymentId) -> Result<Vec<StepRunId>, StoreError> {
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

    /// Deletes the evidence of a deployment's failures, which contains text of the logs.
    async fn delete_evidence(&mut self, id: DeploymentId) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "delete from evidence e using failures f
             where e.organization_id = $1 and f.organization_id = $1 and f.id = e.failure_id and f.deployment_id = $2",
            organization,
            id.uuid(),
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// Deletes the prompts about a deployment's failures, which contain text of the logs.
    async fn delete_prompts(&mut self, id: DeploymentId) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "update model_calls c set prompt = null from failures f
             where c.organization_id = $1 and f.organization_id = $1 and f.id = c.failure_id and f.deployment_id = $2
               and c.prompt is not null",
            organization,
            id.uuid(),
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// Deletes the artifacts of a deployment. Returns their objects.
    async fn delete_artifacts(&mut self, id: DeploymentId) -> Result<Vec<String>, StoreError> {
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
