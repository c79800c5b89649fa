//! Refuses what a stage would get from stages whose pools take more jobs than its own (`greenroom_domain::provenance`).
//! Checked before the stage is queued, and again before its job is assigned to a runner.

use std::collections::HashMap;

use greenroom_domain::definition::{Definition, Stage};
use greenroom_domain::deployment::Reason;
use greenroom_domain::id::DeploymentId;
use greenroom_domain::provenance::{Pool, takes_from};
use greenroom_domain::runner_pool::Restriction;

use super::advance::LockedDeployment;
use crate::StoreError;
use crate::transaction::OrgTransaction;

impl OrgTransaction {
    /// Plans the failure of every stage that would get something now which it does not take.
    pub(super) async fn refuse_inputs(
        &mut self,
        deployment: &mut LockedDeployment,
        definition: &Definition,
    ) -> Result<(), StoreError> {
        if !deployment.has_restricted_pools {
            return Ok(());
        }
        let restricted = self.restricted_pools().await?;
        let keys: Vec<String> = deployment.unplanned_stages().map(str::to_owned).collect();
        for key in keys {
            let planned = deployment.state.stages.iter().find(|stage| stage.key == key);
            let pool_of = |key: &str| deployment.stage_columns.get(key).map(|columns| columns.pool.as_str());
            let (Some(planned), Some(stage), Some(pool)) = (planned, definition.stage(&key), pool_of(&key))
            else {
                continue;
            };
            let is_other = |need: &&String| pool_of(need) != Some(pool);
            let needs: Vec<String> = planned.needs.iter().filter(is_other).cloned().collect();
            let refused = self.refused_input(deployment.id, stage, pool, &needs, &restricted).await?;
            if let Some(detail) = refused {
                deployment.plan_failure(&key, Reason::InputRefused, detail);
            }
        }
        Ok(())
    }

    /// Returns why a stage does not take what one of the stages that it needs has left; `None` if it takes all.
    pub(super) async fn refused_input(
        &mut self,
        deployment: DeploymentId,
        stage: &Stage,
        pool: &str,
        needs: &[String],
        restricted: &HashMap<String, Restriction>,
    ) -> Result<Option<String>, StoreError> {
        // A pool without a restriction takes everything.
        let Some(own) = restricted.get(pool).filter(|_| !needs.is_empty()) else { return Ok(None) };
        let own = Pool { name: pool, restriction: own };
        let organization = self.organization();
        let left = sqlx::query!(
            r#"select s.key, s.pool,
                      exists (select 1 from artifacts a where a.organization_id = $1 and a.deployment_id = $2
                          and a.stage_key = s.key and a.job_id = j.id) as "artifact!",
                      exists (select 1 from step_runs r where r.organization_id = $1 and r.job_id = j.id
                          and r.outputs <> '{}') as "outputs!"
               from stages s
               join jobs j on j.organization_id = $1 and j.deployment_id = $2 and j.stage_key = s.key
                   and j.attempt = s.attempt
               where s.organization_id = $1 and s.deployment_id = $2 and s.key = any($3)
               order by s.position"#,
            organization,
            deployment.uuid(),
            needs,
        )
        .fetch_all(self.connection())
        .await?;
        let unrestricted = Restriction::default();
        let refused = left.iter().filter(|left| left.artifact || left.outputs).find(|left| {
            let restriction = restricted.get(&left.pool).unwrap_or(&unrestricted);
            !takes_from(stage, own, &left.key, Pool { name: &left.pool, restriction })
        });
        Ok(refused.map(|left| {
            let what = if left.artifact { "an artifact" } else { "outputs" };
            format!(
                "the stage `{0}` has left {what}, and ran in the pool `{1}`, which takes jobs that the pool `{pool}` does not take: \
                 run `{0}` in a pool that is restricted as much, or accept what it leaves by `acceptFrom: [{0}]`",
                left.key, left.pool
            )
        }))
    }
}
