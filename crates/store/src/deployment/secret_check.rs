//! Checks the secrets of stages before they are queued, so that a missing one fails the stage without a
//! runner. What counts is the check in the transaction that starts a step (`secret/start.rs`).

use greenroom_domain::approval::Gate;
use greenroom_domain::definition::Definition;
use greenroom_domain::deployment::{PlannedStage, Reason, Stage, StageStatus};
use greenroom_domain::runner_pool::target_environment;
use greenroom_domain::secret::{Branch, Candidate, Place, choose};
use greenroom_domain::text::CommitId;

use super::advance::LockedDeployment;
use crate::StoreError;
use crate::transaction::OrgTransaction;

impl OrgTransaction {
    /// Plans the failure of every stage that would not get its secrets now. `plan` holds the stages that are
    /// not in the database yet.
    pub(super) async fn check_secrets(
        &mut self,
        deployment: &mut LockedDeployment,
        definition: &Definition,
        plan: Option<&[PlannedStage]>,
    ) -> Result<(), StoreError> {
        let names: Vec<String> = deployment
            .unplanned_stages()
            .filter_map(|key| definition.stage(key))
            .flat_map(|stage| &stage.steps)
            .flat_map(|step| step.secrets.values())
            .map(|secret| secret.name.clone())
            .collect();
        if names.is_empty() {
            return Ok(());
        }
        let candidates = self.secret_candidates(deployment, &names).await?;
        let organization = self.organization().into();
        let keys: Vec<String> = deployment.unplanned_stages().map(str::to_owned).collect();
        for key in keys {
            let Some(stage) = definition.stage(&key) else { continue };
            let pool = plan
                .and_then(|plan| plan.iter().find(|planned| planned.key == key))
                .map(|planned| planned.pool.as_str())
                .or_else(|| deployment.stage_columns.get(&key).map(|columns| columns.pool.as_str()));
            let ephemeral = deployment.environment.as_ref().map(|(_, name)| name.as_str());
            let place = Place {
                pipeline: deployment.pipeline_id,
                environment: target_environment(deployment.purpose, ephemeral, stage.environment.as_deref()),
                pool: pool.unwrap_or_default(),
                branch: if deployment.has_repository {
                    Branch::Expected(deployment.branch())
                } else {
                    Branch::Proven(None)
                },
            };
            let refused = stage.steps.iter().flat_map(|step| step.secrets.values()).find_map(|wanted| {
                let named = candidates.iter().filter(|(name, _)| *name == wanted.name);
                let refusal = choose(&place, named.map(|(_, candidate)| candidate)).err()?;
                Some((refusal.reason(), refusal.detail(&wanted.name, organization, &place)))
            });
            if let Some((reason, detail)) = refused {
                deployment.plan_failure(&key, reason, detail);
            }
        }
        Ok(())
    }

    /// Returns the secrets with these names that the deployment's pipeline could get.
    async fn secret_candidates(
        &mut self,
        deployment: &LockedDeployment,
        names: &[String],
    ) -> Result<Vec<(String, Candidate)>, StoreError> {
        let organization = self.organization();
        let rows = sqlx::query!(
            "select id, name, pipeline_id, environment, policy, usage from secrets
             where organization_id = $1 and deleted_at is null and name = any($2)
               and (pipeline_id is null or pipeline_id = $3)",
            organization,
            names,
            deployment.pipeline_id.uuid(),
        )
        .fetch_all(self.connection())
        .await?;
        let candidates = rows.into_iter().map(|row| {
            let candidate = crate::secret::candidate(
                row.id.into(),
                (row.pipeline_id, row.environment),
                row.policy,
                row.usage,
            )?;
            Ok((row.name, candidate))
        });
        candidates.collect()
    }
}

impl LockedDeployment {
    /// Returns the keys of the stages that have not begun and whose outcome is open.
    pub(super) fn unplanned_stages(&self) -> impl Iterator<Item = &str> {
        let is_open =
            |stage: &&Stage| stage.status == StageStatus::Pending && stage.planned_outcome.is_none();
        self.state.stages.iter().filter(is_open).map(|stage| stage.key.as_str())
    }

    /// Plans the failure of a stage, which is only valid for this transaction.
    pub(super) fn plan_failure(&mut self, key: &str, reason: Reason, detail: String) {
        if let Some(stage) = self.state.stages.iter_mut().find(|stage| stage.key == key) {
            stage.planned_outcome = Some((StageStatus::Failed, reason));
            self.failure_details.insert(key.to_owned(), detail);
        }
    }

    /// Plans the failure of every stage that needs an approval while the commit id is not complete: what is approved
    /// has to be one commit. A checkout completes the id, so a stage whose needs have succeeded is refused only if
    /// none of them has checked it out.
    pub(super) fn require_full_commit(&mut self) {
        if CommitId::new(&self.commit_id).is_ok_and(|commit| commit.is_full()) {
            return;
        }
        let is_gated = |stage: &&Stage| {
            stage.status == StageStatus::Pending
                && stage.planned_outcome.is_none()
                && stage.gate != Gate::Free
        };
        let keys: Vec<String> =
            self.state.stages.iter().filter(is_gated).map(|stage| stage.key.clone()).collect();
        for key in keys {
            let detail = format!(
                "an approval is for one commit, and `{}` is not a complete id: deploy with all of its digits",
                self.commit_id
            );
            self.plan_failure(&key, Reason::CommitNotFound, detail);
        }
    }

    /// Removes the failures that were planned in this transaction and not used.
    pub(super) fn lift_planned_failures(&mut self) {
        for stage in &mut self.state.stages {
            if self.failure_details.contains_key(&stage.key) {
                stage.planned_outcome = None;
                if stage.status == StageStatus::Pending {
                    self.failure_details.remove(&stage.key);
                }
            }
        }
    }
}
