//! Effects of the end of a deployment on its environment: what is live there, and whether it still has to be
//! cleaned up.

use greenroom_domain::cleanup;
use greenroom_domain::deployment::{DeploymentStatus, Purpose, Reason};
use greenroom_domain::event::{EventType, NewEvent};
use greenroom_domain::id::EnvironmentId;
use serde_json::json;

use crate::StoreError;
use crate::deployment::advance::LockedDeployment;
use crate::error::from_column;
use crate::transaction::OrgTransaction;

impl OrgTransaction {
    /// Records the end of a deployment in its environment. The caller has locked the rows of both.
    pub(crate) async fn record_end_in_environment(
        &mut self,
        deployment: &LockedDeployment,
    ) -> Result<(), StoreError> {
        let Some((environment, _)) = deployment.environment else { return Ok(()) };
        match (deployment.purpose, deployment.state.status) {
            (Purpose::Session, DeploymentStatus::Succeeded) => {
                self.record_deployed(deployment, environment).await
            }
            (Purpose::Teardown, DeploymentStatus::Succeeded) => self.record_cleaned_up(environment).await,
            (Purpose::Teardown, status) if status.is_final() => {
                self.record_cleanup_failed(deployment, environment).await
            }
            _ => Ok(()),
        }
    }

    async fn record_deployed(
        &mut self,
        deployment: &LockedDeployment,
        environment: EnvironmentId,
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "update environments set deployed_deployment_id = $3, deployed_commit_id = $4, deployed_at = $5
             where organization_id = $1 and id = $2",
            organization,
            environment.uuid(),
            deployment.id.uuid(),
            deployment.commit_id,
            jiff_sqlx::Timestamp::from(deployment.now) as jiff_sqlx::Timestamp,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    async fn record_cleaned_up(&mut self, environment: EnvironmentId) -> Result<(), StoreError> {
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

    /// Records that a teardown did not succeed, so what it should have removed may still be there. The
    /// environment shows this until a clean-up succeeds.
    async fn record_cleanup_failed(
        &mut self,
        deployment: &LockedDeployment,
        environment: EnvironmentId,
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        let attempts = sqlx::query_scalar!(
            "select cleanup_tries from environments where organization_id = $1 and id = $2",
            organization,
            environment.uuid(),
        )
        .fetch_one(self.connection())
        .await?;
        let retry_at =
            cleanup::next_retry_at(from_column("environments.cleanup_tries", attempts)?, deployment.now);
        // The machine gives a reason to every end except a success.
        let reason = deployment.state.reason.unwrap_or(Reason::RunnerError).as_str();
        sqlx::query!(
            "update environments
             set cleanup = true, cleanup_failed_deployment_id = $3, cleanup_failed_at = $4, cleanup_failed_reason = $5,
                 cleanup_retry_at = $6
             where organization_id = $1 and id = $2",
            organization,
            environment.uuid(),
            deployment.id.uuid(),
            jiff_sqlx::Timestamp::from(deployment.now) as jiff_sqlx::Timestamp,
            reason,
            retry_at.map(jiff_sqlx::Timestamp::from) as Option<jiff_sqlx::Timestamp>,
        )
        .execute(self.connection())
        .await?;
        let event = NewEvent {
            event_type: EventType::EnvironmentCleanupFailed,
            subject: deployment.subject(),
            before: None,
            after: Some(json!({
                "deploymentId": deployment.id,
                "envName": deployment.environment.as_ref().map(|(_, name)| name),
                "pipelineId": deployment.pipeline_id,
                "nextTryAt": retry_at,
            })),
            reason: Some(reason.to_owned()),
        };
        self.record_event(event).await
    }
}
