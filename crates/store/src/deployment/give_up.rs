//! Giving up: an operator or an admin ends a deployment or a stage without its runner. This does not stop
//! what the runner does until its next request, which is rejected.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::deployment::{CancelCause, Canceled, CanceledStage, cancel, give_up_stage};
use greenroom_domain::event::EventType;
use greenroom_domain::id::DeploymentId;

use super::action::ActionOutcome;
use crate::StoreError;
use crate::deployment::person::{PersonColumns, PersonRecord};
use crate::transaction::OrgTransaction;

#[boxed_futures]
impl OrgTransaction {
    /// Ends the newest attempt of a stage immediately. Stages that need it are skipped, and the others
    /// continue.
    pub async fn give_up_stage(
        &mut self,
        id: DeploymentId,
        key: &str,
        why: &str,
    ) -> Result<ActionOutcome, StoreError> {
        // Locked before the deployment's row, as by `advance`, which is called at the end.
        self.lock_lasting_environments(id).await?;
        let Some(mut deployment) = self.lock_deployment(id).await? else {
            return Ok(ActionOutcome::NoSuchDeployment);
        };
        if deployment.state.status.is_final() {
            return Ok(if self.has_stage(id, key).await? {
                ActionOutcome::Unchanged
            } else {
                ActionOutcome::NoSuchStage
            });
        }
        let before = deployment.state.clone();
        match give_up_stage(&mut deployment.state, key) {
            CanceledStage::NoSuchStage => return Ok(ActionOutcome::NoSuchStage),
            CanceledStage::Unchanged => return Ok(ActionOutcome::Unchanged),
            CanceledStage::Done => {}
        }
        self.close_approvals(&mut deployment).await?;
        self.write_stages(&deployment, &before).await?;
        let attempt = deployment
            .state
            .stages
            .iter()
            .find(|stage| stage.key == key)
            .map_or(0, |stage| stage.attempt_number);
        let actor = self.actor().clone();
        self.record_progress_event(
            &deployment,
            (&actor, EventType::StageGivenUp),
            Some((key, attempt)),
            Some(why),
        )
        .await?;
        self.settle_given_up(id).await
    }

    /// Ends a deployment and all of its stages immediately, and releases its work slot, so that the next
    /// deployment can act on the environment. A teardown that is given up counts as failed.
    pub async fn give_up_deployment(
        &mut self,
        id: DeploymentId,
        why: &str,
    ) -> Result<ActionOutcome, StoreError> {
        self.lock_lasting_environments(id).await?;
        let Some(mut deployment) = self.lock_deployment(id).await? else {
            return Ok(ActionOutcome::NoSuchDeployment);
        };
        let is_canceled = deployment.state.cancel.is_some();
        let cause = CancelCause::GiveUp;
        if cancel(deployment.state.status, deployment.purpose, is_canceled, cause) == Canceled::Unchanged {
            return Ok(ActionOutcome::Unchanged);
        }
        let before = deployment.state.clone();
        let keys: Vec<String> = deployment.state.stages.iter().map(|stage| stage.key.clone()).collect();
        for key in &keys {
            give_up_stage(&mut deployment.state, key);
        }
        deployment.canceled_by =
            deployment.canceled_by.take().or_else(|| PersonRecord::of_actor(self.actor()));
        self.close_approvals(&mut deployment).await?;
        self.write_stages(&deployment, &before).await?;
        let (organization, by) = (self.organization(), PersonColumns::from(self.actor()));
        sqlx::query!(
            "update deployments
             set cancel_reason = $3, canceled_by = coalesce(canceled_by, $4),
                 canceled_by_name = coalesce(canceled_by_name, $5), canceled_by_kind = coalesce(canceled_by_kind, $6)
             where organization_id = $1 and id = $2",
            organization,
            id.uuid(),
            cause.reason().as_str(),
            by.id,
            by.name,
            by.kind,
        )
        .execute(self.connection())
        .await?;
        let actor = self.actor().clone();
        self.record_progress_event(&deployment, (&actor, EventType::DeploymentGivenUp), None, Some(why))
            .await?;
        self.settle_given_up(id).await
    }

    /// Advances the deployment as the engine would do next, so that the slot is released even while the
    /// engine is down.
    async fn settle_given_up(&mut self, id: DeploymentId) -> Result<ActionOutcome, StoreError> {
        self.advance(id, None).await?;
        self.wake(id).await?;
        Ok(ActionOutcome::Done)
    }

    async fn has_stage(&mut self, id: DeploymentId, key: &str) -> Result<bool, StoreError> {
        let organization = self.organization();
        Ok(sqlx::query_scalar!(
            r#"select exists (select 1 from stages
                   where organization_id = $1 and deployment_id = $2 and key = $3) as "has!""#,
            organization,
            id.uuid(),
            key,
        )
        .fetch_one(self.connection())
        .await?)
    }
}
