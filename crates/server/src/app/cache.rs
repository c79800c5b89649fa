//! Caches: what a pipeline keeps from one deployment to the next, each as one archive under a key. The first complete one
//! under a key stays. A job has those that its own stage declares, in the zones of its deployment.

use axum::body::Body;
use greenroom_api_types::cache::Cache as Record;
use greenroom_domain::cache::CacheZone;
use greenroom_domain::definition::is_cache_key;
use greenroom_domain::event::{EventType, NewEvent};
use greenroom_domain::id::{OrganizationId, PipelineId};
use greenroom_store::Command;
use greenroom_store::cache::{Cache, CacheRecord, KeptCache};
use greenroom_store::job::JobWord;
use greenroom_store::object::cache_name;
use greenroom_store::pipeline::PipelineName;
use uuid::Uuid;

use crate::app::App;
use crate::app::archive::{self, Kept, Outgoing, TakenIn, give_out};
use crate::app::failure::{Code, Failure};
use crate::app::job::{fence_outdated, gone};

/// The check before the first byte of a cache is read: the pipeline that it would belong to.
pub async fn authorize(
    app: &App,
    word: JobWord<'_>,
    key: &str,
    announced: u64,
) -> Result<PipelineId, Failure> {
    if !is_cache_key(key) {
        return Err(Failure::field("key", "is no key that a pipeline's definition can have"));
    }
    archive::authorize(app, word, announced).await?;
    let own = app.store.job_cache(word, key).await?.ok_or_else(gone)?;
    if !own.declared {
        return Err(Failure::field("key", "is not the key of a cache of this job's stage"));
    }
    if own.access.write.is_none() {
        return Err(Failure::new(
            Code::InvalidState,
            "This deployment names a protected branch, and the job has not proven that its commit is on it: report the \
             checkout first.",
        ));
    }
    Ok(own.pipeline_id)
}

/// After [`authorize`]. To keep one where there is one already is as good as having kept it.
pub async fn keep(
    app: &App,
    word: JobWord<'_>,
    (pipeline, key): (PipelineId, &str),
    sha256: Option<&str>,
    body: Body,
) -> Result<(), Failure> {
    let object = cache_name(word.runner.organization_id, pipeline, Uuid::now_v7());
    let (name, key) = (object.clone(), key.to_owned());
    archive::upload(app, word, (object, sha256), body, move |app, credentials, taken| async move {
        let TakenIn { bytes, sha256 } = taken;
        let cache = Cache { bytes, sha256, object: name };
        Ok(match app.store.keep_cache(credentials.word(), &key, &cache).await? {
            KeptCache::Yes => Kept::Yes,
            KeptCache::WasThere => Kept::Redundant,
            KeptCache::Gone => Kept::Rejected(gone()),
            KeptCache::FenceOutdated => Kept::Rejected(fence_outdated()),
        })
    })
    .await
}

pub async fn read(app: &App, word: JobWord<'_>, key: &str) -> Result<Outgoing, Failure> {
    if !is_cache_key(key) {
        return Err(Failure::not_found());
    }
    let found = app.store.use_cache(word, key).await?.ok_or_else(gone)?;
    let cache = found.ok_or_else(Failure::not_found)?;
    match give_out(app, &cache.object, cache.sha256).await {
        // Nobody could keep another one under this key as long as it counts as kept.
        Err(failure) if failure.code == Code::ObjectMissing => {
            app.store.lose_cache(word, key, &cache.object).await?;
            Err(Failure::not_found())
        }
        given => given,
    }
}

/// The caches of a pipeline.
pub async fn list(
    app: &App,
    organization: OrganizationId,
    pipeline: PipelineId,
) -> Result<Vec<Record>, Failure> {
    Ok(app.store.caches(organization, pipeline).await?.into_iter().map(shown).collect())
}

/// Removes caches of a pipeline: all of them, or those with a key, in a zone, or both. What was removed.
pub async fn delete(
    command: &mut Command,
    name: &PipelineName,
    key: Option<&str>,
    zone: Option<&str>,
) -> Result<Vec<Record>, Failure> {
    let zone = zone.map(str::parse::<CacheZone>).transpose();
    let zone = zone.map_err(|_| Failure::field("zone", "must be `protected` or `open`"))?;
    if key.is_some_and(|key| !is_cache_key(key)) {
        return Err(Failure::field("key", "is no key that a pipeline's definition can have"));
    }
    let pipeline = command.pipeline_for_update(name).await?.ok_or_else(Failure::not_found)?;
    let deleted: Vec<Record> =
        command.delete_caches(pipeline.id, key, zone).await?.into_iter().map(shown).collect();
    if !deleted.is_empty() {
        command
            .tell(NewEvent {
                event_type: EventType::CacheDeleted,
                subject: format!("pipelines/{}", pipeline.id),
                before: serde_json::to_value(&deleted).ok(),
                after: None,
                reason: None,
            })
            .await?;
    }
    Ok(deleted)
}

fn shown(cache: CacheRecord) -> Record {
    Record {
        key: cache.key,
        zone: cache.zone.to_string(),
        bytes: u64::try_from(cache.bytes).unwrap_or_default(),
        created_at: cache.created_at,
        used_at: cache.used_at,
    }
}
