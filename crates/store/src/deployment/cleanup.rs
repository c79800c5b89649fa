//! Clean-ups that failed: repeated by a maintainer or the sweeper, or given up by a maintainer.

use greenroom_domain::cleanup::{CleanupFacts, NotRepeated, may_repeat};
use greenroom_domain::deployment::Purpose;
use greenroom_domain::environment::Command;
use greenroom_domain::event::{EventType, NewEvent};
use greenroom_domain::id::{DeploymentId, SessionId};
use serde_json::json;

use crate::change::Change;
use crate::deployment::in_session::ToldDeployment;
use crate::lock::{LockedEnvironment, NewSession};
use crate::system::sweeper::DueEnvironment;
use crate::{Store, StoreError};

/// How long the sweeper waits before it looks again at an environment whose work slot was taken.
const SLOT_TAKEN_DELAY_SECONDS: f64 = 60.0;

impl Store {
    /// Repeats a teardown whose time has come. Safe to do at any time, any number of times, from any number of daemons.
    pub async fn repeat_due_cleanup(&self, due: DueEnvironment) -> Result<bool, StoreError> {
        let mut change = self.change_by_clock(due.organization_id).await?;
        let Some(mut locked) = change.lock_environment_by_id(due.environment_id).await? else {
            return Ok(false);
        };
        if !change.cleanup_is_due(&locked).await? {
            return Ok(false);
        }
        // A lease that is over ends its session first, and that may start a teardown of its own.
        let _always_granted = change.apply(&mut locked, Command::Sweep, &NewSession::default()).await?;
        let repeated = change.repeat_cleanup(&locked, None).await?;
        match repeated {
            Ok(_) => change.count_try(&locked).await?,
            Err(NotRepeated::SlotTaken(_)) => {
                change.delay_cleanup(&locked, Some(SLOT_TAKEN_DELAY_SECONDS)).await?
            }
            // The teardown at the end of the session that holds it does it.
            Err(NotRepeated::InUse(_) | NotRepeated::NotFailed) => {
                change.delay_cleanup(&locked, None).await?
            }
        }
        change.commit().await?;
        Ok(repeated.is_ok())
    }
}

impl Change {
    /// Makes a new teardown like the one that failed, with the pipeline's present definition, and gives it the work slot.
    pub async fn repeat_cleanup(
        &mut self,
        environment: &LockedEnvironment,
        commit_id: Option<&str>,
    ) -> Result<Result<DeploymentId, NotRepeated<DeploymentId, SessionId>>, StoreError> {
        let facts = self.cleanup_facts(environment).await?;
        let failed = match may_repeat(facts) {
            Ok(failed) => failed,
            Err(refused) => return Ok(Err(refused)),
        };
        let (organization, user) = (self.organization(), self.actor().user());
        let id = DeploymentId::from(uuid::Uuid::now_v7());
        let made = sqlx::query!(
            r#"insert into deployments
                 (organization_id, id, pipeline_id, definition_version, environment_id, session_id, commit_id, status,
                  purpose, trigger, created_by)
               select $1, $2, p.id, p.definition_version, failed.environment_id, failed.session_id,
                      coalesce($4, failed.commit_id), 'queued', 'teardown', 'teardown', coalesce($5, failed.created_by)
               from deployments failed
               join pipelines p on p.organization_id = $1 and p.id = failed.pipeline_id
               where failed.organization_id = $1 and failed.id = $3
               returning session_id as "session_id!", commit_id"#,
            organization,
            id.uuid(),
            failed.uuid(),
            commit_id,
            user,
        )
        .fetch_one(self.connection())
        .await?;
        sqlx::query!(
            "update environments set slot_deployment_id = $3, cleanup_retry_at = null
             where organization_id = $1 and id = $2",
            organization,
            environment.id.uuid(),
            id.uuid(),
        )
        .execute(self.connection())
        .await?;
        self.wake(id).await?;
        let actor = self.actor().clone();
        let told = (&actor, EventType::DeploymentQueued);
        let (session, commit_id) = (made.session_id.into(), made.commit_id.as_str());
        let teardown = ToldDeployment { id, session, commit_id, purpose: Purpose::Teardown };
        self.tell_deployment(environment, told, teardown).await?;
        Ok(Ok(id))
    }

