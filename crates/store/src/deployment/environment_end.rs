//! What the end of a deployment means for its environment: what is live there, and whether it still has to be cleaned up.

use greenroom_domain::cleanup;
use greenroom_domain::deployment::{DeploymentStatus, Purpose};
use greenroom_domain::event::{EventType, NewEvent};
use greenroom_domain::id::EnvironmentId;
use serde_json::json;

use crate::StoreError;
use crate::change::Change;
use crate::deployment::advance::Held;

impl Change {
    /// Writes what the end of a deployment leaves behind. The caller holds the rows of the environment and the deployment.
    pub(crate) async fn note_end_in_environment(&mut self, held: &Held) -> Result<(), StoreError> {
        let Some((environment, _)) = held.environment else { return Ok(()) };
        match (held.purpose, held.state.status) {
            (Purpose::Session, DeploymentStatus::Succeeded) => self.note_deployed(held, environment).await,
            (Purpose::Teardown, DeploymentStatus::Succeeded) => self.note_cleaned_up(environment).await,
            (Purpose::Teardown, status) if status.is_end() => {
                self.note_cleanup_failed(held, environment).await
            }
            _ => Ok(()),
        }
    }

    async fn note_deployed(&mut self, held: &Held, environment: EnvironmentId) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "update environments set deployed_deployment_id = $3, deployed_commit_id = $4, deployed_at = $5
             where organization_id = $1 and id = $2",
            organization,
            environment.uuid(),
            held.id.uuid(),
            held.commit_id,
            jiff_sqlx::Timestamp::from(held.now) as jiff_sqlx::Timestamp,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    async fn note_cleaned_up(&mut self, environment: EnvironmentId) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "update environments
             set cleanup = false, cleanup_failed_deployment_id = null, cleanup_failed_at = null,
                 cleanup_failed_reason = null, cleanup_tries = 0, cleanup_retry_at = null,
                 deployed_deployment_id = null, deployed_commit_id = null, deployed_at = null
             where organization_id = $1 and id = $2",
            organization,
            environment.uuid(),
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// What was to be removed is still there, or a part of it: the environment says so until it is cleaned up after all.
    async fn note_cleanup_failed(
        &mut self,
        held: &Held,
        environment: EnvironmentId,
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        let tries = sqlx::query_scalar!(
            "select cleanup_tries from environments where organization_id = $1 and id = $2",
            organization,
            environment.uuid(),
        )
        .fetch_one(self.connection())
        .await?;
        let next_try = cleanup::next_try(u32::try_from(tries).unwrap_or(u32::MAX), held.now);
        let reason = held.state.reason.map_or_else(|| held.state.status.as_str(), |reason| reason.as_str());
        sqlx::query!(
            "update environments
             set cleanup = true, cleanup_failed_deployment_id = $3, cleanup_failed_at = $4, cleanup_failed_reason = $5,
                 cleanup_retry_at = $6
             where organization_id = $1 and id = $2",
            organization,
            environment.uuid(),
            held.id.uuid(),
            jiff_sqlx::Timestamp::from(held.now) as jiff_sqlx::Timestamp,
            reason,
            next_try.map(jiff_sqlx::Timestamp::from) as Option<jiff_sqlx::Timestamp>,
        )
        .execute(self.connection())
        .await?;
        let event = NewEvent {
            event_type: EventType::EnvironmentCleanupFailed,
            subject: held.subject(),
            before: None,
            after: Some(json!({
                "deploymentId": held.id,
                "envName": held.environment.as_ref().map(|(_, name)| name),
                "pipelineId": held.pipeline_id,
                "nextTryAt": next_try,
            })),
            reason: Some(reason.to_owned()),
        };
        self.tell(event).await
    }
}
