//! The work slot of a lasting environment: who gets it, when it is given back, and what is live afterwards.

use greenroom_domain::deployment::{GateCandidate, Stage, StageStatus};
use greenroom_domain::id::{DeploymentId, PipelineId};
use jiff::Timestamp;

use super::gate::{LockedEnvironments, LockedLasting, time};
use crate::StoreError;
use crate::deployment::LockedDeployment;
use crate::transaction::OrgTransaction;

/// What becomes of an environment's slot after the deployment has advanced.
enum SlotChange {
    Keep,
    Take,
    /// The deployment has ended its work there.
    Release(StageStatus),
    /// It got the slot, but may not begin now.
    PassOn,
}

impl OrgTransaction {
    /// Takes and gives back slots as the stages of the deployment demand. Their rows are already written.
    pub(crate) async fn update_slots(
        &mut self,
        deployment: &LockedDeployment,
        environments: &LockedEnvironments,
        is_held: bool,
    ) -> Result<(), StoreError> {
        for environment in &environments.0 {
            match slot_change(deployment, environment) {
                SlotChange::Keep => {}
                SlotChange::Take => {
                    self.assign_slot(deployment.pipeline_id, environment, Some(deployment.id)).await?;
                }
                SlotChange::Release(outcome) => {
                    self.record_end(deployment, environment, outcome).await?;
                    self.pass_on(deployment, environment).await?;
                }
                // No other deployment of a stopped pipeline may begin either: all are woken up when it is resumed.
                SlotChange::PassOn if is_held => {
                    self.assign_slot(deployment.pipeline_id, environment, None).await?;
                }
                SlotChange::PassOn => self.pass_on(deployment, environment).await?,
            }
        }
        Ok(())
    }

    /// Gives the slot to the deployment that was accepted first of those that wait for it.
    async fn pass_on(
        &mut self,
        deployment: &LockedDeployment,
        environment: &LockedLasting,
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        let next = sqlx::query_scalar!(
            "select d.id from stages s
             join deployments d on d.organization_id = $1 and d.id = s.deployment_id
             where s.organization_id = $1 and s.environment = $3 and s.status = 'waiting'
               and s.blocker ->> 'kind' = 'work_slot' and d.pipeline_id = $2 and d.id <> $4 and d.cancel_reason is null
             order by d.accepted_at, d.id limit 1",
            organization,
            deployment.pipeline_id.uuid(),
            environment.name,
            deployment.id.uuid(),
        )
        .fetch_optional(self.connection())
        .await?
        .map(DeploymentId::from);
        self.assign_slot(deployment.pipeline_id, environment, next).await?;
        match next {
            Some(next) => self.wake(next).await,
            None => Ok(()),
        }
    }

    async fn assign_slot(
        &mut self,
        pipeline: PipelineId,
        environment: &LockedLasting,
        deployment: Option<DeploymentId>,
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "update lasting_environments
             set slot_deployment_id = $4, slot_has_begun = false,
                 fence = fence + case when $4::uuid is null then 0 else 1 end
             where organization_id = $1 and pipeline_id = $2 and name = $3",
            organization,
            pipeline.uuid(),
            environment.name,
            deployment.map(DeploymentId::uuid),
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// Records that the first step of a deployment has started in the environment.
    pub(super) async fn record_begin(
        &mut self,
        pipeline: PipelineId,
        environment: &LockedLasting,
        candidate: GateCandidate,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if environment.state.slot.is_some_and(|slot| slot.has_begun) {
            return Ok(());
        }
        let organization = self.organization();
        sqlx::query!(
            "with begun as (
                 update lasting_environments set slot_has_begun = true
                 where organization_id = $1 and pipeline_id = $2 and name = $3
             )
             insert into environment_deployments
                 (organization_id, pipeline_id, name, fence, deployment_id, started_by, rollback, began_at)
             values ($1, $2, $3, $4, $5, $6, $7, $8)",
            organization,
            pipeline.uuid(),
            environment.name,
            environment.fence,
            candidate.deployment.uuid(),
            candidate.started_by.uuid(),
            candidate.allows_older,
            time(now) as jiff_sqlx::Timestamp,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// Records the end of a deployment's work in the environment, and that it is live if it succeeded.
    async fn record_end(
        &mut self,
        deployment: &LockedDeployment,
        environment: &LockedLasting,
        outcome: StageStatus,
    ) -> Result<(), StoreError> {
        if environment.state.slot.is_none_or(|slot| !slot.has_begun) {
            return Ok(());
        }
        let organization = self.organization();
        sqlx::query!(
            "update environment_deployments set ended_at = $5, outcome = $6
             where organization_id = $1 and pipeline_id = $2 and name = $3 and fence = $4",
            organization,
            deployment.pipeline_id.uuid(),
            environment.name,
            environment.fence,
            time(deployment.now) as jiff_sqlx::Timestamp,
            outcome.as_str(),
        )
        .execute(self.connection())
        .await?;
        if outcome != StageStatus::Succeeded {
            return Ok(());
        }
        sqlx::query!(
            "with live as (
                 update lasting_environments
                 set live_deployment_id = $4, live_at = $5, newest_accepted_at = greatest(newest_accepted_at, $6)
                 where organization_id = $1 and pipeline_id = $2 and name = $3
             )
             insert into wakes (organization_id, deployment_id)
             select d.organization_id, d.id from deployments d
             where d.organization_id = $1 and d.pipeline_id = $2 and d.accepted_at < $6
               and exists (select 1 from stages s where s.organization_id = $1 and s.deployment_id = d.id
                   and s.environment = $3 and s.status = 'waiting')",
            organization,
            deployment.pipeline_id.uuid(),
            environment.name,
            deployment.id.uuid(),
            time(deployment.now) as jiff_sqlx::Timestamp,
            time(deployment.accepted_at) as jiff_sqlx::Timestamp,
        )
        .execute(self.connection())
        .await?;
        self.mark_wake_up();
        Ok(())
    }
}

fn slot_change(deployment: &LockedDeployment, environment: &LockedLasting) -> SlotChange {
    let stages = || {
        let is_here = |stage: &&Stage| stage.environment.as_deref() == Some(environment.name.as_str());
        deployment.state.stages.iter().filter(is_here)
    };
    let is_active = stages().any(|stage| matches!(stage.status, StageStatus::Queued | StageStatus::Running));
    match environment.state.slot {
        None if is_active => SlotChange::Take,
        Some(slot) if slot.deployment == deployment.id => {
            if stages().all(|stage| stage.status.is_final()) {
                SlotChange::Release(outcome(stages()))
            } else if is_active || slot.has_begun {
                SlotChange::Keep
            } else {
                SlotChange::PassOn
            }
        }
        _ => SlotChange::Keep,
    }
}

/// Returns the outcome of all stages of a deployment in one environment.
fn outcome<'a>(stages: impl Iterator<Item = &'a Stage>) -> StageStatus {
    let rank = |status: StageStatus| match status {
        StageStatus::Failed => 4,
        StageStatus::Errored => 3,
        StageStatus::Canceled => 2,
        StageStatus::Succeeded => 1,
        _ => 0,
    };
    let worst = stages.map(|stage| stage.status).max_by_key(|status| rank(*status));
    // A stage that began and was skipped afterwards does not exist, so one of them has another status.
    worst.filter(|status| rank(*status) > 0).unwrap_or(StageStatus::Canceled)
}
