//! `/organizations/{orgId}/environments` and `/organizations/{orgId}/pipelines/{pipelineId}/environments`: lasting
//! environments.

use axum::Json;
use greenroom_api_types::envelope::{Data, List};
use greenroom_api_types::lasting_environment::{EnvironmentDeployment, EnvironmentKind, LastingEnvironment};
use greenroom_app::failure::Failure;
use greenroom_app::lasting_environment::{self, environment_view, history_view};
use greenroom_domain::policy::action::EnvironmentRead;
use greenroom_store::environment_list::EnvironmentFilter;
use greenroom_store::lasting_environment::LastingFilter;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::http::environment::find_pipeline;
use crate::http::rules::command::HandlerResult;
use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::page::{PageQuery, list_with, page};
use crate::http::rules::path::{LastingEnvironmentPath, OrganizationPath, PathParams, PipelinePath};
use crate::http::rules::permit::{Narrowed, Permit};
use crate::http::rules::problem_responses::ReadProblems;
use crate::http::rules::query::{Query, parse_commit, parse_pipeline};
use crate::http::rules::record_response::RecordResponse;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct LastingEnvironmentQuery {
    /// The number of records to return.
    #[param(minimum = 1, maximum = 100, default = 20)]
    limit: Option<i64>,
    /// The number of records to skip. A page past the end is an empty list.
    #[param(minimum = 0, default = 0)]
    offset: Option<i64>,
    /// The kind of environments, `lasting` if left out. Ephemeral environments have a list of their own,
    /// `/organizations/{orgId}/ephemeral-environments`.
    #[param(inline)]
    #[serde(rename = "kind")]
    _kind: Option<EnvironmentKind>,
    /// Include only environments of this pipeline: id or slug.
    pipeline_id: Option<String>,
    /// Include only environments in which this commit is live. The beginning of its id is enough.
    #[param(min_length = 1, max_length = 64, pattern = "^[0-9a-f]+$")]
    commit_id: Option<String>,
}

/// List the lasting environments of all pipelines, each with what is live there
///
/// The list is sorted by the pipeline's slug, and within a pipeline in the order of its current definition. It does
/// not contain those of archived pipelines. A token that is limited to pipelines sees only those. `total` is exact
/// up to 10,000.
#[utoipa::path(get, path = "/organizations/{orgId}/environments", tag = "environments",
    params(OrganizationPath, LastingEnvironmentQuery),
    responses((status = 200, body = List<LastingEnvironment>), ReadProblems))]
pub async fn list_organization_lasting_environments(
    permit: Permit<EnvironmentRead, Narrowed>,
    query: Query<LastingEnvironmentQuery>,
) -> Result<Json<List<LastingEnvironment>>, EarlyResponse> {
    let page = page(query.0.limit, query.0.offset)?;
    let pipeline = query.0.pipeline_id.as_deref().map(parse_pipeline).transpose()?;
    let commit_id = query.0.commit_id.as_deref().map(parse_commit).transpose()?;
    let within = permit.principal.pipelines.clone();
    let filter = EnvironmentFilter { pipeline, within, ..EnvironmentFilter::default() };
    let (store, organization) = (&permit.app.store, permit.organization());
    let found = lasting_environment::list(store, organization, &filter, commit_id.as_ref(), page).await?;
    Ok(Json(list_with(page, found, environment_view)))
}

/// List the lasting environments of a pipeline, each with what is live there
///
/// The list contains the environments of the pipeline's current definition, in its order. One that was removed from
/// the definition stays readable under its name.
#[utoipa::path(get, path = "/organizations/{orgId}/pipelines/{pipelineId}/environments", tag = "environments",
    params(OrganizationPath, PipelinePath, PageQuery),
    responses((status = 200, body = List<LastingEnvironment>), ReadProblems))]
pub async fn list_lasting_environments(
    permit: Permit<EnvironmentRead>,
    path: PathParams<PipelinePath>,
    query: Query<PageQuery>,
) -> Result<Json<List<LastingEnvironment>>, EarlyResponse> {
    let page = query.0.page()?;
    let pipeline = find_pipeline(&permit, &path.0.pipeline_id).await?;
    let filter = LastingFilter { pipelines: &[pipeline], commit_id: None };
    let found = permit.app.store.lasting_environments(permit.organization(), filter, page).await?;
    Ok(Json(list_with(page, found, environment_view)))
}

/// View a lasting environment: what is live, which deployment works there, and what keeps others from it
///
/// An environment that was removed from the pipeline's definition stays readable, without `url` and `branches`. The
/// `ETag` is a hash of the response, for `If-None-Match`.
#[utoipa::path(get, path = "/organizations/{orgId}/pipelines/{pipelineId}/environments/{environmentName}",
    tag = "environments",
    params(OrganizationPath, LastingEnvironmentPath),
    responses((status = 200, body = Data<LastingEnvironment>), ReadProblems))]
pub async fn get_lasting_environment(
    permit: Permit<EnvironmentRead>,
    path: PathParams<LastingEnvironmentPath>,
) -> HandlerResult {
    let pipeline = find_pipeline(&permit, &path.0.pipeline_id).await?;
    let (store, organization) = (&permit.app.store, permit.organization());
    let found = store.lasting_environment(organization, pipeline, &path.0.environment_name).await?;
    let found = found.ok_or_else(Failure::not_found)?;
    Ok(RecordResponse::ok(&environment_view(found))?.with_content_etag())
}

/// List the deployments that have begun to work in a lasting environment, newest first
///
/// The list is ordered by `fence`, and kept for ever. A deployment that begins again after a retry is listed again,
/// unless it has kept the work slot. `total` is exact up to 10,000.
#[utoipa::path(get, path = "/organizations/{orgId}/pipelines/{pipelineId}/environments/{environmentName}/history",
    tag = "environments",
    params(OrganizationPath, LastingEnvironmentPath, PageQuery),
    responses((status = 200, body = List<EnvironmentDeployment>), ReadProblems))]
pub async fn get_lasting_environment_history(
    permit: Permit<EnvironmentRead>,
    path: PathParams<LastingEnvironmentPath>,
    query: Query<PageQuery>,
) -> Result<Json<List<EnvironmentDeployment>>, EarlyResponse> {
    let page = query.0.page()?;
    let pipeline = find_pipeline(&permit, &path.0.pipeline_id).await?;
    let (store, name) = (&permit.app.store, &path.0.environment_name);
    let found = store.lasting_environment_history(permit.organization(), pipeline, name, page).await?;
    Ok(Json(list_with(page, found.ok_or_else(Failure::not_found)?, history_view)))
}
