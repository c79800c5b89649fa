//! What a pipeline keeps from one deployment to the next: where it is, in the object store. A cache belongs to one pipeline
//! and one zone, and never changes under its key; which zones a job reads and writes follows from its deployment.

use greenroom_domain::cache::{CacheAccess, CacheZone, cache_access};
use greenroom_domain::id::{OrganizationId, PipelineId};
use jiff::Timestamp;

use crate::change::Change;
use crate::job::{JobWord, UploadPermission};
use crate::{Store, StoreError};

/// A pipeline has no more in one zone; then those go that were not used for the longest time.
const MOST: i64 = 100;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    pub bytes: i64,
    pub sha256: String,
    pub object: String,
}

/// A cache as people see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheRecord {
    pub key: String,
    pub zone: CacheZone,
    pub bytes: i64,
    pub created_at: Timestamp,
    pub used_at: Timestamp,
}

/// What a job may do with the cache under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobCache {
    pub pipeline_id: PipelineId,
    /// The job's own stage has a cache with this key.
    pub declared: bool,
    pub access: CacheAccess,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptCache {
    Yes,
    /// There was one under the key: it stays, and this one goes.
    WasThere,
    /// The job is not this runner's, or not any more; or it may not write here.
    Gone,
    /// The environment has passed on to another session.
    FenceOutdated,
}

impl Store {
    /// What a job may do with the cache under a key; `None` if the job is not this runner's.
    pub async fn job_cache(&self, word: JobWord<'_>, key: &str) -> Result<Option<JobCache>, StoreError> {
        self.change_by_clock(word.runner.organization_id).await?.job_cache(word, key).await
    }

    /// The cache of a job's pipeline under a key, which counts as a use of it. The outer `None`: the job is not this runner's.
    pub async fn use_cache(&self, word: JobWord<'_>, key: &str) -> Result<Option<Option<Cache>>, StoreError> {
        let mut change = self.change_by_clock(word.runner.organization_id).await?;
        let Some(own) = change.job_cache(word, key).await? else { return Ok(None) };
        if !own.declared {
            return Ok(Some(None));
        }
        let organization = change.organization();
        let mut found = None;
        for zone in own.access.read {
            found = sqlx::query_as!(
                Cache,
                "update caches set used_at = clock_timestamp()
                 where organization_id = $1 and pipeline_id = $2 and zone = $3 and key = $4
                 returning bytes, sha256, object",
                organization,
                own.pipeline_id.uuid(),
                zone.as_str(),
                key,
            )
            .fetch_optional(change.connection())
            .await?;
            if found.is_some() {
                break;
            }
        }
        change.commit().await?;
        Ok(Some(found))
    }

    /// A cache whose object is not there is none.
    pub async fn lose_cache(&self, word: JobWord<'_>, key: &str, object: &str) -> Result<(), StoreError> {
        let mut change = self.change_by_clock(word.runner.organization_id).await?;
        let Some(own) = change.own_job(word).await? else { return Ok(()) };
        let organization = change.organization();
        sqlx::query!(
            "delete from caches where organization_id = $1 and pipeline_id = $2 and key = $3 and object = $4",
            organization,
            own.pipeline_id.uuid(),
            key,
            object,
        )
        .execute(change.connection())
        .await?;
        change.commit().await
    }

