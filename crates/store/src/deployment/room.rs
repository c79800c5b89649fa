//! A pipeline's `concurrency`: which deployments may start, and which are woken up when there is room, that
//! is, when fewer have started than the limit allows. The limit is that of the pipeline's current definition.
//! The domain decides both, from counts that are read under one advisory lock per pipeline, which a
//! transaction takes after all of its row locks. So a deployment that starts and one that ends never count
//! deployments concurrently.

use greenroom_domain::deployment::{ConcurrencyLimit, is_limited};
use greenroom_domain::id::PipelineId;

use crate::StoreError;
use crate::deployment::advance::LockedDeployment;
use crate::deployment::final_statuses::query_with_final_statuses;
use crate::transaction::OrgTransaction;

impl OrgTransaction {
    /// Returns whether the limit admits this deployment now: fewer than the limit have started or are older
    /// and wait to start.
    pub(crate) async fn has_room(&mut self, deployment: &LockedDeployment) -> Result<bool, StoreError> {
        if !is_limited(deployment.state.status, deployment.purpose) {
            return Ok(true);
        }
        let current = self.definition_of(deployment.pipeline_id, deployment.current_version).await?;
        if current.concurrency.is_none() {
            return Ok(true);
        }
        self.lock_concurrency(deployment.pipeline_id).await?;
        let (limit, started) = self.concurrency(deployment.pipeline_id).await?;
        let organization = self.organization();
        let older = sqlx::query_scalar!(
            r#"select count(*) as "count!" from deployments d
               left join environments e on e.organization_id = $1 and e.id = d.environment_id
               where d.organization_id = $1 and d.pipeline_id = $2 and d.status = 'queued' and d.purpose <> 'teardown'
                 and d.cancel_reason is null and (d.environment_id is null or e.slot_deployment_id = d.id)
                 and d.id < $3"#,
            organization,
            deployment.pipeline_id.uuid(),
            deployment.id.uuid(),
        )
        .fetch_one(self.connection())
        .await?;
        Ok(limit.admits(started + older))
    }

    /// Marks that the end of a deployment makes room, if its pipeline has a limit.
    pub(crate) async fn mark_room_of_ended(
        &mut self,
        deployment: &LockedDeployment,
    ) -> Result<(), StoreError> {
        let current = self.definition_of(deployment.pipeline_id, deployment.current_version).await?;
        if current.concurrency.is_some() {
            self.mark_room(deployment.pipeline_id);
        }
        Ok(())
    }

    /// Marks that a deployment has ended, or that a queued one no longer waits for room. Which deployment is
    /// next is decided at the commit, after all row locks are taken.
    pub(crate) fn mark_room(&mut self, pipeline: PipelineId) {
        self.pipelines_with_room.insert(pipeline);
        self.mark_wake_up();
    }

    /// Wakes up the deployments that the pipeline's stop or limit may have blocked: all that have started,
    /// all teardowns, and as many queued ones as there is room for.
    pub async fn wake_deployments_of_pipeline(&mut self, pipeline: PipelineId) -> Result<(), StoreError> {
        let organization = self.organization();
        query_with_final_statuses!(
            sqlx::query,
            [
                "insert into wakes (organization_id, deployment_id)
             select d.organization_id, d.id from deployments d
             left join environments e on e.organization_id = $1 and e.id = d.environment_id
             where d.organization_id = $1 and d.pipeline_id = $2
               and d.status not in ",
                "
               and (d.environment_id is null or e.slot_deployment_id = d.id)
               and (d.status <> 'queued' or d.purpose = 'teardown')"
            ],
            organization,
            pipeline.uuid(),
        )
        .execute(self.connection())
        .await?;
        self.wake_queued_of_pipeline(pipeline).await
    }

