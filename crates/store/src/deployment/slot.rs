//! The work slot of an environment: at most one deployment acts on an environment at a time. The domain's
//! machine decides which one is next.

use greenroom_domain::deployment::Purpose;
use greenroom_domain::event::EventType;
use greenroom_domain::id::{DeploymentId, EnvironmentId, SessionId};
use greenroom_domain::work_slot::{self, Effect, Event, Work, WorkSlot};

use crate::StoreError;
use crate::deployment::advance::LockedDeployment;
use crate::deployment::in_session::DeploymentEventData;
use crate::lock::LockedEnvironment;
use crate::transaction::{Actor, OrgTransaction};

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

    /// Assigns the slot to the next deployment, if `ended` has it.
    pub(crate) async fn assign_next_slot_holder(
        &mut self,
        environment: EnvironmentId,
        ended: DeploymentId,
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        let waiting = sqlx::query!(
            r#"select d.id, d.session_id as "session_id!", d.purpose = 'teardown' as "teardown!"
               from deployments d
               where d.organization_id = $1 and d.environment_id = $2 and d.status = 'queued' and d.id <> $3
                 and d.session_id is not null
               order by d.id"#,
            organization,
            environment.uuid(),
            ended.uuid(),
        )
        .fetch_all(self.connection())
        .await?;
        let occupant =
            Work::Deployment { deployment: ended, session: uuid::Uuid::nil().into(), canceling: false };
        let slot = WorkSlot::<DeploymentId, SessionId> {
            occupant: Some(occupant),
            teardowns: waiting.iter().filter(|row| row.teardown).map(|row| row.session_id.into()).collect(),
            waiting: waiting
                .iter()
                .rfind(|row| !row.teardown)
                .map(|row| (row.id.into(), row.session_id.into())),
        };
        let (_, effects) = work_slot::apply(slot, Event::Ended);
        let next = effects.into_iter().find_map(|effect| match effect {
            Effect::Start(Work::Deployment { deployment, .. }) => Some(deployment),
            Effect::Start(Work::Teardown { session }) => waiting
                .iter()
                .find(|row| row.teardown && row.session_id == session.uuid())
                .map(|row| row.id.into()),
            _ => None,
        });
        let passed = sqlx::query!(
            "update environments set slot_deployment_id = $4
             where organization_id = $1 and id = $2 and slot_deployment_id = $3",
            organization,
            environment.uuid(),
            ended.uuid(),
            next.map(DeploymentId::uuid),
        )
        .execute(self.connection())
        .await?;
        match next {
            Some(next) if passed.rows_affected() > 0 => self.wake(next).await,
            _ => Ok(()),
        }
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
        let taken = sqlx::query!(
            "update environments set slot_deployment_id = $3
             where organization_id = $1 and id = $2 and slot_deployment_id is null",
            organization,
            environment.id.uuid(),
            id.uuid(),
        )
        .execute(self.connection())
        .await?;
        if taken.rows_affected() > 0 {
            self.wake(id).await?;
        }
        let teardown = DeploymentEventData { id, session, commit_id: &commit_id, purpose: Purpose::Teardown };
        self.record_deployment_event(environment, (actor, EventType::DeploymentQueued), teardown).await
    }
}
