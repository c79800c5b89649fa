//! Caches: what a pipeline keeps from one deployment to the next, each as one archive under a key. The first complete one
//! under a key stays.

use axum::body::Body;
use greenroom_domain::definition::is_cache_key;
use greenroom_store::cache::{Cache, KeptCache};
use greenroom_store::job::JobWord;
use greenroom_store::object::cache_name;
use uuid::Uuid;

use crate::app::App;
use crate::app::archive::{Outgoing, TakenIn, give_out, take_in};
use crate::app::failure::{Code, Failure};
use crate::app::job::gone;

/// To keep one where there is one already is as good as having kept it.
pub async fn keep(
    app: &App,
    word: JobWord<'_>,
    key: &str,
    sha256: Option<&str>,
    body: Body,
) -> Result<(), Failure> {
    if !is_cache_key(key) {
        return Err(Failure::field("key", "is no key that a pipeline's definition can have"));
    }
    let organization = word.runner.organization_id;
    let pipeline = app.store.pipeline_of_job(word).await?.ok_or_else(gone)?;
    let object = cache_name(organization, pipeline, Uuid::now_v7());
    let TakenIn { bytes, sha256 } = take_in(app, organization, &object, sha256, body).await?;
    let cache = Cache { bytes, sha256, object };
    let kept = app.store.keep_cache(word, key, &cache).await?;
    if kept != KeptCache::Yes {
        app.store.forget_object(organization, &cache.object).await?;
    }
    if kept == KeptCache::Gone { Err(gone()) } else { Ok(()) }
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