    /// The environment counts as clean from now on, whatever is left there. `false`: no clean-up of it has failed.
    pub async fn give_up_cleanup(
        &mut self,
        environment: &LockedEnvironment,
        why: &str,
    ) -> Result<bool, StoreError> {
        let facts = self.cleanup_facts(environment).await?;
        let Some(failed) = facts.failed else { return Ok(false) };
        let organization = self.organization();
        // What the session that holds it has deployed is still to be cleaned up after it.
        let in_use = facts.deployed_since && facts.holder.is_some();
        sqlx::query!(
            "update environments
             set cleanup = $3, cleanup_failed_deployment_id = null, cleanup_failed_at = null,
                 cleanup_failed_reason = null, cleanup_tries = 0, cleanup_retry_at = null
             where organization_id = $1 and id = $2",
            organization,
            environment.id.uuid(),
            in_use,
        )
        .execute(self.connection())
        .await?;
        let event = NewEvent {
            event_type: EventType::EnvironmentCleanupGivenUp,
            subject: environment.subject(),
            before: None,
            after: Some(json!({
                "deploymentId": failed,
                "envName": environment.name,
                "pipelineId": environment.pipeline_id,
            })),
            reason: Some(why.to_owned()),
        };
        self.tell(event).await?;
        Ok(true)
    }

    async fn cleanup_facts(
        &mut self,
        environment: &LockedEnvironment,
    ) -> Result<CleanupFacts<DeploymentId, SessionId>, StoreError> {
        let organization = self.organization();
        // Ids of deployments rise with the time at which they were made.
        let row = sqlx::query!(
            r#"select e.cleanup_failed_deployment_id as failed, e.slot_deployment_id as slot,
                      exists (select 1 from deployments d
                          where d.organization_id = $1 and d.environment_id = e.id
                            and d.id > e.cleanup_failed_deployment_id and d.purpose = 'session'
                            and d.planned_at is not null) as "deployed_since!"
               from environments e where e.organization_id = $1 and e.id = $2"#,
            organization,
            environment.id.uuid(),
        )
        .fetch_one(self.connection())
        .await?;
        Ok(CleanupFacts {
            failed: row.failed.map(DeploymentId::from),
            slot: row.slot.map(DeploymentId::from),
            holder: environment.state.lock.held.as_ref().map(|held| held.session),
            deployed_since: row.deployed_since,
        })
    }

    async fn cleanup_is_due(&mut self, environment: &LockedEnvironment) -> Result<bool, StoreError> {
        let organization = self.organization();
        let due = sqlx::query_scalar!(
            r#"select coalesce(cleanup_retry_at <= clock_timestamp(), false) as "due!"
               from environments where organization_id = $1 and id = $2"#,
            organization,
            environment.id.uuid(),
        )
        .fetch_one(self.connection())
        .await?;
        Ok(due)
    }

    async fn count_try(&mut self, environment: &LockedEnvironment) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "update environments set cleanup_tries = cleanup_tries + 1 where organization_id = $1 and id = $2",
            organization,
            environment.id.uuid(),
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// Sets when the sweeper looks at it again; `None`: not at all.
    async fn delay_cleanup(
        &mut self,
        environment: &LockedEnvironment,
        seconds: Option<f64>,
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "update environments set cleanup_retry_at = clock_timestamp() + $3::float8 * interval '1 second'
             where organization_id = $1 and id = $2",
            organization,
            environment.id.uuid(),
            seconds,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// A session's own teardown is a new one: the sweeper counts its tries from the beginning.
    pub(crate) async fn reset_cleanup_tries(
        &mut self,
        environment: &LockedEnvironment,
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "update environments set cleanup_tries = 0, cleanup_retry_at = null
             where organization_id = $1 and id = $2 and (cleanup_tries > 0 or cleanup_retry_at is not null)",
            organization,
            environment.id.uuid(),
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }
}
