//! Caches that a pipeline keeps between deployments, and their objects in the object store. A cache belongs
//! to one pipeline and one zone (`CacheZone`: which deployments may have written it), and is immutable under
//! its key. Which zones a job reads and writes follows from its deployment.

use greenroom_domain::cache::{CacheAccess, CacheZone, cache_access};
use greenroom_domain::id::{OrganizationId, PipelineId};
use jiff::Timestamp;

use crate::error::{from_column, parse_column, to_column};
use crate::job::{JobCredentials, JobLookup, UploadPermission};
use crate::transaction::OrgTransaction;
use crate::{Store, StoreError};

/// Beyond this number, the least recently used caches of a pipeline's zone are removed.
const MAX_CACHES_PER_ZONE: i64 = 100;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    pub bytes: u64,
    pub sha256: String,
    pub object: String,
}

/// A cache as it is listed for users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheRecord {
    pub key: String,
    pub zone: CacheZone,
    pub bytes: u64,
    pub created_at: Timestamp,
    pub used_at: Timestamp,
}

/// What a job may do with the cache under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobCache {
    pub pipeline_id: PipelineId,
    /// The job's stage declares a cache with this key.
    pub declared: bool,
    pub access: CacheAccess,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheUpload {
    Stored,
    /// A cache exists under the key. It stays, and the uploaded one is discarded.
    AlreadyExists,
    /// The job is not, or no longer, assigned to this runner, or it may not write this cache.
    Gone,
    /// The environment is held by another session now.
    FenceOutdated,
}

impl Store {
    /// Returns what a job may do with the cache under a key, or `None` if the job credentials are not valid.
    pub async fn job_cache(
        &self,
        credentials: JobCredentials<'_>,
        key: &str,
    ) -> Result<Option<JobCache>, StoreError> {
        self.system_transaction(credentials.runner.organization_id).await?.job_cache(credentials, key).await
    }

    /// Returns the cache of a job's pipeline under a key, and updates its time of use.
    pub async fn use_cache(
        &self,
        credentials: JobCredentials<'_>,
        key: &str,
    ) -> Result<JobLookup<Cache>, StoreError> {
        let mut transaction = self.system_transaction(credentials.runner.organization_id).await?;
        let Some(own) = transaction.job_cache(credentials, key).await? else {
            return Ok(JobLookup::Gone);
        };
        if !own.declared {
            return Ok(JobLookup::NotFound);
        }
        let organization = transaction.organization();
        let mut found = None;
        for zone in own.access.read {
            let row = sqlx::query!(
                "update caches set used_at = clock_timestamp()
                 where organization_id = $1 and pipeline_id = $2 and zone = $3 and key = $4
                 returning bytes, sha256, object",
                organization,
                own.pipeline_id.uuid(),
                zone.as_str(),
                key,
            )
            .fetch_optional(transaction.connection())
            .await?;
            if let Some(row) = row {
                let bytes = from_column("caches.bytes", row.bytes)?;
                found = Some(Cache { bytes, sha256: row.sha256, object: row.object });
                break;
            }
        }
        transaction.commit().await?;
        Ok(found.into())
    }

    /// Deletes a cache whose object is missing from the object store.
    pub async fn delete_missing_cache(
        &self,
        credentials: JobCredentials<'_>,
        key: &str,
        object: &str,
    ) -> Result<(), StoreError> {
        let mut transaction = self.system_transaction(credentials.runner.organization_id).await?;
        let Some(own) = transaction.authenticated_job(credentials).await? else { return Ok(()) };
        let organization = transaction.organization();
        sqlx::query!(
            "delete from caches where organization_id = $1 and pipeline_id = $2 and key = $3 and object = $4",
            organization,
            own.pipeline_id.uuid(),
            key,
            object,
        )
        .execute(transaction.connection())
        .await?;
        transaction.commit().await
    }

