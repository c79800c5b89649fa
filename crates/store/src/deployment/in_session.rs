//! Deployments of sessions. They are created as `queued`, wait for their environment's work slot (only the
//! deployment that has it acts on the environment), and end with their session.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::deployment::{CancelCause, Canceled, DeploymentStatus, Purpose, Reason, cancel};
use greenroom_domain::event::{EventType, NewEvent};
use greenroom_domain::id::{DeploymentId, SessionId};
use greenroom_domain::session::SessionEnd;
use greenroom_domain::work_slot::Event;
use serde_json::json;

use crate::StoreError;
use crate::deployment::event_view::DeploymentView;
use crate::deployment::final_statuses::query_with_final_statuses;
use crate::deployment::new_deployment::NewSessionDeployment;
use crate::deployment::person::PersonColumns;
use crate::error::parse_column;
use crate::lock::LockedEnvironment;
use crate::transaction::{Actor, OrgTransaction};

/// Data of a deployment in an environment for the payload of its events.
#[derive(Clone, Copy)]
pub(crate) struct DeploymentEventData<'a> {
    pub(crate) id: DeploymentId,
    pub(crate) session: SessionId,
    pub(crate) commit_id: &'a str,
    pub(crate) purpose: Purpose,
}

impl<'a> DeploymentEventData<'a> {
    fn of_session(id: DeploymentId, session: SessionId, commit_id: &'a str) -> Self {
        Self { id, session, commit_id, purpose: Purpose::Session }
    }
}

#[boxed_futures]
impl OrgTransaction {
    /// Creates a deployment of the session that holds the locked environment. Without the slot it waits, and
    /// supersedes an earlier deployment of its session that still waits.
    pub async fn create_deployment(
        &mut self,
        environment: &LockedEnvironment,
        id: DeploymentId,
        new: NewSessionDeployment<'_>,
    ) -> Result<(), StoreError> {
        let actor = self.actor().clone();
        self.create_deployment_as(&actor, environment, id, new).await
    }