    /// Keeps a complete cache, unless there is one under its key.
    pub async fn keep_cache(
        &self,
        word: JobWord<'_>,
        key: &str,
        cache: &Cache,
    ) -> Result<KeptCache, StoreError> {
        let mut change = self.change_by_clock(word.runner.organization_id).await?;
        let own = change.job_cache(word, key).await?.filter(|own| own.declared);
        let Some((pipeline, zone)) = own.and_then(|own| Some((own.pipeline_id, own.access.write?))) else {
            return Ok(KeptCache::Gone);
        };
        match change.upload_permission(word).await? {
            UploadPermission::Granted => {}
            UploadPermission::Gone => return Ok(KeptCache::Gone),
            UploadPermission::FenceOutdated => return Ok(KeptCache::FenceOutdated),
        }
        let organization = change.organization();
        let kept = sqlx::query!(
            "insert into caches (organization_id, pipeline_id, zone, key, bytes, sha256, object)
             values ($1, $2, $3, $4, $5, $6, $7) on conflict (organization_id, pipeline_id, zone, key) do nothing",
            organization,
            pipeline.uuid(),
            zone.as_str(),
            key,
            cache.bytes,
            cache.sha256,
            cache.object,
        )
        .execute(change.connection())
        .await?;
        if kept.rows_affected() == 0 {
            return Ok(KeptCache::WasThere);
        }
        change.keep_object(&cache.object).await?;
        let least_used = sqlx::query_scalar!(
            "delete from caches where organization_id = $1 and pipeline_id = $2 and zone = $3 and key in (
                 select c.key from caches c where c.organization_id = $1 and c.pipeline_id = $2 and c.zone = $3
                 order by c.used_at desc, c.key offset $4)
             returning object",
            organization,
            pipeline.uuid(),
            zone.as_str(),
            MOST,
        )
        .fetch_all(change.connection())
        .await?;
        change.discard_objects(&least_used).await?;
        change.commit().await?;
        Ok(KeptCache::Yes)
    }

    /// All caches of a pipeline, by key and zone.
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
                    zone: crate::error::word("caches.zone", &row.zone)?,
                    bytes: row.bytes,
                    created_at: row.created_at.to_jiff(),
                    used_at: row.used_at.to_jiff(),
                })
            })
            .collect()
    }
}

impl Change {
    /// What a job may do with the cache under a key; `None` if the job is not this runner's.
    async fn job_cache(&mut self, word: JobWord<'_>, key: &str) -> Result<Option<JobCache>, StoreError> {
        let Some(own) = self.own_job(word).await? else { return Ok(None) };
        let organization = self.organization();
        let row = sqlx::query!(
            r#"select d.definition_version, d.purpose, d.branch, j.proven_branch,
                      p.repository is not null as "has_repository!"
               from jobs j
               join deployments d on d.organization_id = $1 and d.id = j.deployment_id
               join pipelines p on p.organization_id = $1 and p.id = d.pipeline_id
               where j.organization_id = $1 and j.id = $2"#,
            organization,
            word.job.uuid(),
        )
        .fetch_one(self.connection())
        .await?;
        let definition = self.definition_of(own.pipeline_id, row.definition_version).await?;
        let caches = definition.stage(&own.stage).map(|stage| stage.caches.as_slice()).unwrap_or_default();
        let purpose = crate::error::word("deployments.purpose", &row.purpose)?;
        // Without a repository nothing can be proven, so no branch counts.
        let named = row.branch.as_deref().filter(|_| row.has_repository);
        Ok(Some(JobCache {
            pipeline_id: own.pipeline_id,
            declared: caches.iter().any(|cache| cache.key == key),
            access: cache_access(&definition, purpose, named, row.proven_branch.as_deref()),
        }))
    }

    /// Removes caches of a pipeline: all of them, or those with a key, in a zone, or both. What was removed.
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
                zone: crate::error::word("caches.zone", &row.zone)?,
                bytes: row.bytes,
                created_at: row.created_at.to_jiff(),
                used_at: row.used_at.to_jiff(),
            })
        });
        let mut records = records.collect::<Result<Vec<_>, StoreError>>()?;
        records.sort_by(|one, other| (&one.key, one.zone.as_str()).cmp(&(&other.key, other.zone.as_str())));
        Ok(records)
    }

    /// An archived pipeline deploys nothing any more.
    pub async fn drop_caches(&mut self, pipeline: PipelineId) -> Result<(), StoreError> {
        self.delete_caches(pipeline, None, None).await.map(drop)
    }
}
