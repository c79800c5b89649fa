//! Caches that a pipeline keeps between deployments, and their objects in the object store. A cache belongs
//! to one pipeline and one zone (`CacheZone`: which deployments may have written it), and is immutable under
//! its key. Which zones a job reads and writes follows from its deployment.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::cache::{CacheAccess, CacheZone, cache_access};
use greenroom_domain::definition::Stage;
use greenroom_domain::id::{OrganizationId, PipelineId};
use greenroom_domain::provenance::{Pool, takes_from};
use greenroom_domain::runner_pool::Restriction;
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
#[derive(Clone, Debug, PartialEq)]
pub struct JobCache {
    pub pipeline_id: PipelineId,
    /// The job's stage, if the definition still has it.
    stage: Option<Stage>,
    /// The pool in which it runs.
    pool: String,
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

#[boxed_futures]
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
        let found = match &own.stage {
            Some(stage) => {
                transaction.readable_cache(own.pipeline_id, (stage, &own.pool), key, own.access.read).await?
            }
            None => None,
        };
        if let Some(found) = &found {
            let organization = transaction.organization();
            sqlx::query!(
                "update caches set used_at = clock_timestamp()
                 where organization_id = $1 and pipeline_id = $2 and key = $3 and object = $4",
                organization,
                own.pipeline_id.uuid(),
                key,
                found.object,
            )
            .execute(transaction.connection())
            .await?;
            transaction.record_cache_input(credentials.job, key, &found.object).await?;
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
        let Some((zone, own)) = own.and_then(|own| Some((own.access.write?, own))) else {
            return Ok(CacheUpload::Gone);
        };
        let pipeline = own.pipeline_id;
        match transaction.upload_permission(credentials).await? {
            UploadPermission::Granted => {}
            UploadPermission::Gone => return Ok(CacheUpload::Gone),
            UploadPermission::FenceOutdated => return Ok(CacheUpload::FenceOutdated),
        }
        let organization = transaction.organization();
        let bytes: i64 = to_column("caches.bytes", cache.bytes)?;
        let inserted = sqlx::query!(
            "insert into caches (organization_id, pipeline_id, zone, key, bytes, sha256, object, stage_key, pool_id)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (organization_id, pipeline_id, zone, key) do nothing",
            organization,
            pipeline.uuid(),
            zone.as_str(),
            key,
            bytes,
            cache.sha256,
            cache.object,
            own.stage.map(|stage| stage.key),
            credentials.runner.pool_id.uuid(),
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

#[boxed_futures]
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
            r#"select d.purpose, j.proven_branch, p.repository is not null as "has_repository!", r.name as pool
               from jobs j
               join runner_pools r on r.organization_id = $1 and r.id = j.pool_id
               join deployments d on d.organization_id = $1 and d.id = j.deployment_id
               join pipelines p on p.organization_id = $1 and p.id = d.pipeline_id
               where j.organization_id = $1 and j.id = $2"#,
            organization,
            credentials.job.uuid(),
        )
        .fetch_one(self.connection())
        .await?;
        let definition = self.definition_of(own.pipeline_id, own.definition_version).await?;
        let stage = definition.stage(&own.stage);
        let caches = stage.map(|stage| stage.caches.as_slice()).unwrap_or_default();
        let purpose = parse_column("deployments.purpose", &row.purpose)?;
        Ok(Some(JobCache {
            pipeline_id: own.pipeline_id,
            stage: stage.cloned(),
            pool: row.pool,
            declared: caches.iter().any(|cache| cache.key == key),
            access: cache_access(&definition, purpose, row.has_repository, row.proven_branch.as_deref()),
        }))
    }

    /// Returns the cache that a job of a stage and pool gets under a key: of the first of the zones that has one, if the pool
    /// takes it.
    pub(crate) async fn readable_cache(
        &mut self,
        pipeline: PipelineId,
        (stage, pool): (&Stage, &str),
        key: &str,
        zones: &[CacheZone],
    ) -> Result<Option<Cache>, StoreError> {
        let organization = self.organization();
        let names: Vec<String> = zones.iter().map(|zone| zone.as_str().to_owned()).collect();
        let rows = sqlx::query!(
            r#"select c.bytes, c.sha256, c.object, c.stage_key, p.name as "pool?"
               from caches c
               left join runner_pools p on p.organization_id = $1 and p.id = c.pool_id
               where c.organization_id = $1 and c.pipeline_id = $2 and c.key = $3 and c.zone = any($4)
               order by array_position($4, c.zone)"#,
            organization,
            pipeline.uuid(),
            key,
            &names,
        )
        .fetch_all(self.connection())
        .await?;
        if rows.is_empty() {
            return Ok(None);
        }
        let (restricted, unrestricted) = (self.restricted_pools().await?, Restriction::default());
        let restriction = |name: &str| restricted.get(name).unwrap_or(&unrestricted);
        let own = Pool { name: pool, restriction: restriction(pool) };
        // Who left a cache from before this was recorded is not known.
        let taken = rows.into_iter().find(|row| {
            let (maker, pool) =
                (row.stage_key.as_deref().unwrap_or_default(), row.pool.as_deref().unwrap_or_default());
            takes_from(stage, own, maker, Pool { name: pool, restriction: restriction(pool) })
        });
        let cache = taken.map(|row| {
            let bytes = from_column("caches.bytes", row.bytes)?;
            Ok::<_, StoreError>(Cache { bytes, sha256: row.sha256, object: row.object })
        });
        cache.transpose()
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
