//! Pools that are restricted to pipelines and environments. The restriction is checked before a stage is
//! queued, and again before its job is assigned to a runner.

use std::collections::HashMap;

use greenroom_domain::definition::Definition;
use greenroom_domain::deployment::{JobStatus, PlannedStage, Reason, StageStatus};
use greenroom_domain::id::JobId;
use greenroom_domain::runner_pool::{NotTaken, Restriction, target_environment};

use super::advance::LockedDeployment;
use crate::StoreError;
use crate::token_columns::pipeline_limit;
use crate::transaction::OrgTransaction;

/// The outcome of a stage whose pool does not take it. It is a configuration error, so a retry would not
/// help.
const RESTRICTED: (StageStatus, Reason) = (StageStatus::Failed, Reason::PoolRestricted);

/// Reads the columns `pipelines` and `environments` of a pool.
pub(crate) fn restriction(
    pipelines: Option<Vec<uuid::Uuid>>,
    environments: Option<Vec<String>>,
) -> Restriction {
    Restriction { pipelines: pipeline_limit(pipelines), environments }
}

impl LockedDeployment {
    fn refused_by(&self, pool: &Restriction, definition: &Definition, stage: &str) -> Option<NotTaken> {
        let stage_environment = definition.stage(stage).and_then(|stage| stage.environment.as_deref());
        let ephemeral = self.environment.as_ref().map(|(_, name)| name.as_str());
        pool.refuses(self.pipeline_id, target_environment(self.purpose, ephemeral, stage_environment))
    }

    /// Removes the planned outcomes that [`OrgTransaction::restrict_pools`] has set and that were not used:
    /// they are only valid for this transaction.
    pub(super) fn lift_restrictions(&mut self) {
        for stage in &mut self.state.stages {
            if stage.status == StageStatus::Pending && stage.planned_outcome == Some(RESTRICTED) {
                stage.planned_outcome = None;
            }
        }
    }
}

impl OrgTransaction {
    /// Plans the failure of every stage whose pool does not take it now. `plan` holds the stages that are not
    /// in the database yet.
    pub(super) async fn restrict_pools(
        &mut self,
        deployment: &mut LockedDeployment,
        definition: &Definition,
        plan: Option<&[PlannedStage]>,
    ) -> Result<(), StoreError> {
        if !deployment.has_restricted_pools {
            return Ok(());
        }
        let restricted = self.restricted_pools().await?;
        let pools: HashMap<String, String> = match plan {
            Some(plan) => plan.iter().map(|stage| (stage.key.clone(), stage.pool.clone())).collect(),
            None => self.pools_of(deployment).await?,
        };
        let refused: Vec<bool> = deployment
            .state
            .stages
            .iter()
            .map(|stage| {
                let pool = pools.get(&stage.key).and_then(|name| restricted.get(name));
                pool.is_some_and(|pool| deployment.refused_by(pool, definition, &stage.key).is_some())
            })
            .collect();
        for (stage, refused) in deployment.state.stages.iter_mut().zip(refused) {
            if refused && stage.status == StageStatus::Pending && stage.planned_outcome.is_none() {
                stage.planned_outcome = Some(RESTRICTED);
            }
        }
        Ok(())
    }

    /// Ends a job that waits for a runner, if its pool no longer takes it or what it would get. Returns whether it was
    /// ended.
    pub(crate) async fn refuse_restricted_job(
        &mut self,
        deployment: &LockedDeployment,
        job: JobId,
    ) -> Result<bool, StoreError> {
        if !deployment.has_restricted_pools {
            return Ok(false);
        }
        let organization = self.organization();
        let row = sqlx::query!(
            "select j.stage_key, s.needs, p.name, p.pipelines, p.environments
             from jobs j join runner_pools p on p.organization_id = $1 and p.id = j.pool_id
             join stages s on s.organization_id = $1 and s.deployment_id = j.deployment_id and s.key = j.stage_key
             where j.organization_id = $1 and j.id = $2 and j.status = 'queued'",
            organization,
            job.uuid(),
        )
        .fetch_optional(self.connection())
        .await?;
        let Some(row) = row else { return Ok(false) };
        let definition = self.definition_of(deployment.pipeline_id, deployment.definition_version()).await?;
        let pool = restriction(row.pipelines, row.environments);
        let restricted = self.restricted_pools().await?;
        let (reason, detail) = if deployment.refused_by(&pool, &definition, &row.stage_key).is_some() {
            (Reason::PoolRestricted, None)
        } else if let Some(stage) = definition.stage(&row.stage_key)
            && let Some(detail) =
                self.refused_input(deployment.id, stage, &row.name, &row.needs, &restricted).await?
        {
            (Reason::InputRefused, Some(detail))
        } else {
            return Ok(false);
        };
        sqlx::query!(
            "with ended as (
                 update jobs set status = 'failed', reason = $4, detail = $5, ended_at = clock_timestamp()
                 where organization_id = $1 and id = $2
             )
             insert into wakes (organization_id, deployment_id) values ($1, $3)",
            organization,
            job.uuid(),
            deployment.id.uuid(),
            reason.as_str(),
            detail,
        )
        .execute(self.connection())
        .await?;
        self.end_unfinished_steps(job.uuid(), JobStatus::Failed).await?;
        Ok(true)
    }

    pub(crate) async fn restricted_pools(&mut self) -> Result<HashMap<String, Restriction>, StoreError> {
        let organization = self.organization();
        let rows = sqlx::query!(
            "select name, pipelines, environments from runner_pools
             where organization_id = $1 and pipelines is not null",
            organization,
        )
        .fetch_all(self.connection())
        .await?;
        Ok(rows.into_iter().map(|row| (row.name, restriction(row.pipelines, row.environments))).collect())
    }

    /// Returns the pools of a deployment's stages, by the stages' keys.
    async fn pools_of(
        &mut self,
        deployment: &LockedDeployment,
    ) -> Result<HashMap<String, String>, StoreError> {
        let organization = self.organization();
        let rows = sqlx::query!(
            "select key, pool from stages where organization_id = $1 and deployment_id = $2",
            organization,
            deployment.id.uuid(),
        )
        .fetch_all(self.connection())
        .await?;
        Ok(rows.into_iter().map(|row| (row.key, row.pool)).collect())
    }
}
