//! The archives of the steps of registries that a job may fetch: those that its definition has locked.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::OrganizationId;
use greenroom_domain::step::StepDigest;

use crate::error::{from_column, to_column};
use crate::job::{JobCredentials, JobLookup};
use crate::{Store, StoreError};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepArchive {
    pub bytes: u64,
    /// The SHA-256 of the archive, in hexadecimal digits. Not the digest, which is that of the files.
    pub sha256: String,
}

#[boxed_futures]
impl Store {
    /// Returns the archive of a digest, if the version of the definition that the job's deployment runs has locked it.
    pub async fn step_archive_for(
        &self,
        credentials: JobCredentials<'_>,
        digest: &StepDigest,
    ) -> Result<JobLookup<StepArchive>, StoreError> {
        let mut transaction = self.system_transaction(credentials.runner.organization_id).await?;
        let Some(own) = transaction.authenticated_job(credentials).await? else {
            return Ok(JobLookup::Gone);
        };
        let organization = transaction.organization();
        let row = sqlx::query!(
            r#"select octet_length(a.archive) as "bytes!", encode(sha256(a.archive), 'hex') as "sha256!"
               from step_archives a
               where a.organization_id = $1 and a.digest = $2 and exists (
                   select 1 from deployments d
                   join step_locks l on l.organization_id = $1 and l.pipeline_id = d.pipeline_id
                       and l.pipeline_version = d.definition_version
                   where d.organization_id = $1 and d.id = $3 and l.digest = $2)"#,
            organization,
            digest.as_str(),
            own.deployment_id.uuid(),
        )
        .fetch_optional(transaction.connection())
        .await?;
        let found = row.map(|row| {
            let bytes = from_column("step_archives.archive", row.bytes)?;
            Ok::<_, StoreError>(StepArchive { bytes, sha256: row.sha256 })
        });
        Ok(found.transpose()?.into())
    }

    /// Returns a piece of an archive, without checking any credentials; empty at its end.
    pub async fn step_archive_piece(
        &self,
        organization: OrganizationId,
        digest: &StepDigest,
        offset: u64,
        max_bytes: u32,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        // The first byte has the position 1.
        let position: i32 = to_column("step_archives.archive", offset.saturating_add(1))?;
        let length: i32 = to_column("step_archives.archive", max_bytes)?;
        Ok(sqlx::query_scalar!(
            r#"select substring(archive from $3 for $4) as "piece!" from step_archives
               where organization_id = $1 and digest = $2"#,
            organization.uuid(),
            digest.as_str(),
            position,
            length,
        )
        .fetch_optional(&self.pool())
        .await?)
    }
}
