//! `/organizations/{orgId}/pipelines/{pipelineId}/caches`: what a pipeline keeps from one deployment to the next.

use axum::Json;
use greenroom_api_types::cache::Cache;
use greenroom_api_types::envelope::Data;
use greenroom_domain::policy::action::PipelineEdit;
use greenroom_store::pipeline::PipelineName;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::app::cache;
use crate::app::failure::Failure;
use crate::http::answer::Answer;
use crate::http::idempotency::IdempotencyKey;
use crate::http::mutation::Answered;
use crate::http::path::{At, PipelinePath};
use crate::http::permit::Permit;
use crate::http::query::Query;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct CacheQuery {
    /// Only the caches with this key.
    key: Option<String>,
    /// Only the caches of this zone: `protected` or `open`.
    zone: Option<String>,
}

/// List the caches of a pipeline, by key
#[utoipa::path(get, path = "/organizations/{orgId}/pipelines/{pipelineId}/caches", tag = "pipelines",
    params(("orgId" = String, Path, description = "Id or slug"), ("pipelineId" = String, Path, description = "Id or slug")),
    responses((status = 200, body = Data<Vec<Cache>>)))]
pub async fn list_caches(
    permit: Permit<PipelineEdit>,
    path: At<PipelinePath>,
) -> Result<Json<Data<Vec<Cache>>>, Failure> {
    let (store, organization) = (&permit.app.store, permit.organization());
    let pipeline = store.pipeline(organization, &name(&path.0.pipeline_id)?).await?;
    let pipeline = pipeline.ok_or_else(Failure::not_found)?;
    Ok(Json(Data { data: cache::list(&permit.app, organization, pipeline.id).await? }))
}

/// Delete caches of a pipeline: all of them, or those with a key or in a zone. Answers what was deleted
#[utoipa::path(delete, path = "/organizations/{orgId}/pipelines/{pipelineId}/caches", tag = "pipelines",
    params(("orgId" = String, Path, description = "Id or slug"), ("pipelineId" = String, Path, description = "Id or slug"), CacheQuery, IdempotencyKey),
    responses((status = 200, body = Data<Vec<Cache>>)))]
pub async fn delete_caches(
    permit: Permit<PipelineEdit>,
    path: At<PipelinePath>,
    query: Query<CacheQuery>,
    key: IdempotencyKey,
) -> Answered {
    let name = name(&path.0.pipeline_id)?;
    let CacheQuery { key: wanted, zone } = query.0;
    // The same key with other parameters is another request.
    let fingerprint = format!("{wanted:?} {zone:?}");
    let mut mutation = permit.open(key, fingerprint.as_bytes()).await?;
    let deleted = cache::delete(&mut mutation.command, &name, wanted.as_deref(), zone.as_deref()).await?;
    mutation.finish(Answer::ok(&deleted)?).await
}

fn name(text: &str) -> Result<PipelineName, Failure> {
    PipelineName::parse(text).ok_or_else(Failure::not_found)
}
