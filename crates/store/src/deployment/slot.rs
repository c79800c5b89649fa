//! The work slot of an environment: at most one deployment acts on an environment at a time. The domain's
//! machine (`work_slot`) decides who gets it, who is next, and what is superseded; this module reads the slot
//! and writes the result.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::deployment::Purpose;
use greenroom_domain::event::EventType;
use greenroom_domain::id::{DeploymentId, EnvironmentId, SessionId};
use greenroom_domain::work_slot::{self, Effects, Event, Queued, WorkSlot};

use crate::StoreError;
use crate::deployment::advance::LockedDeployment;
use crate::deployment::in_session::DeploymentEventData;
use crate::error::parse_column;
use crate::lock::LockedEnvironment;
use crate::transaction::{Actor, OrgTransaction};

#[boxed_futures]
impl OrgTransaction {
    /// Assigns the environment's work slot to the next deployment, because this one has ended. The caller has
    /// locked the environment's row.
    pub(crate) async fn release_slot(&mut self, deployment: &LockedDeployment) -> Result<(), StoreError> {
        let Some((environment, _)) = deployment.environment else { return Ok(()) };
        self.record_end_in_environment(deployment).await?;
        self.assign_next_slot_holder(environment, deployment.id).await
    }

    /// Assigns the slot to the next deployment although its holder has already ended or does not exist. An
    /// operator repairs an inconsistent slot with this.
    pub async fn release_slot_of(
        &mut self,
        environment: &LockedEnvironment,
        occupant: DeploymentId,
    ) -> Result<(), StoreError> {
        self.assign_next_slot_holder(environment.id, occupant).await
    }

    /// Assigns the slot to the next deployment, if `ended` has it. The status of `ended` is already written.
    pub(crate) async fn assign_next_slot_holder(
        &mut self,
        environment: EnvironmentId,
        ended: DeploymentId,
    ) -> Result<(), StoreError> {
        let effects = self.apply_to_slot(environment, Event::Ended { deployment: ended }).await?;
        match effects.assigned {
            Some(next) => self.wake(next).await,
            None => Ok(()),
        }
    }

    /// Lets the machine decide about the work slot, and writes its new holder. The caller has locked the
    /// environment's row, and wakes up the new holder.
    pub(crate) async fn apply_to_slot(
        &mut self,
        environment: EnvironmentId,
        event: Event<DeploymentId, SessionId>,
    ) -> Result<Effects<DeploymentId>, StoreError> {
        let slot = self.work_slot(environment).await?;
        let before = slot.holder;
        let (slot, effects) = work_slot::apply(slot, event);
        if slot.holder != before {
            let organization = self.organization();
            sqlx::query!(
                "update environments set slot_deployment_id = $3 where organization_id = $1 and id = $2",
                organization,
                environment.uuid(),
                slot.holder.map(DeploymentId::uuid),
            )
            .execute(self.connection())
            .await?;
        }
        Ok(effects)
    }

    async fn work_slot(
        &mut self,
        environment: EnvironmentId,
    ) -> Result<WorkSlot<DeploymentId, SessionId>, StoreError> {
        let organization = self.organization();
        let rows = sqlx::query!(
            r#"select e.slot_deployment_id as holder, d.id as "id?", d.session_id as "session_id?",
                      d.purpose as "purpose?"
               from environments e
               left join deployments d on d.organization_id = $1 and d.environment_id = $2 and d.status = 'queued'
                   and d.session_id is not null
               where e.organization_id = $1 and e.id = $2
               order by d.id"#,
            organization,
            environment.uuid(),
        )
        .fetch_all(self.connection())
        .await?;
        let holder = rows.first().and_then(|row| row.holder).map(DeploymentId::from);
        let mut queued = Vec::new();
        for row in rows {
            let (Some(id), Some(session), Some(purpose)) = (row.id, row.session_id, row.purpose) else {
                continue;
            };
            let purpose: Purpose = parse_column("deployments.purpose", &purpose)?;
            let is_teardown = purpose == Purpose::Teardown;
            queued.push(Queued { deployment: id.into(), session: session.into(), is_teardown });
        }
        Ok(WorkSlot { holder, queued })
    }

    /// Queues a teardown of what a session has deployed, if its environment needs one. The caller has locked
    /// the environment's row.
    pub(crate) async fn queue_teardown(
        &mut self,
        actor: &Actor,
        environment: &LockedEnvironment,
        session: SessionId,
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        let id = DeploymentId::from(uuid::Uuid::now_v7());
        let created = sqlx::query_scalar!(
            "insert into deployments
                 (organization_id, id, pipeline_id, definition_version, environment_id, session_id, commit_id, status,
                  purpose, trigger, created_by)
             select $1, $2, e.pipeline_id, p.definition_version, e.id, $4, last.commit_id, 'queued', 'teardown',
                    'teardown', s.user_id
             from environments e
             join pipelines p on p.organization_id = $1 and p.id = e.pipeline_id
             join sessions s on s.organization_id = $1 and s.id = $4
             cross join lateral (select d.commit_id from deployments d
                 where d.organization_id = $1 and d.environment_id = e.id order by d.id desc limit 1) last
             where e.organization_id = $1 and e.id = $3 and e.cleanup
               and not exists (select 1 from deployments other
                   where other.organization_id = $1 and other.environment_id = e.id and other.purpose = 'teardown'
                     and other.status = 'queued')
             returning commit_id",
            organization,
            id.uuid(),
            environment.id.uuid(),
            session.uuid(),
        )
        .fetch_optional(self.connection())
        .await?;
        let Some(commit_id) = created else { return Ok(()) };
        self.reset_cleanup_attempts(environment).await?;
        let event = Event::TeardownQueued { deployment: id, session };
        if let Some(holder) = self.apply_to_slot(environment.id, event).await?.assigned {
            self.wake(holder).await?;
        }
        let teardown = DeploymentEventData { id, session, commit_id: &commit_id, purpose: Purpose::Teardown };
        self.record_deployment_event(environment, (actor, EventType::DeploymentQueued), teardown).await
    }
}
