//! What stages leave to those after them: where it is, in the object store.

use greenroom_domain::id::{ArtifactId, DeploymentId};

use crate::change::Change;
use crate::job::{JobWord, UploadPermission};
use crate::{Store, StoreError};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    pub id: ArtifactId,
    pub stage: String,
    pub bytes: i64,
    pub sha256: String,
    pub object: String,
}

struct Row {
    id: uuid::Uuid,
    stage_key: String,
    bytes: i64,
    sha256: String,
    object: String,
}

impl From<Row> for Artifact {
    fn from(row: Row) -> Self {
        Self {
            id: row.id.into(),
            stage: row.stage_key,
            bytes: row.bytes,
            sha256: row.sha256,
            object: row.object,
        }
    }
}

impl Store {
    /// Keeps what a job has left, if it may still upload. A job has one artifact: a new one takes the place of one that it
    /// has sent before, which no other job can have been given while this one runs.
    pub async fn keep_artifact(
        &self,
        word: JobWord<'_>,
        artifact: &Artifact,
    ) -> Result<UploadPermission, StoreError> {
        let mut change = self.change_by_clock(word.runner.organization_id).await?;
        let Some(own) = change.own_job(word).await? else { return Ok(UploadPermission::Gone) };
        let permission = change.upload_permission(word).await?;
        if permission != UploadPermission::Granted {
            return Ok(permission);
        }
        let organization = change.organization();
        let replaced = sqlx::query_scalar!(
            "delete from artifacts where organization_id = $1 and deployment_id = $2 and stage_key = $3 and job_id = $4
             returning object",
            organization,
            own.deployment_id.uuid(),
            own.stage,
            word.job.uuid(),
        )
        .fetch_all(change.connection())
        .await?;
        change.discard_unread_objects(&replaced).await?;
        sqlx::query!(
            "insert into artifacts (organization_id, id, deployment_id, stage_key, job_id, bytes, sha256, object)
             values ($1, $2, $3, $4, $5, $6, $7, $8)",
            organization,
            artifact.id.uuid(),
            own.deployment_id.uuid(),
            own.stage,
            word.job.uuid(),
            artifact.bytes,
            artifact.sha256,
            artifact.object,
        )
        .execute(change.connection())
        .await?;
        change.keep_object(&artifact.object).await?;
        change.commit().await?;
        Ok(UploadPermission::Granted)
    }

    /// One of the deployment that a job belongs to. The outer `None`: the job is not this runner's.
    pub async fn artifact_for(
        &self,
        word: JobWord<'_>,
        id: ArtifactId,
    ) -> Result<Option<Option<Artifact>>, StoreError> {
        let mut change = self.change_by_clock(word.runner.organization_id).await?;
        let Some(own) = change.own_job(word).await? else { return Ok(None) };
        let organization = change.organization();
        let row = sqlx::query_as!(
            Row,
            "select id, stage_key, bytes, sha256, object from artifacts
             where organization_id = $1 and id = $2 and deployment_id = $3",
            organization,
            id.uuid(),
            own.deployment_id.uuid(),
        )
        .fetch_optional(change.connection())
        .await?;
        Ok(Some(row.map(Artifact::from)))
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
        let rows = sqlx::query_as!(
            Row,
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
        Ok(rows.into_iter().map(Artifact::from).collect())
    }
}
