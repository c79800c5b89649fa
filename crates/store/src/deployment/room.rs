//! A pipeline's `concurrency`: which deployments may start, and which are woken up when there is room, that
//! is, when fewer of its kind (of sessions, or of the whole pipeline) are at work than the limit allows. The limit is
//! that of the pipeline's current definition.
//! The domain decides both, from counts that are read under one advisory lock per pipeline, which a
//! transaction takes after all of its row locks. So a deployment that starts and one that ends never count
//! deployments concurrently.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::deployment::{ConcurrencyLimit, LIMITED_PURPOSES, Purpose, is_limited};
use greenroom_domain::id::PipelineId;

use crate::StoreError;
use crate::deployment::advance::LockedDeployment;
use crate::deployment::final_statuses::query_with_final_statuses;
use crate::transaction::OrgTransaction;

#[boxed_futures]
impl OrgTransaction {
    /// Returns whether the limit admits this deployment now: fewer than the limit are at work or are older and wait for
    /// room.
    pub(crate) async fn has_room(&mut self, deployment: &LockedDeployment) -> Result<bool, StoreError> {
        if !is_limited(deployment.state.status, deployment.purpose) {
            return Ok(true);
        }
        let current = self.definition_of(deployment.pipeline_id, deployment.current_version).await?;
        if current.concurrency.is_none() {
            return Ok(true);
        }
        self.lock_concurrency(deployment.pipeline_id).await?;
        let (limit, at_work) = self.concurrency(deployment.pipeline_id, deployment.purpose).await?;
        let organization = self.organization();
        let older = sqlx::query_scalar!(
            r#"select count(*) as "count!" from deployments d
               left join environments e on e.organization_id = $1 and e.id = d.environment_id
               where d.organization_id = $1 and d.pipeline_id = $2 and d.purpose = $4 and d.cancel_reason is null
                 and d.id < $3
                 and (d.status = 'queued' and (d.environment_id is null or e.slot_deployment_id = d.id)
                      or d.status = 'waiting' and exists (select 1 from stages s
                          where s.organization_id = $1 and s.deployment_id = d.id and s.status = 'waiting'
                            and s.blocker ->> 'kind' = 'concurrency'))"#,
            organization,
            deployment.pipeline_id.uuid(),
            deployment.id.uuid(),
            deployment.purpose.as_str(),
        )
        .fetch_one(self.connection())
        .await?;
        Ok(limit.admits(at_work + older))
    }

    /// Marks that a deployment makes room because it has ended or only waits, if its pipeline has a limit.
    pub(crate) async fn mark_room_of(&mut self, deployment: &LockedDeployment) -> Result<(), StoreError> {
        let current = self.definition_of(deployment.pipeline_id, deployment.current_version).await?;
        if current.concurrency.is_some() {
            self.mark_room(deployment.pipeline_id);
        }
        Ok(())
    }

    /// Marks that a deployment no longer counts, or that one no longer waits for room. Which deployment is next is
    /// decided at the commit, after all row locks are taken.
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
        for purpose in LIMITED_PURPOSES {
            if self.room(pipeline, purpose).await?.is_none() {
                self.wake_oldest(pipeline, purpose, i64::MAX).await?;
            }
        }
        Ok(())
    }

    /// Wakes up deployments that wait for room in the pipelines in which this transaction has made some. Runs last
    /// before the commit.
    pub(crate) async fn wake_deployments_with_room(&mut self) -> Result<(), StoreError> {
        // In the order of ids, so that two concurrent transactions that made room in the same pipelines don't
        // deadlock.
        for pipeline in std::mem::take(&mut self.pipelines_with_room) {
            // In a pipeline without a limit no deployment waits for room.
            if self.room(pipeline, Purpose::Pipeline).await?.is_none() {
                continue;
            }
            self.lock_concurrency(pipeline).await?;
            for purpose in LIMITED_PURPOSES {
                if let Some(room) = self.room(pipeline, purpose).await?.filter(|room| *room > 0) {
                    self.wake_oldest(pipeline, purpose, room).await?;
                }
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

    /// Returns how many more deployments with this purpose may start, or `None` if there is no limit.
    async fn room(&mut self, pipeline: PipelineId, purpose: Purpose) -> Result<Option<i64>, StoreError> {
        let (limit, at_work) = self.concurrency(pipeline, purpose).await?;
        Ok(limit.room(at_work))
    }

    /// Returns the limit, and how many deployments with this purpose are at work.
    async fn concurrency(
        &mut self,
        pipeline: PipelineId,
        purpose: Purpose,
    ) -> Result<(ConcurrencyLimit, i64), StoreError> {
        let organization = self.organization();
        let row = sqlx::query!(
            r#"select (v.definition ->> 'concurrency')::bigint as "limit", (select count(*) from deployments d
                   where d.organization_id = $1 and d.pipeline_id = $2 and d.purpose = $3
                     and d.status in ('running', 'paused', 'canceling')) as "at_work!"
               from pipelines p
               join pipeline_versions v on v.organization_id = $1 and v.pipeline_id = p.id
                and v.version = p.definition_version
               where p.organization_id = $1 and p.id = $2"#,
            organization,
            pipeline.uuid(),
            purpose.as_str(),
        )
        .fetch_optional(self.connection())
        .await?;
        Ok(row.map_or((ConcurrencyLimit(None), 0), |row| (ConcurrencyLimit(row.limit), row.at_work)))
    }

    /// Wakes up the oldest of the deployments that wait for room.
    async fn wake_oldest(
        &mut self,
        pipeline: PipelineId,
        purpose: Purpose,
        limit: i64,
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "insert into wakes (organization_id, deployment_id)
             select d.organization_id, d.id from deployments d
             left join environments e on e.organization_id = $1 and e.id = d.environment_id
             where d.organization_id = $1 and d.pipeline_id = $2 and d.purpose = $4 and d.cancel_reason is null
               and (d.status = 'queued' and (d.environment_id is null or e.slot_deployment_id = d.id)
                    or d.status = 'waiting' and exists (select 1 from stages s
                        where s.organization_id = $1 and s.deployment_id = d.id and s.status = 'waiting'
                          and s.blocker ->> 'kind' = 'concurrency'))
             order by d.id limit $3",
            organization,
            pipeline.uuid(),
            limit,
            purpose.as_str(),
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }
}
