//! Holds of lasting environments: only deployments of the holder begin there.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::event::{EventType, NewEvent};
use greenroom_domain::id::{PipelineId, UserId};
use greenroom_domain::policy::{Action, is_allowed};
use greenroom_domain::role::Role;
use jiff::Timestamp;
use serde_json::json;

use super::gate::time;
use crate::{Command, StoreError};

/// What became of a request to hold an environment, or to end its hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HoldOutcome {
    Done,
    /// There is no such environment.
    Missing,
    /// Another user holds it, and the caller may not take it over.
    HeldByOther {
        by: UserId,
        name: String,
        reason: String,
        until: Timestamp,
    },
}

struct Row {
    held_by: Option<uuid::Uuid>,
    held_by_name: Option<String>,
    held_reason: Option<String>,
    held_until: Option<jiff_sqlx::Timestamp>,
}

struct HeldRow {
    pipeline_id: uuid::Uuid,
    name: String,
    held_by: Option<uuid::Uuid>,
    held_by_name: Option<String>,
    held_reason: Option<String>,
    held_until: Option<jiff_sqlx::Timestamp>,
}

/// Returns the roles that may hold a lasting environment.
fn holder_roles() -> Vec<String> {
    let may_hold = |role: &&Role| is_allowed(**role, Action::EnvironmentHold);
    Role::ALL.iter().filter(may_hold).map(|role| role.as_str().to_owned()).collect()
}

#[boxed_futures]
impl Command {
    /// Holds an environment until a time. Replaces the caller's earlier hold, and for an admin that of another user.
    pub async fn hold_environment(
        &mut self,
        pipeline: PipelineId,
        name: &str,
        (reason, until): (&str, Timestamp),
    ) -> Result<HoldOutcome, StoreError> {
        let Some(before) = self.lock_hold(pipeline, name).await? else { return Ok(HoldOutcome::Missing) };
        if let Some(other) = self.hold_of_other(&before).await? {
            return Ok(other);
        }
        let organization = self.organization();
        let user = self.principal().user_id.uuid();
        let user_name = self.actor().name().unwrap_or_default().to_owned();
        sqlx::query!(
            "update lasting_environments
             set held_by = $4, held_by_name = $5, held_reason = $6, held_until = $7, held_since = clock_timestamp()
             where organization_id = $1 and pipeline_id = $2 and name = $3",
            organization,
            pipeline.uuid(),
            name,
            user,
            user_name,
            reason,
            time(until) as jiff_sqlx::Timestamp,
        )
        .execute(self.connection())
        .await?;
        self.record_hold(pipeline, name, EventType::EnvironmentHeld, &before, Some((reason, until))).await?;
        self.wake_deployments_in(pipeline, name).await?;
        Ok(HoldOutcome::Done)
    }

    /// Ends the hold of an environment, if there is one.
    pub async fn end_hold(&mut self, pipeline: PipelineId, name: &str) -> Result<HoldOutcome, StoreError> {
        let Some(before) = self.lock_hold(pipeline, name).await? else { return Ok(HoldOutcome::Missing) };
        if let Some(other) = self.hold_of_other(&before).await? {
            return Ok(other);
        }
        if before.held_by.is_some() {
            self.delete_hold(pipeline, name, &before).await?;
        }
        Ok(HoldOutcome::Done)
    }

    /// Ends the holds of a member whose role is not enough any more, except where a grant is.
    pub async fn end_holds_of(&mut self, user: UserId) -> Result<(), StoreError> {
        let organization = self.organization();
        let held = sqlx::query_as!(
            HeldRow,
            "select e.pipeline_id, e.name, e.held_by, e.held_by_name, e.held_reason, e.held_until
             from lasting_environments e
             where e.organization_id = $1 and e.held_by = $2
               and not exists (select 1 from user_grants g
                   where g.organization_id = $1 and g.pipeline_id = e.pipeline_id and g.user_id = $2
                     and g.role = any($3))
             order by e.pipeline_id, e.name for update of e",
            organization,
            user.uuid(),
            &holder_roles(),
        )
        .fetch_all(self.connection())
        .await?;
        self.delete_holds(held).await
    }

