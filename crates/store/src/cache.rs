//! What a pipeline keeps from one deployment to the next: where it is, in the object store. A cache belongs to one pipeline
//! and never changes under its key; the job that speaks says which pipeline that is.

use greenroom_domain::id::PipelineId;

use crate::change::Change;
use crate::job::JobWord;
use crate::{Store, StoreError};

/// A pipeline has no more; then those go that were not used for the longest time.
const MOST: i64 = 100;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    pub bytes: i64,
    pub sha256: String,
    pub object: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptCache {
    Yes,
    /// There was one under the key: it stays, and this one goes.
    WasThere,
    /// The job is not this runner's, or not any more.
    Gone,
}

impl Store {
    /// The cache of a job's pipeline under a key, which counts as a use of it. The outer `None`: the job is not this runner's.
    pub async fn use_cache(&self, word: JobWord<'_>, key: &str) -> Result<Option<Option<Cache>>, StoreError> {
        let mut change = self.change_by_clock(word.runner.organization_id).await?;
        let Some(own) = change.own_job(word).await? else { return Ok(None) };
        let organization = change.organization();
        let row = sqlx::query_as!(
            Cache,
            "update caches set used_at = clock_timestamp()
             where organization_id = $1 and pipeline_id = $2 and key = $3
             returning bytes, sha256, object",
            organization,
            own.pipeline_id.uuid(),
            key,
        )
        .fetch_optional(change.connection())
        .await?;
        change.commit().await?;
        Ok(Some(row))
    }

    /// Whose caches a job may keep; `None` if the job is not this runner's.
    pub async fn pipeline_of_job(&self, word: JobWord<'_>) -> Result<Option<PipelineId>, StoreError> {
        let mut change = self.change_by_clock(word.runner.organization_id).await?;
        Ok(change.own_job(word).await?.map(|own| own.pipeline_id))
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
        let Some(own) = change.own_job(word).await? else { return Ok(KeptCache::Gone) };
        let organization = change.organization();
        let kept = sqlx::query!(
            "insert into caches (organization_id, pipeline_id, key, bytes, sha256, object)
             values ($1, $2, $3, $4, $5, $6) on conflict (organization_id, pipeline_id, key) do nothing",
            organization,
            own.pipeline_id.uuid(),
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
            "delete from caches where organization_id = $1 and pipeline_id = $2 and key in (
                 select c.key from caches c where c.organization_id = $1 and c.pipeline_id = $2
                 order by c.used_at desc, c.key offset $3)
             returning object",
            organization,
            own.pipeline_id.uuid(),
            MOST,
        )
        .fetch_all(change.connection())
        .await?;
        change.discard_objects(&least_used).await?;
        change.commit().await?;
        Ok(KeptCache::Yes)
    }
}

impl Change {
    /// An archived pipeline deploys nothing any more.
    pub async fn drop_caches(&mut self, pipeline: PipelineId) -> Result<(), StoreError> {
        let organization = self.organization();
        let objects = sqlx::query_scalar!(
            "delete from caches where organization_id = $1 and pipeline_id = $2 returning object",
            organization,
            pipeline.uuid(),
        )
        .fetch_all(self.connection())
        .await?;
        self.discard_objects(&objects).await
    }
}
