//! The commits between the last good run and a failure.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::failure::CommitList;
use greenroom_domain::id::JobId;
use serde_json::json;

use super::due::DueFailure;
use crate::{Store, StoreError};

/// Two commits of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitRange {
    pub repository: String,
    pub from: String,
    pub to: String,
}

#[boxed_futures]
impl Store {
    /// Returns the commits to compare; `None` if they are the same, or the pipeline has no repository.
    pub async fn commits_since(
        &self,
        due: &DueFailure,
        good_job: JobId,
    ) -> Result<Option<CommitRange>, StoreError> {
        let row = sqlx::query!(
            r#"select p.repository as "repository!", d.commit_id
               from jobs j
               join deployments d on d.organization_id = $1 and d.id = j.deployment_id
               join pipelines p on p.organization_id = $1 and p.id = d.pipeline_id
               where j.organization_id = $1 and j.id = $2 and p.repository is not null and d.commit_id <> $3"#,
            due.organization_id.uuid(),
            good_job.uuid(),
            due.attempt.commit_id,
        )
        .fetch_optional(&self.pool())
        .await?;
        Ok(row.map(|row| CommitRange {
            repository: row.repository,
            from: row.commit_id,
            to: due.attempt.commit_id.clone(),
        }))
    }

    /// Adds the list of commits to the evidence of a failure.
    pub async fn store_commits(&self, due: &DueFailure, list: &CommitList) -> Result<(), StoreError> {
        sqlx::query!(
            "update evidence set document = jsonb_set(document, '{commits}', $3)
             where organization_id = $1 and failure_id = $2",
            due.organization_id.uuid(),
            due.id.uuid(),
            json!(list),
        )
        .execute(&self.pool())
        .await?;
        Ok(())
    }
}
