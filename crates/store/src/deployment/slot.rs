//! The work slot in SQL: at most one piece of work acts on an environment at a time. The domain's machine says who is next.

use greenroom_domain::deployment::Purpose;
use greenroom_domain::event::EventType;
use greenroom_domain::id::{DeploymentId, EnvironmentId, SessionId};
use greenroom_domain::work_slot::{self, Effect, Event, Work, WorkSlot};

use crate::StoreError;
use crate::change::{Actor, Change};
use crate::deployment::advance::Held;
use crate::deployment::in_session::ToldDeployment;
use crate::lock::LockedEnvironment;

impl Change {
    /// A deployment has ended for certain: whoever is next has the environment's work slot. The caller holds its row.
    pub(crate) async fn pass_slot_on(&mut self, held: &Held) -> Result<(), StoreError> {
        let Some((environment, _)) = held.environment else { return Ok(()) };
        self.note_end_in_environment(held).await?;
        self.next_in_slot(environment, held.id).await
    }

    /// Passes the slot on although what has it has ended, or was never there: for an operator who finds it so.
    pub async fn pass_on_slot_of(
        &mut self,
        environment: &LockedEnvironment,
        occupant: DeploymentId,
    ) -> Result<(), StoreError> {
        self.next_in_slot(environment.id, occupant).await
    }

    /// Gives the slot to whoever is next, if `ended` had it.
    pub(crate) async fn next_in_slot(
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

    /// What a session has deployed is cleaned up after it, if its environment says how. The caller holds its row.
    pub(crate) async fn clean_up_after(
        &mut self,
        actor: &Actor,
        environment: &LockedEnvironment,
        session: SessionId,
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        let id = DeploymentId::from(uuid::Uuid::now_v7());
        let made = sqlx::query_scalar!(
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
        let Some(commit_id) = made else { return Ok(()) };
        self.reset_cleanup_tries(environment).await?;
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
        let teardown = ToldDeployment { id, session, commit_id: &commit_id, purpose: Purpose::Teardown };
        self.tell_deployment(environment, (actor, EventType::DeploymentQueued), teardown).await
    }
}
