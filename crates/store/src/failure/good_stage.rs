//! The last good attempts of a stage, by place. A failed attempt is compared with them.

use greenroom_domain::definition::Definition;
use greenroom_domain::deployment::Stage;

use crate::StoreError;
use crate::deployment::LockedDeployment;
use crate::error::to_column;
use crate::transaction::OrgTransaction;

impl LockedDeployment {
    /// Returns the environment of a stage (empty without one), and the template that the environment was made
    /// from.
    pub(super) fn place_of(&self, stage: &Stage, definition: &Definition) -> (String, Option<String>) {
        let place = match &self.environment {
            Some((_, name)) => name.clone(),
            None => stage.environment.clone().unwrap_or_default(),
        };
        let template = definition.template_for(&place).map(|template| template.pattern());
        (place, template.filter(|_| self.environment.is_some()))
    }
}

impl OrgTransaction {
    /// Records a successful attempt. Verdicts about failures of the same commit are decided again: the failure
    /// may be flaky, or due to the environment.
    pub(super) async fn record_good_stage(
        &mut self,
        deployment: &LockedDeployment,
        stage: &Stage,
        definition: &Definition,
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        let (place, template) = deployment.place_of(stage, definition);
        let judged_again = sqlx::query_scalar!(
            r#"with good as (
                   insert into good_stages
                       (organization_id, pipeline_id, stage_key, place, template, job_ids, succeeded_at)
                   select $1, $2, $4, $6, $7, array[j.id], $8 from jobs j
                   where j.organization_id = $1 and j.deployment_id = $3 and j.stage_key = $4 and j.attempt = $5
                   on conflict (organization_id, pipeline_id, stage_key, place) do update
                   set job_ids = (excluded.job_ids || good_stages.job_ids)[1:3], template = excluded.template,
                       succeeded_at = excluded.succeeded_at
               ),
               affected as (
                   select f.id from failures f
                   where f.organization_id = $1 and f.pipeline_id = $2 and f.commit_id = $9 and f.stage_key = $4
                     and f.verdict in ('not_only_you', 'environment', 'yours', 'unknown')
                     and (f.due_at is null or f.due_at > $8)
                   order by f.id desc limit 20 for update skip locked
               ),
               marked as (
                   update failures f set due_at = $8 from affected
                   where f.organization_id = $1 and f.id = affected.id returning f.id
               )
               select count(*) as "count!" from marked"#,
            organization,
            deployment.pipeline_id.uuid(),
            deployment.id.uuid(),
            stage.key,
            to_column::<_, i32>("jobs.attempt", stage.attempt_number)?,
            place,
            template as Option<String>,
            jiff_sqlx::Timestamp::from(deployment.now) as jiff_sqlx::Timestamp,
            deployment.commit_id,
        )
        .fetch_one(self.connection())
        .await?;
        if judged_again > 0 {
            self.mark_failure();
        }
        Ok(())
    }
}
