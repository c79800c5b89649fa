//! Deployments into environments. One is accepted as `queued` and holds its place for the environment's work slot.

use greenroom_domain::event::{EventType, NewEvent};
use std::collections::HashMap;

use greenroom_domain::id::{DeploymentId, EnvironmentId, OrganizationId, SessionId, UserId};
use greenroom_domain::session::SessionEnd;
use jiff::Timestamp;
use serde_json::json;

use crate::change::Change;
use crate::lock::LockedEnvironment;
use crate::{Store, StoreError};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deployment {
    pub id: DeploymentId,
    pub commit_id: String,
    pub status: String,
    pub reason: Option<String>,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
}

struct Row {
    id: uuid::Uuid,
    commit_id: String,
    status: String,
    reason: Option<String>,
    created_at: jiff_sqlx::Timestamp,
    started_at: Option<jiff_sqlx::Timestamp>,
    ended_at: Option<jiff_sqlx::Timestamp>,
}

impl From<Row> for Deployment {
    fn from(row: Row) -> Self {
        Self {
            id: row.id.into(),
            commit_id: row.commit_id,
            status: row.status,
            reason: row.reason,
            created_at: row.created_at.to_jiff(),
            started_at: row.started_at.map(jiff_sqlx::Timestamp::to_jiff),
            ended_at: row.ended_at.map(jiff_sqlx::Timestamp::to_jiff),
        }
    }
}

impl Store {
    /// The newest deployment of each of these environments.
    pub async fn last_deployments(
        &self,
        organization: OrganizationId,
        environments: &[EnvironmentId],
    ) -> Result<HashMap<EnvironmentId, Deployment>, StoreError> {
        let ids: Vec<uuid::Uuid> = environments.iter().map(|id| id.uuid()).collect();
        let rows = sqlx::query!(
            r#"select distinct on (environment_id) environment_id as "environment_id!", id, commit_id, status, reason,
                      created_at, started_at, ended_at
               from deployments where organization_id = $1 and environment_id = any($2)
               order by environment_id, id desc"#,
            organization.uuid(),
            &ids,
        )
        .fetch_all(&self.pool())
        .await?;
        Ok(rows
            .into_iter()
            .map(|row| {
                let own = Row {
                    id: row.id,
                    commit_id: row.commit_id,
                    status: row.status,
                    reason: row.reason,
                    created_at: row.created_at,
                    started_at: row.started_at,
                    ended_at: row.ended_at,
                };
                (row.environment_id.into(), own.into())
            })
            .collect())
    }

    /// Newest first.
    pub async fn deployments_of_session(
        &self,
        organization: OrganizationId,
        session: SessionId,
    ) -> Result<Vec<Deployment>, StoreError> {
        let rows = sqlx::query_as!(
            Row,
            "select id, commit_id, status, reason, created_at, started_at, ended_at from deployments
             where organization_id = $1 and session_id = $2 order by id desc limit 100",
            organization.uuid(),
            session.uuid(),
        )
        .fetch_all(&self.pool())
        .await?;
        Ok(rows.into_iter().map(Deployment::from).collect())
    }
}

impl Change {
    pub async fn deployments_of(&mut self, session: SessionId) -> Result<Vec<Deployment>, StoreError> {
        let organization = self.organization();
        let rows = sqlx::query_as!(
            Row,
            "select id, commit_id, status, reason, created_at, started_at, ended_at from deployments
             where organization_id = $1 and session_id = $2 order by id desc limit 100",
            organization,
            session.uuid(),
        )
        .fetch_all(self.connection())
        .await?;
        Ok(rows.into_iter().map(Deployment::from).collect())
    }

    /// Accepts a deployment of the session that holds the locked environment. Without the slot it waits, and takes the
    /// place of an earlier one of its session that still waits.
    pub async fn create_deployment(
        &mut self,
        environment: &LockedEnvironment,
        id: DeploymentId,
        (session, created_by): (SessionId, UserId),
        commit_id: &str,
    ) -> Result<Deployment, StoreError> {
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
        let row = sqlx::query_as!(
            Row,
            "insert into deployments
                 (organization_id, id, pipeline_id, definition_version, environment_id, session_id, fence, commit_id,
                  status, created_by)
             select $1, $2, p.id, p.definition_version, $4, $5, $6, $7, 'queued', $8
             from pipelines p where p.organization_id = $1 and p.id = $3
             returning id, commit_id, status, reason, created_at, started_at, ended_at",
            organization,
            id.uuid(),
            environment.pipeline_id.uuid(),
            environment.id.uuid(),
            session.uuid(),
            environment.state.lock.fence,
            commit_id,
            created_by.uuid(),
        )
        .fetch_one(self.connection())
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
        for old in superseded {
            self.tell_deployment(environment, EventType::DeploymentSuperseded, old.into(), session).await?;
        }
        self.tell_deployment(environment, EventType::DeploymentQueued, id, session).await?;
        Ok(row.into())
    }

    /// The end of a session ends its work: what has not started never will.
    pub(crate) async fn cancel_deployments_of(
        &mut self,
        environment: &LockedEnvironment,
        session: SessionId,
        end: SessionEnd,
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        let canceled = sqlx::query_scalar!(
            "update deployments set status = 'canceled', ended_at = clock_timestamp(), reason = $3
             where organization_id = $1 and session_id = $2 and status = 'queued' returning id",
            organization,
            session.uuid(),
            format!("its session was {}", end.status()),
        )
        .fetch_all(self.connection())
        .await?;
        if canceled.is_empty() {
            return Ok(());
        }
        sqlx::query!(
            "update environments set slot_deployment_id = null
             where organization_id = $1 and id = $2 and slot_deployment_id = any($3)",
            organization,
            environment.id.uuid(),
            &canceled,
        )
        .execute(self.connection())
        .await?;
        for id in canceled {
            self.tell_deployment(environment, EventType::DeploymentCanceled, id.into(), session).await?;
        }
        Ok(())
    }

    async fn tell_deployment(
        &mut self,
        environment: &LockedEnvironment,
        event_type: EventType,
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
        self.tell(NewEvent { event_type, subject, before: None, after: Some(after), reason: None }).await
    }
}
