//! Overriding the gates of a stage: an admin lets it begin without the approval, or although its environment is frozen.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::approval::{ApprovalCommand, Gate};
use greenroom_domain::deployment::StageStatus;
use greenroom_domain::event::EventType;
use greenroom_domain::id::{ApprovalId, DeploymentId};
use serde_json::json;

use crate::{Command, StoreError};

/// Which gates are overridden.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OverriddenGates {
    pub approval: bool,
    pub freeze: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OverrideOutcome {
    Done,
    NoSuchDeployment,
    NoSuchStage,
    /// The stage does not wait, or not for one of these gates.
    NotWaiting,
    /// The approval is decided already, or does not permit this role to override it.
    NotAllowed(ApprovalId),
}

#[boxed_futures]
impl Command {
    /// Overrides gates of a stage that waits.
    pub async fn override_gates(
        &mut self,
        id: DeploymentId,
        key: &str,
        gates: OverriddenGates,
        reason: &str,
    ) -> Result<OverrideOutcome, StoreError> {
        let Some(mut deployment) = self.lock_deployment(id).await? else {
            return Ok(OverrideOutcome::NoSuchDeployment);
        };
        if deployment.state.status.is_final() {
            self.read_stages(&mut deployment).await?;
        }
        let Some(stage) = deployment.state.stages.iter().find(|stage| stage.key == key) else {
            return Ok(OverrideOutcome::NoSuchStage);
        };
        let waits_for_approval = matches!(stage.gate, Gate::Pending { .. });
        let is_waiting = stage.status == StageStatus::Waiting;
        if !is_waiting
            || (gates.approval && !waits_for_approval)
            || (gates.freeze && stage.environment.is_none())
        {
            return Ok(OverrideOutcome::NotWaiting);
        }
        let principal = self.principal().clone();
        if gates.approval
            && let Some(mut approval) = deployment.approvals.get(key).cloned()
        {
            let is_allowed = approval.requirement.override_role.permits(principal.role);
            if !is_allowed
                || !self.apply_to_approval(&mut approval, &ApprovalCommand::Override, deployment.now).await?
            {
                return Ok(OverrideOutcome::NotAllowed(approval.id));
            }
            self.record_override(approval.id, reason).await?;
            self.record_approval_end(&approval, Some(reason)).await?;
            self.supersede_older(&approval, deployment.now).await?;
        }
        let names: Vec<&str> = [(gates.approval, "approval"), (gates.freeze, "freeze")]
            .into_iter()
            .filter_map(|(is_overridden, name)| is_overridden.then_some(name))
            .collect();
        let record = json!({
            "gates": names,
            "reason": reason,
            "by": { "id": principal.user_id, "name": principal.user_name },
            "at": deployment.now,
        });
        let organization = self.organization();
        sqlx::query!(
            "update stages set gate_overridden = $4, ignores_freeze = ignores_freeze or $5
             where organization_id = $1 and deployment_id = $2 and key = $3",
            organization,
            id.uuid(),
            key,
            record,
            gates.freeze,
        )
        .execute(self.connection())
        .await?;
        let (actor, attempt) = (self.actor().clone(), stage.attempt_number);
        self.record_progress_event(
            &deployment,
            (&actor, EventType::StageOverridden),
            Some((key, attempt)),
            Some(reason),
        )
        .await?;
        self.wake(id).await?;
        Ok(OverrideOutcome::Done)
    }

    async fn record_override(&mut self, approval: ApprovalId, reason: &str) -> Result<(), StoreError> {
        let (organization, principal) = (self.organization(), self.principal().clone());
        sqlx::query!(
            "update approvals set override_by = $3, override_by_name = $4, override_reason = $5
             where organization_id = $1 and id = $2",
            organization,
            approval.uuid(),
            principal.user_id.uuid(),
            principal.user_name,
            reason,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }
}