    /// Ends the holds in these pipelines whose users may not hold environments there, neither by their role nor by
    /// a grant.
    pub async fn end_holds_without_right(&mut self, pipelines: &[PipelineId]) -> Result<(), StoreError> {
        let organization = self.organization();
        let pipelines: Vec<uuid::Uuid> = pipelines.iter().map(|pipeline| pipeline.uuid()).collect();
        let held = sqlx::query_as!(
            HeldRow,
            "select e.pipeline_id, e.name, e.held_by, e.held_by_name, e.held_reason, e.held_until
             from lasting_environments e
             where e.organization_id = $1 and e.pipeline_id = any($2) and e.held_by is not null
               and not exists (select 1 from user_grants g
                   where g.organization_id = $1 and g.pipeline_id = e.pipeline_id and g.user_id = e.held_by
                     and g.role = any($3))
               and not exists (select 1 from memberships m
                   where m.organization_id = $1 and m.user_id = e.held_by and m.removed_at is null
                     and m.role = any($3))
             order by e.pipeline_id, e.name for update of e",
            organization,
            &pipelines,
            &holder_roles(),
        )
        .fetch_all(self.connection())
        .await?;
        self.delete_holds(held).await
    }

    async fn delete_holds(&mut self, held: Vec<HeldRow>) -> Result<(), StoreError> {
        for row in held {
            let before = Row {
                held_by: row.held_by,
                held_by_name: row.held_by_name,
                held_reason: row.held_reason,
                held_until: row.held_until,
            };
            self.delete_hold(row.pipeline_id.into(), &row.name, &before).await?;
        }
        Ok(())
    }

    async fn delete_hold(
        &mut self,
        pipeline: PipelineId,
        name: &str,
        before: &Row,
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "update lasting_environments
             set held_by = null, held_by_name = null, held_reason = null, held_until = null, held_since = null
             where organization_id = $1 and pipeline_id = $2 and name = $3",
            organization,
            pipeline.uuid(),
            name,
        )
        .execute(self.connection())
        .await?;
        self.record_hold(pipeline, name, EventType::EnvironmentHoldEnded, before, None).await?;
        self.wake_deployments_in(pipeline, name).await
    }

    async fn lock_hold(&mut self, pipeline: PipelineId, name: &str) -> Result<Option<Row>, StoreError> {
        let organization = self.organization();
        Ok(sqlx::query_as!(
            Row,
            "select held_by, held_by_name, held_reason, held_until from lasting_environments
             where organization_id = $1 and pipeline_id = $2 and name = $3 for update",
            organization,
            pipeline.uuid(),
            name,
        )
        .fetch_optional(self.connection())
        .await?)
    }

    /// Returns the hold of another user that the caller may not take over.
    async fn hold_of_other(&mut self, row: &Row) -> Result<Option<HoldOutcome>, StoreError> {
        let (Some(by), Some(until)) = (row.held_by, row.held_until) else { return Ok(None) };
        let now = self.now().await?;
        let principal = self.principal();
        if UserId::from(by) == principal.user_id
            || until.to_jiff() <= now
            || is_allowed(principal.role, Action::EnvironmentHoldTakeOver)
        {
            return Ok(None);
        }
        Ok(Some(HoldOutcome::HeldByOther {
            by: by.into(),
            name: row.held_by_name.clone().unwrap_or_default(),
            reason: row.held_reason.clone().unwrap_or_default(),
            until: until.to_jiff(),
        }))
    }

    async fn record_hold(
        &mut self,
        pipeline: PipelineId,
        name: &str,
        event_type: EventType,
        before: &Row,
        after: Option<(&str, Timestamp)>,
    ) -> Result<(), StoreError> {
        let before = before.held_by.map(|by| {
            json!({
                "heldBy": { "id": UserId::from(by), "name": before.held_by_name },
                "reason": before.held_reason,
                "until": before.held_until.map(jiff_sqlx::Timestamp::to_jiff),
            })
        });
        let mut record = json!({ "pipelineId": pipeline, "environment": name });
        if let Some((reason, until)) = after {
            record["reason"] = json!(reason);
            record["until"] = json!(until);
        }
        let event = NewEvent {
            event_type,
            subject: format!("pipelines/{pipeline}/environments/{name}"),
            before,
            after: Some(record),
            reason: after.map(|(reason, _)| reason.to_owned()),
        };
        self.record_event(event).await
    }

    /// Wakes up the deployments with a stage that waits for the environment or for a runner there.
    async fn wake_deployments_in(&mut self, pipeline: PipelineId, name: &str) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "insert into wakes (organization_id, deployment_id)
             select distinct d.organization_id, d.id from stages s
             join deployments d on d.organization_id = $1 and d.id = s.deployment_id
             where s.organization_id = $1 and s.environment = $3 and s.status in ('waiting', 'queued')
               and d.pipeline_id = $2 and d.ended_at is null",
            organization,
            pipeline.uuid(),
            name,
        )
        .execute(self.connection())
        .await?;
        self.mark_wake_up();
        Ok(())
    }
}
