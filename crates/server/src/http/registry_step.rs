//! `/organizations/{orgId}/step-registries/{registryId}/steps`

use axum::Json;
use axum::response::{IntoResponse, Response};
use greenroom_api_types::envelope::{Data, List};
use greenroom_api_types::step_registry::{
    RegistryStep, RegistryStepVersion, RegistryStepVersionDetail, StepDiff, StepUsage, YankStepVersion,
};
use greenroom_app::failure::Failure;
use greenroom_app::step_registry::{diff, step_view, usage_view, version, version_detail_view, version_view};
use greenroom_domain::id::RegistryId;
use greenroom_domain::policy::action::{RegistryManage, RegistryRead};
use greenroom_domain::step::StepVersion;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::http::rules::body::Body;
use crate::http::rules::command::HandlerResult;
use crate::http::rules::dry_run::DryRun;
use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::idempotency::IdempotencyKey;
use crate::http::rules::page::{PageQuery, list_with};
use crate::http::rules::path::{
    OrganizationPath, PathParams, RegistryPath, RegistryStepPath, RegistryStepVersionPath, parse_id,
};
use crate::http::rules::permit::Permit;
use crate::http::rules::problem_responses::{BodyProblems, CommandProblems, ReadProblems};
use crate::http::rules::query::Query;
use crate::http::rules::record_response::RecordResponse;

/// List the steps of a registry, sorted by name
///
/// Each has its newest version: the highest release that is not yanked, if there is one. The steps of a deleted registry stay
/// readable. `total` is exact up to 10,000.
#[utoipa::path(get, path = "/organizations/{orgId}/step-registries/{registryId}/steps", tag = "step-registries",
    params(OrganizationPath, RegistryPath, PageQuery),
    responses((status = 200, body = List<RegistryStep>), ReadProblems))]
pub async fn list_registry_steps(
    permit: Permit<RegistryRead>,
    path: PathParams<RegistryPath>,
    query: Query<PageQuery>,
) -> Result<Json<List<RegistryStep>>, EarlyResponse> {
    let (page, id): (_, RegistryId) = (query.0.page()?, parse_id(&path.0.registry_id)?);
    let (store, organization) = (&permit.app.store, permit.organization());
    store.step_registry(organization, id).await?.ok_or_else(Failure::not_found)?;
    let found = store.registry_steps(organization, id, page).await?;
    Ok(Json(list_with(page, found, step_view)))
}

/// View a step of a registry
///
/// Its `newest` version is the highest release that is not yanked, if there is one. A step exists from when a version of it was
/// first seen, for ever.
#[utoipa::path(get, path = "/organizations/{orgId}/step-registries/{registryId}/steps/{stepName}", tag = "step-registries",
    params(OrganizationPath, RegistryStepPath),
    responses((status = 200, body = Data<RegistryStep>), ReadProblems))]
pub async fn get_registry_step(
    permit: Permit<RegistryRead>,
    path: PathParams<RegistryStepPath>,
) -> Result<Response, EarlyResponse> {
    let step = path.0.place()?.find(&permit.app.store, permit.organization()).await?;
    Ok(RecordResponse::ok(&step_view(step))?.with_content_etag().into_response())
}

/// List the versions of a step, the highest first
///
/// The order is that of semantic versions; a pre-release comes after its release. Yanked versions are in the list. A version
/// is never changed and kept for ever. `total` is exact up to 10,000.
#[utoipa::path(get, path = "/organizations/{orgId}/step-registries/{registryId}/steps/{stepName}/versions", tag = "step-registries",
    params(OrganizationPath, RegistryStepPath, PageQuery),
    responses((status = 200, body = List<RegistryStepVersion>), ReadProblems))]
pub async fn list_registry_step_versions(
    permit: Permit<RegistryRead>,
    path: PathParams<RegistryStepPath>,
    query: Query<PageQuery>,
) -> Result<Json<List<RegistryStepVersion>>, EarlyResponse> {
    let (page, place) = (query.0.page()?, path.0.place()?);
    let (store, organization) = (&permit.app.store, permit.organization());
    place.find(store, organization).await?;
    let found = store.step_versions(organization, place.key(), page).await?;
    Ok(Json(list_with(page, found, version_view)))
}

