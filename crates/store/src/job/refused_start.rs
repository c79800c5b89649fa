//! Why a step does not start, although its job may run: it does not get a secret, or a step of a registry is refused.

use greenroom_domain::definition::{Definition, Stage, StepWork};
use greenroom_domain::deployment::{JobStatus, Reason, StepStatus};
use greenroom_domain::id::{JobId, StepRunId};
use greenroom_domain::step::LockedStep;

use crate::StoreError;
use crate::transaction::OrgTransaction;

/// Why a step does not start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedStart {
    pub reason: Reason,
    pub detail: String,
}

impl OrgTransaction {
    /// Returns why a stage must not go on, if one of its steps of registries is refused. All of them are checked at the start of
    /// each step, so that a stage whose second step is refused does not run its first one.
    pub(super) async fn refused_step(
        &mut self,
        definition: &Definition,
        stage: &Stage,
    ) -> Result<Option<RefusedStart>, StoreError> {
        for step in &stage.steps {
            let StepWork::Registry { uses, .. } = &step.work else { continue };
            let Some(locked) = definition.locked_step(uses) else { continue };
            if let Some(why) = self.refusal_of(&locked.step).await? {
                let detail = format!(
                    "the version {} of the step `{uses}` is refused ({why}); update the pipeline to another version",
                    locked.step.version
                );
                return Ok(Some(RefusedStart { reason: Reason::StepRefused, detail }));
            }
        }
        Ok(None)
    }

    /// Returns why the content of a step must not run. Refused content stays so under another version.
    async fn refusal_of(&mut self, step: &LockedStep) -> Result<Option<String>, StoreError> {
        let organization = self.organization();
        Ok(sqlx::query_scalar!(
            r#"select yank_reason as "reason!" from step_versions
               where organization_id = $1 and digest = $2 and registry_id = $3 and name = $4 and refused limit 1"#,
            organization,
            step.digest.as_str(),
            step.registry_id.uuid(),
            step.name,
        )
        .fetch_optional(self.connection())
        .await?)
    }

    /// Ends a job whose step does not start, without its runner. Returns the token of its task in the engine.
    pub(super) async fn fail_start(
        &mut self,
        job: JobId,
        step: StepRunId,
        refused: &RefusedStart,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let organization = self.organization();
        let ended = sqlx::query!(
            "with step as (
                 update step_runs set status = $6, reason = $5, ended_at = clock_timestamp()
                 where organization_id = $1 and id = $3 and job_id = $2
             )
             update jobs set status = $7, reason = $4, detail = $5, ended_at = clock_timestamp()
             where organization_id = $1 and id = $2
             returning deployment_id, task_token",
            organization,
            job.uuid(),
            step.uuid(),
            refused.reason.as_str(),
            refused.detail,
            StepStatus::Failed.as_str(),
            JobStatus::Failed.as_str(),
        )
        .fetch_one(self.connection())
        .await?;
        self.end_unfinished_steps(job.uuid(), JobStatus::Failed).await?;
        self.wake(ended.deployment_id.into()).await?;
        Ok(ended.task_token)
    }
}
