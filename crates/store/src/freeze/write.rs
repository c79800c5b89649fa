//! Creates, changes and ends freezes. Each change wakes up the deployments that wait before a lasting environment:
//! the freeze may have been the reason, or be the reason from now on.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::freeze::{Reach, Schedule};
use greenroom_domain::id::{FreezeId, PipelineId};
use serde_json::json;

use super::{FreezeRecord, Row};
use crate::deployment::final_statuses::query_with_final_statuses;
use crate::{Command, StoreError};

/// What can be changed of a freeze.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FreezeContent {
    pub name: String,
    pub reason: String,
    pub reach: Reach,
    pub schedule: Schedule,
}

#[boxed_futures]
impl Command {
    pub async fn create_freeze(
        &mut self,
        id: FreezeId,
        content: &FreezeContent,
    ) -> Result<FreezeRecord, StoreError> {
        self.lock_freezes().await?;
        let organization = self.organization();
        let user = self.principal().user_id.uuid();
        let columns = Columns::new(content);
        let row = sqlx::query_as!(
            Row,
            "insert into freezes
                 (organization_id, id, name, reason, pipelines, environments, from_at, to_at, weekly, zone, created_by)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
             returning id, name, reason, pipelines, environments, from_at, to_at, weekly, zone, revision, created_at,
                       created_by, updated_at, ended_at",
            organization,
            id.uuid(),
            content.name,
            content.reason,
            &columns.pipelines,
            content.reach.environments(),
            columns.from as Option<jiff_sqlx::Timestamp>,
            columns.to as Option<jiff_sqlx::Timestamp>,
            columns.weekly,
            columns.zone,
            user,
        )
        .fetch_one(self.connection())
        .await?;
        self.wake_deployments_before_environments().await?;
        row.try_into()
    }

    pub async fn update_freeze(
        &mut self,
        id: FreezeId,
        content: &FreezeContent,
    ) -> Result<FreezeRecord, StoreError> {
        self.lock_freezes().await?;
        let organization = self.organization();
        let columns = Columns::new(content);
        let row = sqlx::query_as!(
            Row,
            "update freezes
             set name = $3, reason = $4, pipelines = $5, environments = $6, from_at = $7, to_at = $8, weekly = $9,
                 zone = $10, revision = revision + 1, updated_at = clock_timestamp()
             where organization_id = $1 and id = $2
             returning id, name, reason, pipelines, environments, from_at, to_at, weekly, zone, revision, created_at,
                       created_by, updated_at, ended_at",
            organization,
            id.uuid(),
            content.name,
            content.reason,
            &columns.pipelines,
            content.reach.environments(),
            columns.from as Option<jiff_sqlx::Timestamp>,
            columns.to as Option<jiff_sqlx::Timestamp>,
            columns.weekly,
            columns.zone,
        )
        .fetch_one(self.connection())
        .await?;
        self.wake_deployments_before_environments().await?;
        row.try_into()
    }

    /// Ends a freeze: it holds no more. Its record stays.
    pub async fn end_freeze(&mut self, id: FreezeId) -> Result<FreezeRecord, StoreError> {
        self.lock_freezes().await?;
        let organization = self.organization();
        let row = sqlx::query_as!(
            Row,
            "update freezes
             set ended_at = clock_timestamp(), revision = revision + 1, updated_at = clock_timestamp()
             where organization_id = $1 and id = $2
             returning id, name, reason, pipelines, environments, from_at, to_at, weekly, zone, revision, created_at,
                       created_by, updated_at, ended_at",
            organization,
            id.uuid(),
        )
        .fetch_one(self.connection())
        .await?;
        self.wake_deployments_before_environments().await?;
        row.try_into()
    }

    /// Waits for all transactions that have decided by the freezes as they are now (`active.rs`). So when a
    /// change is committed, no stage begins any more that it forbids.
    async fn lock_freezes(&mut self) -> Result<(), StoreError> {
        let key = self.organization().to_string();
        sqlx::query!("select pg_advisory_xact_lock(hashtextextended('freezes ' || $1::text, 0))", key)
            .execute(self.connection())
            .await?;
        Ok(())
    }

    /// Wakes up all deployments with a stage that waits to begin in a lasting environment.
    async fn wake_deployments_before_environments(&mut self) -> Result<(), StoreError> {
        let organization = self.organization();
        query_with_final_statuses!(
            sqlx::query,
            [
                "insert into wakes (organization_id, deployment_id)
             select d.organization_id, d.id from deployments d
             where d.organization_id = $1 and d.status not in ",
                "
               and exists (select 1 from stages s
                   where s.organization_id = $1 and s.deployment_id = d.id and s.status = 'waiting'
                     and s.environment is not null)"
            ],
            organization,
        )
        .execute(self.connection())
        .await?;
        self.mark_wake_up();
        Ok(())
    }
}

/// The columns that are derived from the reach and the schedule.
struct Columns {
    pipelines: Vec<uuid::Uuid>,
    from: Option<jiff_sqlx::Timestamp>,
    to: Option<jiff_sqlx::Timestamp>,
    weekly: serde_json::Value,
    zone: Option<String>,
}

impl Columns {
    fn new(content: &FreezeContent) -> Self {
        let schedule = content.schedule.to_input();
        Self {
            pipelines: content.reach.pipelines().iter().copied().map(PipelineId::uuid).collect(),
            from: schedule.from.map(jiff_sqlx::Timestamp::from),
            to: schedule.to.map(jiff_sqlx::Timestamp::from),
            weekly: json!(schedule.weekly),
            zone: schedule.zone,
        }
    }
}