    /// Records a complete cache, unless one exists under its key.
    pub async fn store_cache(
        &self,
        credentials: JobCredentials<'_>,
        key: &str,
        cache: &Cache,
    ) -> Result<CacheUpload, StoreError> {
        let mut transaction = self.system_transaction(credentials.runner.organization_id).await?;
        let own = transaction.job_cache(credentials, key).await?.filter(|own| own.declared);
        let Some((pipeline, zone)) = own.and_then(|own| Some((own.pipeline_id, own.access.write?))) else {
            return Ok(CacheUpload::Gone);
        };
        match transaction.upload_permission(credentials).await? {
            UploadPermission::Granted => {}
            UploadPermission::Gone => return Ok(CacheUpload::Gone),
            UploadPermission::FenceOutdated => return Ok(CacheUpload::FenceOutdated),
        }
        let organization = transaction.organization();
        let bytes: i64 = to_column("caches.bytes", cache.bytes)?;
        let inserted = sqlx::query!(
            "insert into caches (organization_id, pipeline_id, zone, key, bytes, sha256, object)
             values ($1, $2, $3, $4, $5, $6, $7) on conflict (organization_id, pipeline_id, zone, key) do nothing",
            organization,
            pipeline.uuid(),
            zone.as_str(),
            key,
            bytes,
            cache.sha256,
            cache.object,
        )
        .execute(transaction.connection())
        .await?;
        if inserted.rows_affected() == 0 {
            return Ok(CacheUpload::AlreadyExists);
        }
        transaction.retain_object(&cache.object).await?;
        let evicted = sqlx::query_scalar!(
            "delete from caches where organization_id = $1 and pipeline_id = $2 and zone = $3 and key in (
                 select c.key from caches c where c.organization_id = $1 and c.pipeline_id = $2 and c.zone = $3
                 order by c.used_at desc, c.key offset $4)
             returning object",
            organization,
            pipeline.uuid(),
            zone.as_str(),
            MAX_CACHES_PER_ZONE,
        )
        .fetch_all(transaction.connection())
        .await?;
        transaction.discard_objects(&evicted).await?;
        transaction.commit().await?;
        Ok(CacheUpload::Stored)
    }

    /// Returns all caches of a pipeline, ordered by key and zone.
    pub async fn caches(
        &self,
        organization: OrganizationId,
        pipeline: PipelineId,
    ) -> Result<Vec<CacheRecord>, StoreError> {
        let rows = sqlx::query!(
            "select key, zone, bytes, created_at, used_at from caches
             where organization_id = $1 and pipeline_id = $2 order by key, zone",
            organization.uuid(),
            pipeline.uuid(),
        )
        .fetch_all(&self.pool())
        .await?;
        rows.into_iter()
            .map(|row| {
                Ok(CacheRecord {
                    key: row.key,
                    zone: parse_column("caches.zone", &row.zone)?,
                    bytes: from_column("caches.bytes", row.bytes)?,
                    created_at: row.created_at.to_jiff(),
                    used_at: row.used_at.to_jiff(),
                })
            })
            .collect()
    }
}

impl OrgTransaction {
    /// Returns what a job may do with the cache under a key, or `None` if the job credentials are not valid.
    async fn job_cache(
        &mut self,
        credentials: JobCredentials<'_>,
        key: &str,
    ) -> Result<Option<JobCache>, StoreError> {
        let Some(own) = self.authenticated_job(credentials).await? else { return Ok(None) };
        let organization = self.organization();
        let row = sqlx::query!(
            r#"select d.definition_version, d.purpose, d.branch, j.proven_branch,
                      p.repository is not null as "has_repository!"
               from jobs j
               join deployments d on d.organization_id = $1 and d.id = j.deployment_id
               join pipelines p on p.organization_id = $1 and p.id = d.pipeline_id
               where j.organization_id = $1 and j.id = $2"#,
            organization,
            credentials.job.uuid(),
        )
        .fetch_one(self.connection())
        .await?;
        let definition = self.definition_of(own.pipeline_id, row.definition_version).await?;
        let caches = definition.stage(&own.stage).map(|stage| stage.caches.as_slice()).unwrap_or_default();
        let purpose = parse_column("deployments.purpose", &row.purpose)?;
        // A checkout proves that the commit is on the named branch. Without a repository there is no
        // checkout, so the branch is ignored.
        let named = row.branch.as_deref().filter(|_| row.has_repository);
        Ok(Some(JobCache {
            pipeline_id: own.pipeline_id,
            declared: caches.iter().any(|cache| cache.key == key),
            access: cache_access(&definition, purpose, named, row.proven_branch.as_deref()),
        }))
    }

    /// Removes caches of a pipeline, optionally only those with a key or in a zone. Returns the removed
    /// caches.
    pub async fn delete_caches(
        &mut self,
        pipeline: PipelineId,
        key: Option<&str>,
        zone: Option<CacheZone>,
    ) -> Result<Vec<CacheRecord>, StoreError> {
        let organization = self.organization();
        let rows = sqlx::query!(
            "delete from caches where organization_id = $1 and pipeline_id = $2
                 and ($3::text is null or key = $3) and ($4::text is null or zone = $4)
             returning key, zone, bytes, created_at, used_at, object",
            organization,
            pipeline.uuid(),
            key,
            zone.map(CacheZone::as_str),
        )
        .fetch_all(self.connection())
        .await?;
        let objects: Vec<String> = rows.iter().map(|row| row.object.clone()).collect();
        self.discard_objects(&objects).await?;
        let records = rows.into_iter().map(|row| {
            Ok(CacheRecord {
                key: row.key,
                zone: parse_column("caches.zone", &row.zone)?,
                bytes: from_column("caches.bytes", row.bytes)?,
                created_at: row.created_at.to_jiff(),
                used_at: row.used_at.to_jiff(),
            })
        });
        let mut records = records.collect::<Result<Vec<_>, StoreError>>()?;
        records.sort_by(|one, other| (&one.key, one.zone.as_str()).cmp(&(&other.key, other.zone.as_str())));
        Ok(records)
    }

    /// Removes all caches of a pipeline that was archived: it has no more deployments.
    pub async fn drop_caches(&mut self, pipeline: PipelineId) -> Result<(), StoreError> {
        self.delete_caches(pipeline, None, None).await.map(drop)
    }
}
