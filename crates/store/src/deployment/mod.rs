//! Deployments. One into an environment is accepted as `queued` and holds its place for the environment's work slot.

mod advance;
mod ask;
mod expiry;
mod record;
mod slot;
mod stage_record;
mod stages;

use std::collections::HashMap;

use greenroom_domain::deployment::{WaitingOn, waiting_on};
use greenroom_domain::event::{EventType, NewEvent};
use greenroom_domain::id::{DeploymentId, EnvironmentId, OrganizationId, SessionId, UserId};
use greenroom_domain::session::SessionEnd;
use jiff::Timestamp;
use serde_json::json;

use crate::change::{Actor, Change};
use crate::error::word;
use crate::lock::LockedEnvironment;
use crate::planted::{self, Bug};
use crate::{Store, StoreError};

pub use self::ask::{Asked, CANCEL_GRACE_SECONDS};
pub use self::record::{DeploymentFilter, DeploymentRecord, JobRecord, StepRecord};
pub use self::stage_record::StageRecord;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deployment {
    pub id: DeploymentId,
    pub commit_id: String,
    pub status: String,
    pub reason: Option<String>,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    /// What keeps it from starting, while it is queued.
    pub waiting_on: Vec<WaitingOn>,
}

struct Row {
    id: uuid::Uuid,
    commit_id: String,
    status: String,
    reason: Option<String>,
    created_at: jiff_sqlx::Timestamp,
    started_at: Option<jiff_sqlx::Timestamp>,
    ended_at: Option<jiff_sqlx::Timestamp>,
    session_id: Option<uuid::Uuid>,
    environment_id: Option<uuid::Uuid>,
    slot_deployment_id: Option<uuid::Uuid>,
    pipeline_status: String,
}

impl TryFrom<Row> for Deployment {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let (id, slot) = (row.id.into(), row.slot_deployment_id.map(DeploymentId::from));
        let pipeline = word("pipelines.status", &row.pipeline_status)?;
        Ok(Self {
            id,
            waiting_on: if row.status == "queued" { waiting_on(id, slot, pipeline) } else { Vec::new() },
            commit_id: row.commit_id,
            status: row.status,
            reason: row.reason,
            created_at: row.created_at.to_jiff(),
            started_at: row.started_at.map(jiff_sqlx::Timestamp::to_jiff),
            ended_at: row.ended_at.map(jiff_sqlx::Timestamp::to_jiff),
        })
    }
}

/// The deployments `d` that `$from` gives, with what they may wait for.
macro_rules! deployment_query {
    ($from:literal, $($argument:expr),* $(,)?) => {
        sqlx::query_as!(
            Row,
            r#"select d.id, d.commit_id, d.status, d.reason, d.created_at, d.started_at, d.ended_at,
                      d.session_id as "session_id?", d.environment_id as "environment_id?",
                      e.slot_deployment_id as "slot_deployment_id?", p.status as pipeline_status
               from "# + $from + r#"
               join pipelines p on p.organization_id = $1 and p.id = d.pipeline_id
               left join environments e on e.organization_id = $1 and e.id = d.environment_id
               order by d.id desc"#,
            $($argument),*
        )
    };
}

impl Store {
    /// The newest deployment of each of these environments.
    pub async fn last_deployments(
        &self,
        organization: OrganizationId,
        environments: &[EnvironmentId],
    ) -> Result<HashMap<EnvironmentId, Deployment>, StoreError> {
        let ids: Vec<uuid::Uuid> = environments.iter().map(|id| id.uuid()).collect();
        let rows = deployment_query!(
            "unnest($2::uuid[]) as asked (id)
             cross join lateral (select * from deployments o
                 where o.organization_id = $1 and o.environment_id = asked.id order by o.id desc limit 1) d",
            organization.uuid(),
            &ids,
        )
        .fetch_all(&self.pool())
        .await?;
        let mut last = HashMap::new();
        for row in rows {
            if let Some(environment) = row.environment_id {
                last.insert(environment.into(), row.try_into()?);
            }
        }
        Ok(last)
    }

    /// Newest first.
    pub async fn deployments_of_session(
        &self,
        organization: OrganizationId,
        session: SessionId,
    ) -> Result<Vec<Deployment>, StoreError> {
        let of = self.deployments_of_sessions(organization, &[session]).await?;
        Ok(of.into_values().next().unwrap_or_default())
    }

    /// Those of each session, newest first, 100 at most.
    pub async fn deployments_of_sessions(
        &self,
        organization: OrganizationId,
        sessions: &[SessionId],
    ) -> Result<HashMap<SessionId, Vec<Deployment>>, StoreError> {
        if sessions.is_empty() {
            return Ok(HashMap::new());
        }
        let ids: Vec<uuid::Uuid> = sessions.iter().map(|id| id.uuid()).collect();
        let rows = deployment_query!(
            "unnest($2::uuid[]) as asked (id)
             cross join lateral (select * from deployments o
                 where o.organization_id = $1 and o.session_id = asked.id order by o.id desc limit 100) d",
            organization.uuid(),
            &ids,
        )
        .fetch_all(&self.pool())
        .await?;
        let mut of: HashMap<SessionId, Vec<Deployment>> = HashMap::new();
        for row in rows {
            if let Some(session) = row.session_id {
                of.entry(session.into()).or_default().push(row.try_into()?);
            }
        }
        Ok(of)
    }
}

