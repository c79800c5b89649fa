//! Whether a job may upload an archive (an artifact or a cache). This is checked before the first byte of an
//! upload is stored, and again in the transaction that records the stored object.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::deployment::Purpose;

use super::JobCredentials;
use crate::transaction::OrgTransaction;
use crate::{Store, StoreError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UploadPermission {
    Granted,
    /// The job is not assigned to this runner, has ended, or its lease has expired.
    Gone,
    /// The environment is held by another session now, so nothing may use the archives of this job.
    FenceOutdated,
}

#[boxed_futures]
impl Store {
    /// Returns whether a job may upload an archive now.
    pub async fn upload_permission(
        &self,
        credentials: JobCredentials<'_>,
    ) -> Result<UploadPermission, StoreError> {
        self.system_transaction(credentials.runner.organization_id)
            .await?
            .upload_permission(credentials)
            .await
    }
}

impl OrgTransaction {
    /// Returns whether a job may upload an archive now: it runs on this runner under a valid lease and,
    /// unless it is a teardown, for the session that holds the environment.
    pub(crate) async fn upload_permission(
        &mut self,
        credentials: JobCredentials<'_>,
    ) -> Result<UploadPermission, StoreError> {
        let organization = self.organization();
        let row = sqlx::query!(
            r#"select e.id is not null and d.purpose <> $5 and (d.fence is distinct from e.fence
                   or e.expires_at is null or e.expires_at <= clock_timestamp()) as "outdated!"
               from jobs j
               join deployments d on d.organization_id = $1 and d.id = j.deployment_id
               left join environments e on e.organization_id = $1 and e.id = d.environment_id
               where j.organization_id = $1 and j.id = $2 and j.runner_id = $3 and j.secret_hash = $4
                 and j.status = 'running' and j.lease_expires_at > clock_timestamp()"#,
            organization,
            credentials.job.uuid(),
            credentials.runner.id.uuid(),
            credentials.secret.as_slice(),
            Purpose::Teardown.as_str(),
        )
        .fetch_optional(self.connection())
        .await?;
        Ok(match row {
            None => UploadPermission::Gone,
            Some(row) if row.outdated => UploadPermission::FenceOutdated,
            Some(_) => UploadPermission::Granted,
        })
    }
}
