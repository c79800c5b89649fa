//! Checks the approval of a stage in the transaction that starts its first step.

use greenroom_domain::approval::Gate;
use greenroom_domain::id::{DeploymentId, JobId};

use crate::StoreError;
use crate::transaction::OrgTransaction;

impl OrgTransaction {
    /// Returns why the stage of a job may not begin, if it needs an approval and has none that is valid for what it would
    /// do now. Locks its environments and the deployment, so that nothing that its stage needs changes until the step has
    /// started. The caller has locked nothing yet.
    pub(crate) async fn check_start_approval(&mut self, job: JobId) -> Result<Option<String>, StoreError> {
        let organization = self.organization();
        let found = sqlx::query!(
            "select j.deployment_id, j.stage_key from jobs j
             join stages s on s.organization_id = $1 and s.deployment_id = j.deployment_id and s.key = j.stage_key
             where j.organization_id = $1 and j.id = $2 and s.gated and not j.touched",
            organization,
            job.uuid(),
        )
        .fetch_optional(self.connection())
        .await?;
        let Some(found) = found else { return Ok(None) };
        let id = DeploymentId::from(found.deployment_id);
        self.lock_lasting_environments(id).await?;
        let Some(deployment) = self.lock_deployment(id).await? else { return Ok(None) };
        let Some(stage) = deployment.state.stages.iter().find(|stage| stage.key == found.stage_key) else {
            return Ok(None);
        };
        let definition = self.definition_of(deployment.pipeline_id, deployment.definition_version()).await?;
        let subject = self.subject_of(&deployment, &definition, stage).await?;
        let digest = subject.map(|subject| subject.digest());
        if stage.gate.permits(digest.as_ref(), deployment.now) {
            return Ok(None);
        }
        Ok(Some(match &stage.gate {
            Gate::Approved { until, .. } if *until <= deployment.now => {
                format!("its approval was valid until {until}")
            }
            Gate::Approved { .. } => "what it would do is not what was approved".to_owned(),
            _ => "it is not approved".to_owned(),
        }))
    }
}