impl Change {
    pub async fn deployments_of(&mut self, session: SessionId) -> Result<Vec<Deployment>, StoreError> {
        let organization = self.organization();
        let rows = deployment_query!(
            "(select * from deployments o where o.organization_id = $1 and o.session_id = $2
                  order by o.id desc limit 100) d",
            organization,
            session.uuid(),
        )
        .fetch_all(self.connection())
        .await?;
        rows.into_iter().map(Deployment::try_from).collect()
    }

    pub async fn deployment(&mut self, id: DeploymentId) -> Result<Option<Deployment>, StoreError> {
        let organization = self.organization();
        let row = deployment_query!(
            "(select * from deployments o where o.organization_id = $1 and o.id = $2) d",
            organization,
            id.uuid(),
        )
        .fetch_optional(self.connection())
        .await?;
        row.map(Deployment::try_from).transpose()
    }

    /// Accepts a deployment of the session that holds the locked environment. Without the slot it waits, and takes the
    /// place of an earlier one of its session that still waits.
    pub async fn create_deployment(
        &mut self,
        environment: &LockedEnvironment,
        id: DeploymentId,
        (session, created_by): (SessionId, UserId),
        commit_id: &str,
    ) -> Result<(), StoreError> {
        let actor = self.actor().clone();
        self.create_deployment_as(&actor, environment, id, (session, created_by), commit_id).await
    }

    /// One that is accepted because a turn has come is the clock's doing, whoever came across it.
    pub(crate) async fn create_deployment_as(
        &mut self,
        actor: &Actor,
        environment: &LockedEnvironment,
        id: DeploymentId,
        (session, created_by): (SessionId, UserId),
        commit_id: &str,
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        let superseded = sqlx::query_scalar!(
            "update deployments d set status = 'superseded', ended_at = clock_timestamp(), reason = 'a newer deployment'
             from environments e
             where d.organization_id = $1 and d.session_id = $2 and d.status = 'queued'
               and e.organization_id = $1 and e.id = $3 and e.slot_deployment_id is distinct from d.id
             returning d.id",
            organization,
            session.uuid(),
            environment.id.uuid(),
        )
        .fetch_all(self.connection())
        .await?;
        sqlx::query!(
            "insert into deployments
                 (organization_id, id, pipeline_id, definition_version, environment_id, session_id, fence, commit_id,
                  status, created_by)
             select $1, $2, p.id, p.definition_version, $4, $5, $6, $7, 'queued', $8
             from pipelines p where p.organization_id = $1 and p.id = $3",
            organization,
            id.uuid(),
            environment.pipeline_id.uuid(),
            environment.id.uuid(),
            session.uuid(),
            environment.state.lock.fence,
            commit_id,
            created_by.uuid(),
        )
        .execute(self.connection())
        .await?;
        sqlx::query!(
            "update environments set slot_deployment_id = coalesce(slot_deployment_id, $3), commit_id = $4
             where organization_id = $1 and id = $2",
            organization,
            environment.id.uuid(),
            id.uuid(),
            commit_id,
        )
        .execute(self.connection())
        .await?;
        let has_slot = sqlx::query_scalar!(
            r#"select slot_deployment_id = $3 as "has_slot!" from environments where organization_id = $1 and id = $2"#,
            organization,
            environment.id.uuid(),
            id.uuid(),
        )
        .fetch_one(self.connection())
        .await?;
        if has_slot {
            // Without it there is nothing to be done yet: it is woken when it gets it.
            self.wake(id).await?;
        }
        for old in superseded {
            self.tell_deployment(environment, (actor, EventType::DeploymentSuperseded), old.into(), session)
                .await?;
        }
        self.tell_deployment(environment, (actor, EventType::DeploymentQueued), id, session).await
    }

    /// The end of a session ends its work: what has not started never will, and what runs is asked to end.
    pub(crate) async fn cancel_deployments_of(
        &mut self,
        actor: &Actor,
        environment: &LockedEnvironment,
        session: SessionId,
        end: SessionEnd,
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        let ended = sqlx::query!(
            r#"update deployments
               set status = case when status = 'queued' then 'canceled' else 'canceling' end,
                   ended_at = case when status = 'queued' then clock_timestamp() end,
                   reason = 'session_ended', cancel_reason = 'session_ended', detail = $3
               where organization_id = $1 and session_id = $2 and purpose <> 'teardown'
                 and status in ('queued', 'running', 'waiting', 'paused')
               returning id, status = 'canceled' as "is_over!""#,
            organization,
            session.uuid(),
            format!("its session was {}", end.status()),
        )
        .fetch_all(self.connection())
        .await?;
        for row in ended {
            let id = DeploymentId::from(row.id);
            let event_type = if row.is_over {
                self.next_in_slot(environment.id, id).await?;
                EventType::DeploymentCanceled
            } else {
                if planted::is(Bug::SlotPassedOnTooEarly) {
                    self.next_in_slot(environment.id, id).await?;
                }
                self.wake(id).await?;
                EventType::DeploymentCanceling
            };
            self.tell_deployment(environment, (actor, event_type), id, session).await?;
        }
        Ok(())
    }

    pub(crate) async fn tell_deployment(
        &mut self,
        environment: &LockedEnvironment,
        (actor, event_type): (&Actor, EventType),
        deployment: DeploymentId,
        session: SessionId,
    ) -> Result<(), StoreError> {
        let after = json!({
            "deploymentId": deployment,
            "sessionId": session,
            "envName": environment.name,
            "pipelineId": environment.pipeline_id,
        });
        let subject = environment.subject();
        let event = NewEvent { event_type, subject, before: None, after: Some(after), reason: None };
        self.tell_as(actor, event).await
    }
}
