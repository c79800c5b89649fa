//! Failed clean-ups: a maintainer or a background task repeats them, or a maintainer gives them up.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::cleanup::{CleanupState, NotRepeated, teardown_to_repeat};
use greenroom_domain::deployment::Purpose;
use greenroom_domain::environment::LockCommand;
use greenroom_domain::event::{EventType, NewEvent};
use greenroom_domain::id::{DeploymentId, SessionId};
use serde_json::json;

use crate::deployment::in_session::DeploymentEventData;
use crate::lock::{LockedEnvironment, NewSession};
use crate::system::sweeper::DueEnvironment;
use crate::transaction::OrgTransaction;
use crate::{Store, StoreError};

/// The delay before the next attempt, if another deployment has the environment's work slot, that is, acts on
/// the environment.
const SLOT_TAKEN_DELAY_SECONDS: f64 = 60.0;

#[boxed_futures]
impl Store {
    /// Repeats a teardown that is due. Idempotent, and safe to call concurrently from several daemons.
    pub async fn repeat_due_cleanup(&self, due: DueEnvironment) -> Result<bool, StoreError> {
        let mut transaction = self.system_transaction(due.organization_id).await?;
        let Some(mut locked) = transaction.lock_environment_by_id(due.environment_id).await? else {
            return Ok(false);
        };
        if !transaction.cleanup_is_due(&locked).await? {
            return Ok(false);
        }
        // An expired lease ends its session first, which may queue another teardown.
        let _always_granted =
            transaction.apply(&mut locked, LockCommand::Sweep, &NewSession::default()).await?;
        let repeated = transaction.repeat_cleanup(&locked, None).await?;
        match repeated {
            Ok(_) => transaction.count_cleanup_attempt(&locked).await?,
            Err(NotRepeated::SlotTaken(_)) => {
                transaction.delay_cleanup(&locked, Some(SLOT_TAKEN_DELAY_SECONDS)).await?
            }
            // The teardown at the end of the holding session cleans up.
            Err(NotRepeated::InUse(_) | NotRepeated::NotFailed) => {
                transaction.delay_cleanup(&locked, None).await?
            }
        }
        transaction.commit().await?;
        Ok(repeated.is_ok())
    }
}

#[boxed_futures]
impl OrgTransaction {
    /// Creates a new teardown like the failed one, with the pipeline's current definition, and assigns the
    /// work slot to it.
    pub async fn repeat_cleanup(
        &mut self,
        environment: &LockedEnvironment,
        commit_id: Option<&str>,
    ) -> Result<Result<DeploymentId, NotRepeated<DeploymentId, SessionId>>, StoreError> {
        let state = self.cleanup_state(environment).await?;
        let failed = match teardown_to_repeat(state) {
            Ok(failed) => failed,
            Err(refused) => return Ok(Err(refused)),
        };
        let (organization, user) = (self.organization(), self.actor().user());
        let id = DeploymentId::from(uuid::Uuid::now_v7());
        let created = sqlx::query!(
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
        let event = (&actor, EventType::DeploymentQueued);
        let (session, commit_id) = (created.session_id.into(), created.commit_id.as_str());
        let teardown = DeploymentEventData { id, session, commit_id, purpose: Purpose::Teardown };
        self.record_deployment_event(environment, event, teardown).await?;
        Ok(Ok(id))
    }

    /// Marks the environment as clean, regardless of what is left there. Returns `false` if no clean-up of it
    /// has failed.
    pub async fn give_up_cleanup(
        &mut self,
        environment: &LockedEnvironment,
        why: &str,
    ) -> Result<bool, StoreError> {
        let state = self.cleanup_state(environment).await?;
        let Some(failed) = state.failed else { return Ok(false) };
        let organization = self.organization();
        // What the holding session has deployed still has to be cleaned up at its end.
        let in_use = state.deployed_since && state.holder.is_some();
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
        self.record_event(event).await?;
        Ok(true)
    }

    async fn cleanup_state(
        &mut self,
        environment: &LockedEnvironment,
    ) -> Result<CleanupState<DeploymentId, SessionId>, StoreError> {
        let organization = self.organization();
        // Ids of deployments increase with their time of creation.
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
        Ok(CleanupState {
            failed: row.failed.map(DeploymentId::from),
            slot_holder: row.slot.map(DeploymentId::from),
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

    async fn count_cleanup_attempt(&mut self, environment: &LockedEnvironment) -> Result<(), StoreError> {
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

    /// Sets the delay of the next attempt. `None` disables automatic attempts.
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

    /// Resets the attempts, because the teardown of a session is a new one.
    pub(crate) async fn reset_cleanup_attempts(
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