/// View a version of a step
///
/// With the text of its `step.yaml` and the list of its files. Apart from `yanked`, a version is never changed, and it is kept
/// for ever, also if its tag or the registry is deleted.
#[utoipa::path(get, path = "/organizations/{orgId}/step-registries/{registryId}/steps/{stepName}/versions/{stepVersion}",
    tag = "step-registries",
    params(OrganizationPath, RegistryStepVersionPath),
    responses((status = 200, body = Data<RegistryStepVersionDetail>), ReadProblems))]
pub async fn get_registry_step_version(
    permit: Permit<RegistryRead>,
    path: PathParams<RegistryStepVersionPath>,
) -> Result<Response, EarlyResponse> {
    let (place, version) = path.0.parse()?;
    let found = place.find_version(&permit.app.store, permit.organization(), &version).await?;
    Ok(RecordResponse::ok(&version_detail_view(found))?.with_content_etag().into_response())
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DiffQuery {
    /// The version to compare with. Default: the next lower one.
    #[param(example = "2.2.0")]
    from: Option<String>,
}

/// Compare a version of a step with an earlier one
///
/// Both texts are unified diffs with three lines of context: of the lists of files, which have a SHA-256 for each file, and of
/// `step.yaml`. Versions are never changed, so a diff is always the same. Without a lower version everything is new.
#[utoipa::path(get, path = "/organizations/{orgId}/step-registries/{registryId}/steps/{stepName}/versions/{stepVersion}/diff",
    tag = "step-registries",
    params(OrganizationPath, RegistryStepVersionPath, DiffQuery),
    responses((status = 200, body = Data<StepDiff>), ReadProblems))]
pub async fn diff_registry_step_versions(
    permit: Permit<RegistryRead>,
    path: PathParams<RegistryStepVersionPath>,
    query: Query<DiffQuery>,
) -> Result<Json<Data<StepDiff>>, EarlyResponse> {
    let (place, to) = path.0.parse()?;
    let from = query.0.from.as_deref().map(str::parse::<StepVersion>).transpose();
    let from = from.map_err(|error| Failure::field("from", error))?;
    let (store, organization) = (&permit.app.store, permit.organization());
    Ok(Json(Data { data: diff::compare(store, organization, &place, (from, &to)).await? }))
}

/// List the pipelines that use a step, sorted by slug
///
/// For each reference to the step in the current definition of a pipeline that is not archived: the version that it has locked.
/// Earlier versions of definitions are not in the list. `total` is exact up to 10,000.
#[utoipa::path(get, path = "/organizations/{orgId}/step-registries/{registryId}/steps/{stepName}/usage", tag = "step-registries",
    params(OrganizationPath, RegistryStepPath, PageQuery),
    responses((status = 200, body = List<StepUsage>), ReadProblems))]
pub async fn list_step_usage(
    permit: Permit<RegistryRead>,
    path: PathParams<RegistryStepPath>,
    query: Query<PageQuery>,
) -> Result<Json<List<StepUsage>>, EarlyResponse> {
    let (page, place) = (query.0.page()?, path.0.place()?);
    let (store, organization) = (&permit.app.store, permit.organization());
    place.find(store, organization).await?;
    let found = store.step_usage(organization, place.key(), page).await?;
    Ok(Json(list_with(page, found, usage_view)))
}

/// Yank a version of a step
///
/// From the response on, nothing new is resolved to it. Definitions that have locked it go on, unless `refuse` is true: then
/// stages that use it fail. A version stays yanked, and stays refused; to replace it, publish a higher one. Yanking again with
/// the same reason changes nothing.
#[utoipa::path(post, path = "/organizations/{orgId}/step-registries/{registryId}/steps/{stepName}/versions/{stepVersion}/yank",
    tag = "step-registries",
    params(OrganizationPath, RegistryStepVersionPath, DryRun, IdempotencyKey),
    request_body = YankStepVersion,
    responses((status = 200, body = Data<RegistryStepVersion>), CommandProblems, BodyProblems))]
pub async fn yank_registry_step_version(
    permit: Permit<RegistryManage>,
    path: PathParams<RegistryStepVersionPath>,
    query: Query<DryRun>,
    key: IdempotencyKey,
    body: Body<YankStepVersion>,
) -> HandlerResult {
    let (place, version) = path.0.parse()?;
    let mut command = permit.open(key, &body.bytes).await?;
    let yanked = version::yank(&mut command, &place, &version, &body.value).await?;
    query.0.finish(command, RecordResponse::ok(&version_view(yanked))?).await
}
