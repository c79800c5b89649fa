//! What stages leave to those after them: where it is, in the object store.

use greenroom_domain::id::{ArtifactId, DeploymentId};

use crate::change::Change;
use crate::job::JobWord;
use crate::{Store, StoreError};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    pub id: ArtifactId,
    pub stage: String,
    pub bytes: i64,
    pub sha256: String,
    pub object: String,
}

impl Store {
    /// Keeps what a job has left; said again, it is the same. Whether the job is still its runner's.
    pub async fn keep_artifact(&self, word: JobWord<'_>, artifact: &Artifact) -> Result<bool, StoreError> {
        let kept = sqlx::query!(
            "insert into artifacts (organization_id, id, deployment_id, stage_key, job_id, bytes, sha256, object)
             select $1, $3, j.deployment_id, j.stage_key, j.id, $6, $7, $8 from jobs j
             where j.organization_id = $1 and j.id = $2 and j.runner_id = $4 and j.secret_hash = $5
               and j.status = 'running'",
            word.runner.organization_id.uuid(),
            word.job.uuid(),
            artifact.id.uuid(),
            word.runner.id.uuid(),
            word.secret.as_slice(),
            artifact.bytes,
            artifact.sha256,
            artifact.object,
        )
        .execute(&self.pool())
        .await?;
        Ok(kept.rows_affected() > 0)
    }

    /// One of the deployment that a job belongs to.
    pub async fn artifact_for(
        &self,
        word: JobWord<'_>,
        id: ArtifactId,
    ) -> Result<Option<Artifact>, StoreError> {
        let row = sqlx::query!(
            "select a.id, a.stage_key, a.bytes, a.sha256, a.object from artifacts a
             join jobs j on j.organization_id = $1 and j.deployment_id = a.deployment_id
             where a.organization_id = $1 and a.id = $2 and j.id = $3 and j.runner_id = $4 and j.secret_hash = $5
               and j.status = 'running'",
            word.runner.organization_id.uuid(),
            id.uuid(),
            word.job.uuid(),
            word.runner.id.uuid(),
            word.secret.as_slice(),
        )
        .fetch_optional(&self.pool())
        .await?;
        Ok(row.map(|row| Artifact {
            id: row.id.into(),
            stage: row.stage_key,
            bytes: row.bytes,
            sha256: row.sha256,
            object: row.object,
        }))
    }
}

impl Change {
    /// The newest of each of these stages' attempts that succeeded.
    pub(crate) async fn artifacts_of(
        &mut self,
        deployment: DeploymentId,
        stages: &[String],
    ) -> Result<Vec<Artifact>, StoreError> {
        let organization = self.organization();
        let rows = sqlx::query!(
            "select distinct on (s.position, a.stage_key) a.id, a.stage_key, a.bytes, a.sha256, a.object
             from artifacts a
             join stages s on s.organization_id = $1 and s.deployment_id = a.deployment_id and s.key = a.stage_key
             join jobs j on j.organization_id = $1 and j.id = a.job_id and j.attempt = s.attempt
             where a.organization_id = $1 and a.deployment_id = $2 and a.stage_key = any($3)
             order by s.position, a.stage_key, a.id desc",
            organization,
            deployment.uuid(),
            stages,
        )
        .fetch_all(self.connection())
        .await?;
        Ok(rows
            .into_iter()
            .map(|row| Artifact {
                id: row.id.into(),
                stage: row.stage_key,
                bytes: row.bytes,
                sha256: row.sha256,
                object: row.object,
            })
            .collect())
    }
}
