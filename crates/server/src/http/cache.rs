//! `/organizations/{orgId}/pipelines/{pipelineId}/caches`: the caches of a pipeline, shared by its
//! deployments.

use axum::Json;
use greenroom_api_types::cache::Cache;
use greenroom_api_types::envelope::Data;
use greenroom_app::cache;
use greenroom_app::failure::Failure;
use greenroom_domain::policy::action::PipelineEdit;
use greenroom_store::pipeline::PipelineName;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::http::rules::command::HandlerResult;
use crate::http::rules::dry_run::DryRun;
use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::idempotency::IdempotencyKey;
use crate::http::rules::path::{OrganizationPath, PathParams, PipelinePath};
use crate::http::rules::permit::Permit;
use crate::http::rules::problem_responses::{CommandProblems, ReadProblems};
use crate::http::rules::query::Query;
use crate::http::rules::record_response::RecordResponse;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct DeleteCachesQuery {
    /// Delete only caches with this key.
    key: Option<String>,
    /// Delete only caches of this zone: `protected`, `open` or `session`.
    zone: Option<String>,
    /// Delete all caches. Has to be true if neither `key` nor `zone` is sent.
    #[param(default = false)]
    all: Option<bool>,
    /// If true, return which caches would be deleted, and change nothing.
    #[param(default = false)]
    dry_run: Option<bool>,
}

impl DeleteCachesQuery {
    /// A variable that is empty by mistake must not delete everything.
    fn check(&self) -> Result<(), Failure> {
        let names_some = self.key.is_some() || self.zone.is_some();
        match self.all.unwrap_or(false) {
            false if !names_some => Err(Failure::field(
                "all",
                "must be true if all caches are to be deleted; else send `key` or `zone`",
            )),
            true if names_some => Err(Failure::field("all", "can't be used together with `key` or `zone`")),
            _ => Ok(()),
        }
    }
}

/// List the caches of a pipeline, sorted by key
///
/// Caches with the same key are sorted by zone. The list has no pages: of each zone, a pipeline has the 100
/// caches that were used last, and older ones are deleted.
#[utoipa::path(get, path = "/organizations/{orgId}/pipelines/{pipelineId}/caches", tag = "pipelines",
    params(OrganizationPath, PipelinePath),
    responses((status = 200, body = Data<Vec<Cache>>), ReadProblems))]
pub async fn list_caches(
    permit: Permit<PipelineEdit>,
    path: PathParams<PipelinePath>,
) -> Result<Json<Data<Vec<Cache>>>, EarlyResponse> {
    let (store, organization) = (&permit.app.store, permit.organization());
    let pipeline = store.pipeline(organization, &parse_name(&path.0.pipeline_id)?).await?;
    let pipeline = pipeline.ok_or_else(Failure::not_found)?;
    Ok(Json(Data { data: cache::list(&permit.app, organization, pipeline.id).await? }))
}

/// Delete the caches of a pipeline with a key, of a zone, or with `all=true` all of them. Returns the deleted caches
///
/// The next job that uses such a key stores a new cache under it. Deleting again returns an empty list, and
/// records no event.
#[utoipa::path(delete, path = "/organizations/{orgId}/pipelines/{pipelineId}/caches", tag = "pipelines",
    params(OrganizationPath, PipelinePath, DeleteCachesQuery, IdempotencyKey),
    responses((status = 200, body = Data<Vec<Cache>>), CommandProblems))]
pub async fn delete_caches(
    permit: Permit<PipelineEdit>,
    path: PathParams<PipelinePath>,
    query: Query<DeleteCachesQuery>,
    key: IdempotencyKey,
) -> HandlerResult {
    let name = parse_name(&path.0.pipeline_id)?;
    query.0.check()?;
    let DeleteCachesQuery { key: cache_key, zone, dry_run, .. } = query.0;
    let mut command = permit.open(key, &[]).await?;
    let deleted = cache::delete(&mut command, &name, cache_key.as_deref(), zone.as_deref()).await?;
    DryRun::new(dry_run).finish(command, RecordResponse::ok(&deleted)?).await
}

fn parse_name(text: &str) -> Result<PipelineName, Failure> {
    PipelineName::parse(text).ok_or_else(Failure::not_found)
}
