//! Caches: files that a pipeline reuses in later deployments, each one archive under a key. The first
//! complete upload under a key wins. A job can use the caches that its stage declares, in the zones that its
//! deployment may read and write (`CacheZone`).

use greenroom_api_types::cache::Cache as Record;
use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::cache::CacheZone;
use greenroom_domain::definition::is_cache_key;
use greenroom_domain::event::{EventType, NewEvent};
use greenroom_domain::id::{OrganizationId, PipelineId};
use greenroom_store::Command;
use greenroom_store::cache::{Cache, CacheRecord, CacheUpload};
use greenroom_store::job::JobCredentials;
use greenroom_store::object::cache_name;
use greenroom_store::pipeline::PipelineName;
use greenroom_worker::objects::ByteStream;
use uuid::Uuid;

use crate::App;
use crate::archive::{self, ArchiveDownload, ArchiveUpload, KeepOutcome, StoredArchive, open_download};
use crate::failure::{Code, Failure};
use crate::job::found;
use crate::job::refusal::{fence_outdated, gone};

/// Authorizes an upload before its first byte is read. Returns the pipeline that the cache will belong to.
#[boxed_futures]
pub async fn authorize(
    app: &App,
    credentials: JobCredentials<'_>,
    key: &str,
    announced: u64,
) -> Result<PipelineId, Failure> {
    if !is_cache_key(key) {
        return Err(Failure::field("key", "is no key that a pipeline's definition can have"));
    }
    archive::authorize(app, credentials, announced).await?;
    let own = app.store.job_cache(credentials, key).await?.ok_or_else(gone)?;
    if !own.declared {
        return Err(Failure::field("key", "is not the key of a cache of this job's stage"));
    }
    if own.access.write.is_none() {
        return Err(Failure::new(
            Code::InvalidState,
            "This deployment can reach an environment with `branches`, and the job has not proven a branch that each such \
             environment allows, so it stores no caches. Name the branch when the deployment is started, and report the checkout.",
        ));
    }
    Ok(own.pipeline_id)
}

/// Stores a cache. The caller must have called [`authorize`]. Idempotent: an existing cache under this key
/// wins, and the call succeeds.
#[boxed_futures]
pub async fn keep(
    app: &App,
    credentials: JobCredentials<'_>,
    pipeline: PipelineId,
    key: &str,
    sha256: Option<&str>,
    body: ByteStream,
) -> Result<(), Failure> {
    let object = cache_name(credentials.runner.organization_id, pipeline, Uuid::now_v7());
    let (name, key) = (object.clone(), key.to_owned());
    let upload = ArchiveUpload { object, sha256: sha256.map(str::to_owned), body };
    archive::upload(app, credentials, upload, move |app, owned, archive| async move {
        let StoredArchive { bytes, sha256 } = archive;
        let cache = Cache { bytes, sha256, object: name };
        Ok(match app.store.store_cache(owned.credentials(), &key, &cache).await? {
            CacheUpload::Stored => KeepOutcome::Kept,
            CacheUpload::AlreadyExists => KeepOutcome::Redundant,
            CacheUpload::Gone => KeepOutcome::Rejected(gone()),
            CacheUpload::FenceOutdated => KeepOutcome::Rejected(fence_outdated()),
        })
    })
    .await
}

#[boxed_futures]
pub async fn read(app: &App, credentials: JobCredentials<'_>, key: &str) -> Result<ArchiveDownload, Failure> {
    if !is_cache_key(key) {
        return Err(Failure::not_found());
    }
    let cache = found(app.store.use_cache(credentials, key).await?)?;
    match open_download(app, &cache.object, cache.sha256).await {
        // While the record exists, no upload under this key can succeed, so it is deleted.
        Err(failure) if failure.code == Code::ObjectMissing => {
            app.store.delete_missing_cache(credentials, key, &cache.object).await?;
            Err(Failure::not_found())
        }
        result => result,
    }
}

/// Returns the caches of a pipeline.
#[boxed_futures]
pub async fn list(
    app: &App,
    organization: OrganizationId,
    pipeline: PipelineId,
) -> Result<Vec<Record>, Failure> {
    Ok(app.store.caches(organization, pipeline).await?.into_iter().map(to_view).collect())
}

/// Deletes caches of a pipeline: all of them, or those with a key, in a zone, or both. Returns the deleted
/// ones.
#[boxed_futures]
pub async fn delete(
    command: &mut Command,
    name: &PipelineName,
    key: Option<&str>,
    zone: Option<&str>,
) -> Result<Vec<Record>, Failure> {
    let zone = zone.map(str::parse::<CacheZone>).transpose();
    let zone = zone.map_err(|_| Failure::field("zone", "must be `protected`, `open` or `session`"))?;
    if key.is_some_and(|key| !is_cache_key(key)) {
        return Err(Failure::field("key", "is no key that a pipeline's definition can have"));
    }
    let pipeline = command.pipeline_for_update(name).await?.ok_or_else(Failure::not_found)?;
    let deleted: Vec<Record> =
        command.delete_caches(pipeline.id, key, zone).await?.into_iter().map(to_view).collect();
    if !deleted.is_empty() {
        command
            .record_event(NewEvent {
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

fn to_view(cache: CacheRecord) -> Record {
    Record {
        key: cache.key,
        zone: cache.zone.to_string(),
        bytes: cache.bytes,
        created_at: cache.created_at,
        used_at: cache.used_at,
    }
}
