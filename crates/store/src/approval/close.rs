//! Closes the approvals of stages that no longer wait for them.

use greenroom_domain::approval::{ApprovalCommand, Gate, Refusal};

use crate::StoreError;
use crate::deployment::LockedDeployment;
use crate::transaction::OrgTransaction;

impl OrgTransaction {
    /// Ends the pending approvals of stages that have ended, that would do something else now, or whose time is over, and
    /// removes from stages the approvals that they can't begin with.
    pub(crate) async fn close_approvals(
        &mut self,
        deployment: &mut LockedDeployment,
    ) -> Result<(), StoreError> {
        for stage in &deployment.state.stages {
            let Some(approval) = deployment.approvals.get_mut(&stage.key) else { continue };
            let digest = approval.state.subject_digest.clone();
            let command = match &stage.gate {
                // Its time is over: comparing it with itself lets it expire.
                Gate::Refused(Refusal::Expired) => Some(ApprovalCommand::Compare(&digest)),
                Gate::Wanted | Gate::Free => Some(ApprovalCommand::Invalidate),
                Gate::Pending { .. } if stage.status.is_final() => Some(ApprovalCommand::Cancel),
                Gate::Pending { .. } | Gate::Approved { .. } | Gate::Refused(_) => None,
            };
            if let Some(command) = command
                && self.apply_to_approval(approval, &command, deployment.now).await?
            {
                self.record_approval_end(approval, None).await?;
            }
            if matches!(stage.gate, Gate::Wanted | Gate::Free) {
                let (organization, id) = (self.organization(), approval.id);
                sqlx::query!(
                    "update stages set approval_id = null
                     where organization_id = $1 and deployment_id = $2 and key = $3 and approval_id = $4",
                    organization,
                    deployment.id.uuid(),
                    stage.key,
                    id.uuid(),
                )
                .execute(self.connection())
                .await?;
                deployment.approvals.remove(&stage.key);
            }
        }
        Ok(())
    }
}
