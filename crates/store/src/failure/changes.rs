//! What was changed between the last good attempt of a stage and a failed one.

use std::collections::BTreeMap;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::definition::{Definition, Stage};
use greenroom_domain::id::{DeploymentId, JobId, OrganizationId};
use jiff::Timestamp;

use super::read::FailureRecord;
use crate::{Store, StoreError};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureChanges {
    pub last_good: GoodRun,
    pub definition: Option<DefinitionChange>,
    pub images: Vec<ImageChange>,
    /// The names of the runners, if they differ.
    pub runner: Option<(String, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoodRun {
    pub deployment_id: DeploymentId,
    pub commit_id: String,
    pub place: String,
    pub at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefinitionChange {
    pub from: i32,
    pub to: i32,
    /// The keys of stages that were added, changed or removed.
    pub stages: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageChange {
    pub step: String,
    pub from: String,
    pub to: String,
}

/// One of the two attempts that are compared.
struct ComparedJob {
    runner_name: Option<String>,
    images: BTreeMap<String, String>,
}

#[boxed_futures]
impl Store {
    /// Returns the changes since the last good attempt; `None` if there is none.
    pub async fn failure_changes(
        &self,
        organization: OrganizationId,
        failure: &FailureRecord,
    ) -> Result<Option<FailureChanges>, StoreError> {
        let Some(good_job) = failure.collected.as_ref().and_then(|collected| collected.good_job_id) else {
            return Ok(None);
        };
        let good = sqlx::query!(
            r#"select d.id, d.commit_id, d.definition_version, coalesce(e.name, g.environment, '') as "place!",
                      coalesce(j.ended_at, d.created_at) as "at!"
               from jobs j
               join deployments d on d.organization_id = $1 and d.id = j.deployment_id
               join stages g on g.organization_id = $1 and g.deployment_id = d.id and g.key = j.stage_key
               left join environments e on e.organization_id = $1 and e.id = d.environment_id
               where j.organization_id = $1 and j.id = $2"#,
            organization.uuid(),
            good_job.uuid(),
        )
        .fetch_optional(&self.pool())
        .await?;
        let Some(good) = good else { return Ok(None) };
        let before = self.compared_job(organization, Some(good_job)).await?;
        let after = self.compared_job(organization, failure.job_id).await?;
        let images = after.images.iter().filter_map(|(step, to)| {
            let from = before.images.get(step).filter(|from| *from != to)?;
            Some(ImageChange { step: step.clone(), from: from.clone(), to: to.clone() })
        });
        let (from, to) = (good.definition_version, failure.definition_version);
        let definition = match from == to {
            true => None,
            false => {
                let mut transaction = self.system_transaction(organization).await?;
                let old = transaction.definition_of(failure.pipeline_id, from).await?;
                let new = transaction.definition_of(failure.pipeline_id, to).await?;
                Some(DefinitionChange { from, to, stages: changed_stages(&old, &new) })
            }
        };
        Ok(Some(FailureChanges {
            last_good: GoodRun {
                deployment_id: good.id.into(),
                commit_id: good.commit_id,
                place: good.place,
                at: good.at.to_jiff(),
            },
            definition,
            images: images.collect(),
            runner: before.runner_name.zip(after.runner_name).filter(|(from, to)| from != to),
        }))
    }

    /// Returns the stage of a failure as its version of the definition has it; `None` if it has no such stage.
    pub async fn failed_stage(
        &self,
        organization: OrganizationId,
        failure: &FailureRecord,
    ) -> Result<Option<Stage>, StoreError> {
        let mut transaction = self.system_transaction(organization).await?;
        let definition = transaction.definition_of(failure.pipeline_id, failure.definition_version).await?;
        Ok(definition.stage(&failure.stage_key).cloned())
    }

    async fn compared_job(
        &self,
        organization: OrganizationId,
        job: Option<JobId>,
    ) -> Result<ComparedJob, StoreError> {
        let rows = sqlx::query!(
            r#"select j.runner_name, s.name as "step?", s.image_digest as "image_digest?"
               from jobs j left join step_runs s on s.organization_id = $1 and s.job_id = j.id
               where j.organization_id = $1 and j.id = $2"#,
            organization.uuid(),
            job.map(|job| job.uuid()),
        )
        .fetch_all(&self.pool())
        .await?;
        let runner_name = rows.first().and_then(|row| row.runner_name.clone());
        let images = rows.into_iter().filter_map(|row| Some((row.step?, row.image_digest?))).collect();
        Ok(ComparedJob { runner_name, images })
    }
}

fn changed_stages(old: &Definition, new: &Definition) -> Vec<String> {
    let removed = old.stages.iter().filter(|stage| new.stage(&stage.key).is_none());
    let changed = new.stages.iter().filter(|stage| old.stage(&stage.key) != Some(*stage));
    changed.chain(removed).map(|stage| stage.key.clone()).collect()
}