    /// Like [`Self::create_deployment`], with an explicit actor. If the deployment is created because a
    /// waiting session was granted, the actor is the system, even if the transaction is a user's.
    pub(crate) async fn create_deployment_as(
        &mut self,
        actor: &Actor,
        environment: &LockedEnvironment,
        id: DeploymentId,
        new: NewSessionDeployment<'_>,
    ) -> Result<(), StoreError> {
        let NewSessionDeployment { session, created_by, commit_id } = new;
        let organization = self.organization();
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
            "update environments set commit_id = $3 where organization_id = $1 and id = $2",
            organization,
            environment.id.uuid(),
            commit_id,
        )
        .execute(self.connection())
        .await?;
        let event = Event::Requested { deployment: id, session };
        let effects = self.apply_to_slot(environment.id, event).await?;
        if let Some(holder) = effects.assigned {
            // Without the slot there is nothing to do yet. The deployment is woken up when it gets the slot.
            self.wake(holder).await?;
        }
        for (old, commit_id) in &self.supersede(&effects.superseded).await? {
            let old = DeploymentEventData::of_session(*old, session, commit_id);
            self.record_deployment_event(environment, (actor, EventType::DeploymentSuperseded), old).await?;
        }
        let new = DeploymentEventData::of_session(id, session, commit_id);
        self.record_deployment_event(environment, (actor, EventType::DeploymentQueued), new).await
    }

    /// Ends the deployments that the machine has superseded. Returns them with their commits.
    async fn supersede(
        &mut self,
        superseded: &[DeploymentId],
    ) -> Result<Vec<(DeploymentId, String)>, StoreError> {
        if superseded.is_empty() {
            return Ok(Vec::new());
        }
        let organization = self.organization();
        let ids: Vec<uuid::Uuid> = superseded.iter().map(|id| id.uuid()).collect();
        let rows = sqlx::query!(
            "update deployments set status = $3, ended_at = clock_timestamp(), reason = $4
             where organization_id = $1 and id = any($2)
             returning id, commit_id",
            organization,
            &ids,
            DeploymentStatus::Superseded.as_str(),
            Reason::NewerDeployment.as_str(),
        )
        .fetch_all(self.connection())
        .await?;
        Ok(rows.into_iter().map(|row| (row.id.into(), row.commit_id)).collect())
    }

    /// Ends the deployments of a session that has ended: queued ones immediately, and running ones are
    /// canceled.
    pub(crate) async fn cancel_deployments_of(
        &mut self,
        actor: &Actor,
        environment: &LockedEnvironment,
        session: SessionId,
        end: SessionEnd,
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        let live = query_with_final_statuses!(
            sqlx::query,
            [
                r#"select id, commit_id, status, purpose, cancel_reason is not null as "is_canceled!" from deployments
             where organization_id = $1 and session_id = $2 and status not in "#,
                " for update"
            ],
            organization,
            session.uuid(),
        )
        .fetch_all(self.connection())
        .await?;
        let mut canceled = Vec::new();
        for row in live {
            let status = parse_column("deployments.status", &row.status)?;
            let purpose = parse_column("deployments.purpose", &row.purpose)?;
            let outcome = cancel(status, purpose, row.is_canceled, CancelCause::SessionEnd);
            if outcome != Canceled::Unchanged {
                self.write_session_end(actor, row.id, outcome.status(status), end).await?;
                canceled.push((DeploymentId::from(row.id), row.commit_id, outcome));
            }
        }
        // All of them are written before the slot is assigned, so that it is not assigned to one of them.
        for (id, commit_id, outcome) in &canceled {
            let event_type = if *outcome == Canceled::Ended {
                self.assign_next_slot_holder(environment.id, *id).await?;
                self.mark_room(environment.pipeline_id);
                EventType::DeploymentCanceled
            } else {
                self.limit_leases(id.uuid()).await?;
                self.wake(*id).await?;
                EventType::DeploymentCanceling
            };
            let ended = DeploymentEventData::of_session(*id, session, commit_id);
            self.record_deployment_event(environment, (actor, event_type), ended).await?;
        }
        Ok(())
    }

    /// Writes the status of a deployment whose session has ended.
    async fn write_session_end(
        &mut self,
        actor: &Actor,
        deployment: uuid::Uuid,
        status: DeploymentStatus,
        end: SessionEnd,
    ) -> Result<(), StoreError> {
        let (organization, by) = (self.organization(), PersonColumns::from(actor));
        sqlx::query!(
            "update deployments
             set status = $3, ended_at = case when $4 then clock_timestamp() end, reason = $5, cancel_reason = $5,
                 detail = $6, canceled_by = $7, canceled_by_name = $8, canceled_by_kind = $9
             where organization_id = $1 and id = $2",
            organization,
            deployment,
            status.as_str(),
            status.is_final(),
            CancelCause::SessionEnd.reason().as_str(),
            format!("its session was {}", end.status()),
            by.id,
            by.name,
            by.kind,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    pub(crate) async fn record_deployment_event(
        &mut self,
        environment: &LockedEnvironment,
        (actor, event_type): (&Actor, EventType),
        DeploymentEventData { id, session, commit_id, purpose }: DeploymentEventData<'_>,
    ) -> Result<(), StoreError> {
        let record = self.deployment_record(id).await?;
        let after = json!({
            "deploymentId": id,
            "sessionId": session,
            "envName": environment.name,
            "pipelineId": environment.pipeline_id,
            "commitId": commit_id,
            "purpose": purpose.as_str(),
            "deployment": record.as_ref().map(DeploymentView::from),
        });
        let subject = environment.subject();
        let event = NewEvent { event_type, subject, before: None, after: Some(after), reason: None };
        self.record_event_as(actor, event).await
    }
}
