//! A pipeline's `concurrency`: who may begin, and who is woken when there is room. The limit is the one of the pipeline's
//! current definition. Both are decided under one advisory lock per pipeline, which a transaction takes after all of its
//! row locks: a deployment that begins and one that ends never count at the same time.

use greenroom_domain::deployment::DeploymentStatus;
use greenroom_domain::id::PipelineId;

use crate::StoreError;
use crate::change::Change;
use crate::deployment::advance::Held;
use crate::planted::{self, Bug};

impl Change {
    /// Whether this deployment is among the oldest that the limit admits.
    pub(crate) async fn has_room(&mut self, held: &Held) -> Result<bool, StoreError> {
        if held.state.status != DeploymentStatus::Queued {
            return Ok(true);
        }
        let current = self.definition_of(held.pipeline_id, held.current_version).await?;
        if current.concurrency.is_none() {
            return Ok(true);
        }
        self.lock_concurrency(held.pipeline_id).await?;
        let Some(room) = self.room(held.pipeline_id).await? else { return Ok(true) };
        let organization = self.organization();
        let older = sqlx::query_scalar!(
            r#"select count(*) as "count!" from deployments d
               left join environments e on e.organization_id = $1 and e.id = d.environment_id
               where d.organization_id = $1 and d.pipeline_id = $2 and d.status = 'queued' and d.purpose <> 'teardown'
                 and d.cancel_reason is null and (d.environment_id is null or e.slot_deployment_id = d.id)
                 and d.id < $3"#,
            organization,
            held.pipeline_id.uuid(),
            held.id.uuid(),
        )
        .fetch_one(self.connection())
        .await?;
        Ok(older < room)
    }

    /// The end of a deployment makes room, if its pipeline has a limit.
    pub(crate) async fn note_room_of_ended(&mut self, held: &Held) -> Result<(), StoreError> {
        let current = self.definition_of(held.pipeline_id, held.current_version).await?;
        if current.concurrency.is_some() {
            self.note_room(held.pipeline_id);
        }
        Ok(())
    }

    /// A deployment has ended, or one that was next is so no longer. Whoever has its place is decided when this change is
    /// committed, after all row locks are taken.
    pub(crate) fn note_room(&mut self, pipeline: PipelineId) {
        self.made_room.insert(pipeline);
        self.note_wake();
    }

    /// Wakes what the pipeline's stop or limit may have held back: everything that has begun, every clean-up, and as many of
    /// those that wait as there is room for.
    pub async fn wake_deployments_of_pipeline(&mut self, pipeline: PipelineId) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "insert into wakes (organization_id, deployment_id)
             select d.organization_id, d.id from deployments d
             left join environments e on e.organization_id = $1 and e.id = d.environment_id
             where d.organization_id = $1 and d.pipeline_id = $2
               and d.status not in ('succeeded', 'failed', 'errored', 'canceled', 'superseded')
               and (d.environment_id is null or e.slot_deployment_id = d.id)
               and (d.status <> 'queued' or d.purpose = 'teardown')",
            organization,
            pipeline.uuid(),
        )
        .execute(self.connection())
        .await?;
        self.wake_waiting_of_pipeline(pipeline).await
    }

    /// Wakes as many of those that wait as the pipeline's current definition leaves room for; all, if it has no limit.
    pub async fn wake_waiting_of_pipeline(&mut self, pipeline: PipelineId) -> Result<(), StoreError> {
        self.note_room(pipeline);
        if self.room(pipeline).await?.is_none() {
            self.wake_oldest_waiting(pipeline, i64::MAX).await?;
        }
        Ok(())
    }

    /// The last thing before a commit.
    pub(crate) async fn hand_out_room(&mut self) -> Result<(), StoreError> {
        // In the order of ids, so that two transactions that made room in the same pipelines do not wait for each other.
        for pipeline in std::mem::take(&mut self.made_room) {
            if planted::is(Bug::RoomNotHandedOut) {
                continue;
            }
            // In a pipeline without a limit no deployment waits for room.
            if self.room(pipeline).await?.is_none() {
                continue;
            }
            self.lock_concurrency(pipeline).await?;
            if let Some(room) = self.room(pipeline).await?.filter(|room| *room > 0) {
                self.wake_oldest_waiting(pipeline, room).await?;
            }
        }
        Ok(())
    }

    /// Held until the transaction ends. What is counted afterwards is what the previous holder has committed.
    async fn lock_concurrency(&mut self, pipeline: PipelineId) -> Result<(), StoreError> {
        let key = pipeline.uuid().to_string();
        sqlx::query!("select pg_advisory_xact_lock(hashtextextended('concurrency ' || $1::text, 0))", key)
            .execute(self.connection())
            .await?;
        Ok(())
    }

    /// How many more may run; `None` if there is no limit.
    async fn room(&mut self, pipeline: PipelineId) -> Result<Option<i64>, StoreError> {
        let organization = self.organization();
        let room = sqlx::query_scalar!(
            r#"select (v.definition ->> 'concurrency')::bigint - (select count(*) from deployments d
                   where d.organization_id = $1 and d.pipeline_id = $2 and d.purpose <> 'teardown'
                     and d.status in ('running', 'waiting', 'paused', 'canceling')) as room
               from pipelines p
               join pipeline_versions v on v.organization_id = $1 and v.pipeline_id = p.id
                and v.version = p.definition_version
               where p.organization_id = $1 and p.id = $2"#,
            organization,
            pipeline.uuid(),
        )
        .fetch_optional(self.connection())
        .await?;
        Ok(room.flatten())
    }

    async fn wake_oldest_waiting(&mut self, pipeline: PipelineId, at_most: i64) -> Result<(), StoreError> {
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
            at_most,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }
}
