//! What proves a fix, for the text of its pull request.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::failure::Evidence;
use greenroom_domain::id::DeploymentId;
use serde_json::Value;

use super::due::DueFix;
use crate::{Store, StoreError};

/// A deployment that shows the failure or the fix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProofRecord {
    pub deployment_id: DeploymentId,
    pub commit_id: String,
    pub env_name: String,
    pub definition_version: i32,
    pub images: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixProofs {
    pub red: Vec<ProofRecord>,
    pub green: Vec<ProofRecord>,
    /// The lines that show the failure, the decisive one first. Empty after the evidence was deleted.
    pub lines: Vec<String>,
    /// The stages of the pipeline that the deployments of the fix do not have.
    pub stages_not_run: Vec<String>,
    /// The repository of the pipeline.
    pub repository: Option<String>,
}

#[boxed_futures]
impl Store {
    pub async fn fix_proofs(&self, due: &DueFix) -> Result<FixProofs, StoreError> {
        let fix = &due.fix;
        let red = match fix.reproduction_id {
            Some(id) => vec![id],
            None => self.known_failures(due).await?,
        };
        Ok(FixProofs {
            red: self.proofs(due, &red).await?,
            green: self.proofs(due, &fix.verification_ids).await?,
            lines: self.lines_of_failure(due).await?,
            stages_not_run: self.stages_not_run(due).await?,
            repository: self.repository_of_fix(due).await?,
        })
    }

    /// Returns whether a later deployment on this branch has passed the stage.
    pub async fn is_fixed_on(&self, due: &DueFix, branch: &str) -> Result<bool, StoreError> {
        Ok(sqlx::query_scalar!(
            r#"select exists (
                   select 1 from failures f
                   join deployments d on d.organization_id = $1 and d.pipeline_id = f.pipeline_id and d.branch = $3
                       and d.created_at > f.failed_at and d.commit_id <> f.commit_id and d.commit_id <> $4
                   join stages s on s.organization_id = $1 and s.deployment_id = d.id and s.key = f.stage_key
                       and s.status = 'succeeded'
                   where f.organization_id = $1 and f.id = $2
               ) as "exists!""#,
            due.organization_id.uuid(),
            due.fix.failure_id.uuid(),
            branch,
            due.fix.commit_id,
        )
        .fetch_one(&self.pool())
        .await?)
    }

    /// Returns the last deployments of the failing commit that failed in the same way.
    async fn known_failures(&self, due: &DueFix) -> Result<Vec<DeploymentId>, StoreError> {
        let ids = sqlx::query_scalar!(
            "select deployment_id from failures
             where organization_id = $1 and pipeline_id = $2 and fingerprint = $3 and commit_id = $4
             group by deployment_id order by max(failed_at) desc limit 2",
            due.organization_id.uuid(),
            due.fix.pipeline_id.uuid(),
            due.fix.fingerprint,
            due.fix.failing_commit_id,
        )
        .fetch_all(&self.pool())
        .await?;
        Ok(ids.into_iter().map(Into::into).collect())
    }

    async fn proofs(&self, due: &DueFix, ids: &[DeploymentId]) -> Result<Vec<ProofRecord>, StoreError> {
        let ids: Vec<uuid::Uuid> = ids.iter().map(|id| id.uuid()).collect();
        let rows = sqlx::query!(
            r#"select d.id, d.commit_id, e.name as "env_name?", d.definition_version,
                      array(select distinct r.image_digest from jobs j
                            join step_runs r on r.organization_id = $1 and r.job_id = j.id
                            where j.organization_id = $1 and j.deployment_id = d.id and r.image_digest is not null
                            limit 20) as "images!: Vec<String>"
               from deployments d
               left join environments e on e.organization_id = $1 and e.id = d.environment_id
               where d.organization_id = $1 and d.id = any($2)
               order by d.created_at"#,
            due.organization_id.uuid(),
            &ids,
        )
        .fetch_all(&self.pool())
        .await?;
        let records = rows.into_iter().map(|row| ProofRecord {
            deployment_id: row.id.into(),
            commit_id: row.commit_id,
            env_name: row.env_name.unwrap_or_default(),
            definition_version: row.definition_version,
            images: row.images,
        });
        Ok(records.collect())
    }

    async fn lines_of_failure(&self, due: &DueFix) -> Result<Vec<String>, StoreError> {
        let document: Option<Value> = sqlx::query_scalar!(
            "select document from evidence where organization_id = $1 and failure_id = $2",
            due.organization_id.uuid(),
            due.fix.failure_id.uuid(),
        )
        .fetch_optional(&self.pool())
        .await?;
        let evidence: Option<Evidence> = document.and_then(|document| serde_json::from_value(document).ok());
        let items = evidence.map(|evidence| evidence.items).unwrap_or_default();
        let lines = items.iter().flat_map(|item| item.text.lines());
        Ok(lines.take(10).map(str::to_owned).collect())
    }

    async fn stages_not_run(&self, due: &DueFix) -> Result<Vec<String>, StoreError> {
        let last = due.fix.verification_ids.last().map(|id| id.uuid());
        Ok(sqlx::query_scalar!(
            r#"select stage.value ->> 'key' as "key!"
               from deployments d
               join pipeline_versions p on p.organization_id = $1 and p.pipeline_id = d.pipeline_id
                   and p.version = d.definition_version
               cross join lateral jsonb_array_elements(p.definition -> 'stages') stage
               where d.organization_id = $1 and d.id = $2
                 and not exists (select 1 from stages s where s.organization_id = $1 and s.deployment_id = d.id
                                 and s.key = stage.value ->> 'key')
               limit 50"#,
            due.organization_id.uuid(),
            last,
        )
        .fetch_all(&self.pool())
        .await?)
    }

    /// Returns the repository of the pipeline.
    pub async fn repository_of_fix(&self, due: &DueFix) -> Result<Option<String>, StoreError> {
        let found = sqlx::query_scalar!(
            "select repository from pipelines where organization_id = $1 and id = $2",
            due.organization_id.uuid(),
            due.fix.pipeline_id.uuid(),
        )
        .fetch_optional(&self.pool())
        .await?;
        Ok(found.flatten())
    }
}
