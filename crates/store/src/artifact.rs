//! Artifacts that stages pass on to later stages, and their objects in the object store.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{ArtifactId, DeploymentId};

use crate::error::{from_column, to_column};
use crate::job::{AuthenticatedJob, JobCredentials, JobLookup, UploadPermission};
use crate::transaction::OrgTransaction;
use crate::{Store, StoreError};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    pub id: ArtifactId,
    pub stage: String,
    pub bytes: u64,
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

impl TryFrom<Row> for Artifact {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.id.into(),
            stage: row.stage_key,
            bytes: from_column("artifacts.bytes", row.bytes)?,
            sha256: row.sha256,
            object: row.object,
        })
    }
}

#[boxed_futures]
impl Store {
    /// Returns whether a job's stage declares artifacts, or `None` if the job credentials are not valid.
    pub async fn declares_artifacts(
        &self,
        credentials: JobCredentials<'_>,
    ) -> Result<Option<bool>, StoreError> {
        let mut transaction = self.system_transaction(credentials.runner.organization_id).await?;
        match transaction.authenticated_job(credentials).await? {
            Some(own) => Ok(Some(transaction.declares_artifacts(&own).await?)),
            None => Ok(None),
        }
    }

    /// Records a job's artifact, if its stage declares one and it may still upload. A job has one artifact: a new one replaces an
    /// earlier one, which no other job can have received while this one runs.
    pub async fn store_artifact(
        &self,
        credentials: JobCredentials<'_>,
        artifact: &Artifact,
    ) -> Result<UploadPermission, StoreError> {
        let mut transaction = self.system_transaction(credentials.runner.organization_id).await?;
        let Some(own) = transaction.authenticated_job(credentials).await? else {
            return Ok(UploadPermission::Gone);
        };
        if !transaction.declares_artifacts(&own).await? {
            return Ok(UploadPermission::Gone);
        }
        let permission = transaction.upload_permission(credentials).await?;
        if permission != UploadPermission::Granted {
            return Ok(permission);
        }
        let organization = transaction.organization();
        let replaced = sqlx::query_scalar!(
            "delete from artifacts where organization_id = $1 and deployment_id = $2 and stage_key = $3 and job_id = $4
             returning object",
            organization,
            own.deployment_id.uuid(),
            own.stage,
            credentials.job.uuid(),
        )
        .fetch_all(transaction.connection())
        .await?;
        transaction.discard_unread_objects(&replaced).await?;
        let bytes: i64 = to_column("artifacts.bytes", artifact.bytes)?;
        sqlx::query!(
            "insert into artifacts (organization_id, id, deployment_id, stage_key, job_id, bytes, sha256, object)
             values ($1, $2, $3, $4, $5, $6, $7, $8)",
            organization,
            artifact.id.uuid(),
            own.deployment_id.uuid(),
            own.stage,
            credentials.job.uuid(),
            bytes,
            artifact.sha256,
            artifact.object,
        )
        .execute(transaction.connection())
        .await?;
        transaction.retain_object(&artifact.object).await?;
        transaction.commit().await?;
        Ok(UploadPermission::Granted)
    }

    /// Returns an artifact of the job's deployment.
    pub async fn artifact_for(
        &self,
        credentials: JobCredentials<'_>,
        id: ArtifactId,
    ) -> Result<JobLookup<Artifact>, StoreError> {
        let mut transaction = self.system_transaction(credentials.runner.organization_id).await?;
        let Some(own) = transaction.authenticated_job(credentials).await? else {
            return Ok(JobLookup::Gone);
        };
        let organization = transaction.organization();
        let row = sqlx::query_as!(
            Row,
            "select id, stage_key, bytes, sha256, object from artifacts
             where organization_id = $1 and id = $2 and deployment_id = $3",
            organization,
            id.uuid(),
            own.deployment_id.uuid(),
        )
        .fetch_optional(transaction.connection())
        .await?;
        Ok(row.map(Artifact::try_from).transpose()?.into())
    }
}

impl OrgTransaction {
    async fn declares_artifacts(&mut self, job: &AuthenticatedJob) -> Result<bool, StoreError> {
        let definition = self.definition_of(job.pipeline_id, job.definition_version).await?;
        Ok(definition.stage(&job.stage).is_some_and(|stage| !stage.artifacts.is_empty()))
    }

    /// Returns the newest artifact of each of these stages, from the stage's current attempt.
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
        rows.into_iter().map(Artifact::try_from).collect()
    }
}