    /// Wakes up as many queued deployments as the pipeline's current definition has room for, or all if it
    /// has no limit.
    pub async fn wake_queued_of_pipeline(&mut self, pipeline: PipelineId) -> Result<(), StoreError> {
        self.mark_room(pipeline);
        if self.room(pipeline).await?.is_none() {
            self.wake_oldest_queued(pipeline, i64::MAX).await?;
        }
        Ok(())
    }

    /// Wakes up queued deployments of the pipelines in which this transaction has made room. Runs last before
    /// the commit.
    pub(crate) async fn wake_deployments_with_room(&mut self) -> Result<(), StoreError> {
        // In the order of ids, so that two concurrent transactions that made room in the same pipelines don't
        // deadlock.
        for pipeline in std::mem::take(&mut self.pipelines_with_room) {
            // In a pipeline without a limit no deployment waits for room.
            if self.room(pipeline).await?.is_none() {
                continue;
            }
            self.lock_concurrency(pipeline).await?;
            if let Some(room) = self.room(pipeline).await?.filter(|room| *room > 0) {
                self.wake_oldest_queued(pipeline, room).await?;
            }
        }
        Ok(())
    }

    /// Takes the pipeline's advisory lock until the end of the transaction. Counts after this include
    /// everything that the previous holder has committed.
    async fn lock_concurrency(&mut self, pipeline: PipelineId) -> Result<(), StoreError> {
        let key = pipeline.uuid().to_string();
        sqlx::query!("select pg_advisory_xact_lock(hashtextextended('concurrency ' || $1::text, 0))", key)
            .execute(self.connection())
            .await?;
        Ok(())
    }

    /// Returns how many more deployments may start, or `None` if there is no limit.
    async fn room(&mut self, pipeline: PipelineId) -> Result<Option<i64>, StoreError> {
        let (limit, started) = self.concurrency(pipeline).await?;
        Ok(limit.room(started))
    }

    /// Returns the limit, and how many deployments have started and not ended.
    async fn concurrency(&mut self, pipeline: PipelineId) -> Result<(ConcurrencyLimit, i64), StoreError> {
        let organization = self.organization();
        let row = sqlx::query!(
            r#"select (v.definition ->> 'concurrency')::bigint as "limit", (select count(*) from deployments d
                   where d.organization_id = $1 and d.pipeline_id = $2 and d.purpose <> 'teardown'
                     and d.status in ('running', 'waiting', 'paused', 'canceling')) as "started!"
               from pipelines p
               join pipeline_versions v on v.organization_id = $1 and v.pipeline_id = p.id
                and v.version = p.definition_version
               where p.organization_id = $1 and p.id = $2"#,
            organization,
            pipeline.uuid(),
        )
        .fetch_optional(self.connection())
        .await?;
        Ok(row.map_or((ConcurrencyLimit(None), 0), |row| (ConcurrencyLimit(row.limit), row.started)))
    }

    async fn wake_oldest_queued(&mut self, pipeline: PipelineId, limit: i64) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "insert into wakes (organization_id, deployment_id)
             select d.organization_id, d.id from deployments d
             left join environments e on e.organization_id = $1 and e.id = d.environment_id
             where d.organization_id = $1 and d.pipeline_id = $2 and d.status = 'queued' and d.purpose <> 'teardown'
               and d.cancel_reason is null and (d.environment_id is null or e.slot_deployment_id = d.id)
             order by d.id limit $3",
            organization,
            pipeline.uuid(),
            limit,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use greenroom_domain::deployment::DeploymentStatus;

    /// The deployments that count towards the limit are those that have started and not ended.
    #[test]
    fn the_statuses_that_count_are_those_of_the_domain() {
        let started = DeploymentStatus::ALL
            .iter()
            .filter(|status| !status.is_final() && **status != DeploymentStatus::Queued)
            .map(|status| format!("'{status}'"));
        let list = format!("status in ({})", started.collect::<Vec<_>>().join(", "));
        let files =
            [include_str!("room.rs"), include_str!("record.rs"), include_str!("../system/watchdog.rs")];
        assert!(files.iter().all(|text| text.contains(&list)), "{list}");
    }
}
