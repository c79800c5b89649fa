//! `/organizations/{orgId}/pipelines`

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use greenroom_api_types::envelope::{Data, List};
use greenroom_api_types::pipeline::{
    ArchivedPipeline, CreatePipeline, DefinitionReport, EnvironmentCounts, LastDeployment, Pipeline,
    PipelineStatus, PipelineVersion, ResumePipeline, SavedPipeline, StopMode, StopPipeline, UpdatePipeline,
    ValidateDefinition,
};
use greenroom_app::command::OpenCommand;
use greenroom_app::definition;
use greenroom_app::failure::Failure;
use greenroom_app::pipeline;
use greenroom_app::pipeline_archive;
use greenroom_app::step_registry::resolve;
use greenroom_app::web_url::WebUrls;
use greenroom_domain::id::PipelineId;
use greenroom_domain::pipeline::{Pipeline as Record, PipelineCommand};
use greenroom_domain::policy::action::{PipelineEdit, PipelineRead, PipelineStop};
use greenroom_store::pipeline::{PipelineActivity, PipelineFilter, PipelineName, RecentDeployment};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::http::rules::body::{Body, MAX_DEFINITION_BYTES};
use crate::http::rules::command::HandlerResult;
use crate::http::rules::dry_run::{DryRun, ended_sessions};
use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::idempotency::IdempotencyKey;
use crate::http::rules::page::{PageQuery, list_with, page};
use crate::http::rules::path::{OrganizationPath, PathParams, PipelinePath, VersionPath};
use crate::http::rules::permit::{AuthenticatedRequest, Narrowed, Permit};
use crate::http::rules::precondition::Precondition;
use crate::http::rules::problem_responses::{BodyProblems, CommandProblems, ConditionProblems, ReadProblems};
use crate::http::rules::query::Query;
use crate::http::rules::record_response::{RecordResponse, content_hash};

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PipelineQuery {
    /// The number of records to return.
    #[param(minimum = 1, maximum = 100, default = 20)]
    limit: Option<i64>,
    /// The number of records to skip. A page past the end is an empty list.
    #[param(minimum = 0, default = 0)]
    offset: Option<i64>,
    /// Include only pipelines with this status. Archived pipelines are listed only with `status=archived`.
    #[param(inline)]
    status: Option<PipelineStatus>,
    /// Include only pipelines with this text in their name or slug; upper and lower case are the same.
    q: Option<String>,
    /// Include only pipelines of this repository. `https://host/path`, `ssh://git@host/path` and
    /// `git@host:path` are one repository, with and without `.git`. Leave out a user name and a password.
    #[param(example = "git@git.example.com:acme/storefront.git")]
    repository: Option<String>,
}

/// List the pipelines, sorted by slug
///
/// Archived pipelines are listed only with `status=archived`. A token that is limited to pipelines sees only
/// those. `total` is exact; with `status`, `q` or `repository` it is exact up to 10,000.
#[utoipa::path(get, path = "/organizations/{orgId}/pipelines", tag = "pipelines",
    params(OrganizationPath, PipelineQuery),
    responses((status = 200, body = List<Pipeline>), ReadProblems))]
pub async fn list_pipelines(
    permit: Permit<PipelineRead, Narrowed>,
    query: Query<PipelineQuery>,
) -> Result<Json<List<Pipeline>>, EarlyResponse> {
    let PipelineQuery { limit, offset, status, q, repository } = query.0;
    let page = page(limit, offset)?;
    let (store, organization) = (&permit.app.store, permit.organization());
    let filter = PipelineFilter {
        status: status.map(Into::into),
        text: q,
        ids: pipeline::of_repository(store, organization, repository.as_deref()).await?,
        within: permit.principal.pipelines.clone(),
    };
    let found = store.filtered_pipelines(organization, &filter, page).await?;
    let urls = permit.web_urls();
    let mut pipelines = list_with(page, found, |pipeline| view(urls, pipeline, PipelineActivity::default()));
    fill_activity(&permit, &mut pipelines.data).await?;
    Ok(Json(pipelines))
}

/// View a pipeline
///
/// An archived pipeline is found by its id only, because its slug can belong to another pipeline. The `ETag`
/// is the revision, which increases with every change, followed by a part for the environments and the newest
/// deployments, which `If-Match` ignores.
#[utoipa::path(get, path = "/organizations/{orgId}/pipelines/{pipelineId}", tag = "pipelines",
    params(OrganizationPath, PipelinePath),
    responses((status = 200, body = Data<Pipeline>), ReadProblems))]
pub async fn get_pipeline(
    permit: Permit<PipelineRead>,
    path: PathParams<PipelinePath>,
) -> Result<Response, EarlyResponse> {
    let found = find(&permit, &path.0.pipeline_id).await?;
    let revision = found.revision;
    let mut record = view(permit.web_urls(), found, PipelineActivity::default());
    fill_activity(&permit, std::slice::from_mut(&mut record)).await?;
    Ok(with_etag(StatusCode::OK, &record, revision)?.into_response())
}

/// Create a pipeline
///
/// The definition becomes version 1, and its environments can be claimed immediately. The slug must not be
/// that of another pipeline that is not archived. The definition may have 1 MiB.
#[utoipa::path(post, path = "/organizations/{orgId}/pipelines", tag = "pipelines",
    params(OrganizationPath, IdempotencyKey),
    request_body = CreatePipeline,
    responses((status = 201, body = SavedPipeline), CommandProblems, BodyProblems))]
pub async fn create_pipeline(
    permit: Permit<PipelineEdit>,
    key: IdempotencyKey,
    body: Body<CreatePipeline, MAX_DEFINITION_BYTES>,
) -> HandlerResult {
    let checked =
        definition::for_saving(&permit.app.store, permit.organization(), &body.value.definition).await?;
    let mut command = permit.open(key, &body.bytes).await?;
    let created = pipeline::create(&mut command, &body.value, &checked).await?;
    let response = respond(StatusCode::CREATED, &mut command, created).await?;
    Ok(command.finish(response.with_warnings(&checked.warnings)?).await?)
}

/// Update a pipeline. A changed definition becomes a new version
///
/// Fields that are left out stay as they are, and a request that changes nothing creates no revision and no
/// event. A definition with the same text creates no version; `POST …/update-steps` updates the steps of registries that it uses.
/// Deployments that exist keep their version of
/// the definition, except for `concurrency`, which holds for all that wait. An environment that is no longer
/// in the definition stays with its holder, and can't be claimed after that.
#[utoipa::path(put, path = "/organizations/{orgId}/pipelines/{pipelineId}", tag = "pipelines",
    params(OrganizationPath, PipelinePath, IdempotencyKey, Precondition),
    request_body = UpdatePipeline,
    responses((status = 200, body = SavedPipeline), CommandProblems, BodyProblems, ConditionProblems))]
pub async fn update_pipeline(
    permit: Permit<PipelineEdit>,
    path: PathParams<PipelinePath>,
    key: IdempotencyKey,
    condition: Precondition,
    body: Body<UpdatePipeline, MAX_DEFINITION_BYTES>,
) -> HandlerResult {
    let name = parse_name(&path.0.pipeline_id)?;
    let checked = match &body.value.definition {
        Some(source) => {
            Some(definition::for_update(&permit.app.store, permit.organization(), &name, source).await?)
        }
        None => None,
    };
    let mut command = permit.open(key, &body.bytes).await?;
    let checked = checked.as_ref();
    let updated = pipeline::update(&mut command, &name, &condition, &body.value, checked).await?;
    let warnings = checked.map(|checked| checked.warnings.as_slice()).unwrap_or_default();
    let response = respond(StatusCode::OK, &mut command, updated).await?.with_warnings(warnings)?;
    Ok(command.finish(response).await?)
}

/// Archive a pipeline permanently and end its sessions
///
/// Archiving can't be undone. In the same transaction the pipeline's sessions end, its deployments are
/// canceled except for teardowns, its caches are deleted, and its slug becomes free. Beyond 500 sessions, the
/// others end within seconds. With `dryRun=true`, the response lists the sessions that would end, and nothing
/// changes. Archiving again, by id, returns the pipeline as it is.
#[utoipa::path(delete, path = "/organizations/{orgId}/pipelines/{pipelineId}", tag = "pipelines",
    params(OrganizationPath, PipelinePath, DryRun, IdempotencyKey, Precondition),
    responses((status = 200, body = Data<ArchivedPipeline>), CommandProblems, ConditionProblems))]
pub async fn archive_pipeline(
    permit: Permit<PipelineEdit>,
    path: PathParams<PipelinePath>,
    query: Query<DryRun>,
    key: IdempotencyKey,
    condition: Precondition,
) -> HandlerResult {
    let name = parse_name(&path.0.pipeline_id)?;
    let mut command = permit.open(key, &[]).await?;
    let archived = pipeline_archive::archive(&mut command, &name, &condition, query.0.is_dry_run()).await?;
    let revision = archived.pipeline.revision;
    let activity = command.pipeline_activity(archived.pipeline.id).await?;
    let pipeline = view(command.web_urls(), archived.pipeline, activity);
    let view = ArchivedPipeline { pipeline, ended: ended_sessions(archived.ended) };
    query.0.finish(command, RecordResponse::ok(&view)?.with_revision(revision)).await
}

/// Stop a pipeline. New deployments wait until it is resumed
///
/// New deployments are accepted and wait. With `drain`, which is the default, deployments that run continue
/// to their end; with `pause` they wait before their next stage; with `cancel` they are canceled. Teardowns
/// run on a stopped pipeline too. Stopping again with another mode or reason replaces the stop; with the same
/// ones it changes nothing.
#[utoipa::path(post, path = "/organizations/{orgId}/pipelines/{pipelineId}/stop", tag = "pipelines",
    params(OrganizationPath, PipelinePath, DryRun, IdempotencyKey, Precondition),
    request_body(content = Option<StopPipeline>),
    responses((status = 200, body = Data<Pipeline>), CommandProblems, BodyProblems, ConditionProblems))]
pub async fn stop_pipeline(
    permit: Permit<PipelineStop>,
    path: PathParams<PipelinePath>,
    query: Query<DryRun>,
    key: IdempotencyKey,
    condition: Precondition,
    body: Body<StopPipeline>,
) -> HandlerResult {
    let name = parse_name(&path.0.pipeline_id)?;
    let change = PipelineCommand::Stop(body.value.mode.unwrap_or(StopMode::Drain).into());
    let mut command = permit.open(key, &body.bytes).await?;
    let reason = body.value.reason.as_deref();
    let stopped = pipeline::change_status(&mut command, &name, &condition, change, reason).await?;
    let response = respond(StatusCode::OK, &mut command, stopped).await?;
    query.0.finish(command, response).await
}

/// Resume a stopped pipeline. Deployments that were waiting for this continue
///
/// Deployments that were waiting continue in the order in which they were created, as far as `concurrency`
/// allows. Resuming a pipeline that is not stopped changes nothing and records no event. An archived pipeline
/// can't be resumed.
#[utoipa::path(post, path = "/organizations/{orgId}/pipelines/{pipelineId}/resume", tag = "pipelines",
    params(OrganizationPath, PipelinePath, IdempotencyKey, Precondition),
    request_body(content = Option<ResumePipeline>),
    responses((status = 200, body = Data<Pipeline>), CommandProblems, BodyProblems, ConditionProblems))]
pub async fn resume_pipeline(
    permit: Permit<PipelineStop>,
    path: PathParams<PipelinePath>,
    key: IdempotencyKey,
    condition: Precondition,
    body: Body<ResumePipeline>,
) -> HandlerResult {
    let name = parse_name(&path.0.pipeline_id)?;
    let mut command = permit.open(key, &body.bytes).await?;
    let reason = body.value.reason.as_deref();
    let resumed =
        pipeline::change_status(&mut command, &name, &condition, PipelineCommand::Resume, reason).await?;
    let response = respond(StatusCode::OK, &mut command, resumed).await?;
    Ok(command.finish(response).await?)
}

/// Check a definition without saving it
///
/// The request changes nothing, so it ignores `Idempotency-Key`. An invalid definition is `200` too, with
/// `valid: false` and 100 errors at most. The definition may have 1 MiB. A server checks two definitions at a
/// time, one of each organization; a request that waits longer than two seconds for its turn is rejected with
/// `503`.
#[utoipa::path(post, path = "/organizations/{orgId}/pipelines/validate", tag = "pipelines",
    params(OrganizationPath),
    request_body = ValidateDefinition,
    responses((status = 200, description = "Whether the definition is valid, with its errors and warnings", body = Data<DefinitionReport>),
        CommandProblems, BodyProblems))]
pub async fn validate_definition(
    permit: Permit<PipelineRead>,
    body: Body<ValidateDefinition, MAX_DEFINITION_BYTES>,
) -> Result<Json<Data<DefinitionReport>>, EarlyResponse> {
    let store = &permit.app.store;
    let data = match definition::validate(store, permit.organization(), body.value.definition).await? {
        Ok(mut checked) => {
            let members = store.approving_members(permit.organization()).await?;
            checked.warnings.extend(definition::unsatisfiable_approvals(&checked, &members));
            checked.warnings.sort_by_key(|warning| (warning.line, warning.column));
            DefinitionReport {
                valid: true,
                definition: Some(checked.stored.definition),
                errors: Vec::new(),
                warnings: checked.warnings,
            }
        }
        Err(errors) => DefinitionReport { valid: false, definition: None, errors, warnings: Vec::new() },
    };
    Ok(Json(Data { data }))
}

/// List the versions of a pipeline's definition, newest first
///
/// A version is never changed, and kept for ever, also after the pipeline was archived. The list does not
/// contain the texts of the definitions.
#[utoipa::path(get, path = "/organizations/{orgId}/pipelines/{pipelineId}/versions", tag = "pipelines",
    params(OrganizationPath, PipelinePath, PageQuery),
    responses((status = 200, body = List<PipelineVersion>), ReadProblems))]
pub async fn list_pipeline_versions(
    permit: Permit<PipelineRead>,
    path: PathParams<PipelinePath>,
    query: Query<PageQuery>,
) -> Result<Json<List<PipelineVersion>>, EarlyResponse> {
    let page = query.0.page()?;
    let pipeline = find(&permit, &path.0.pipeline_id).await?;
    let found = permit.app.store.pipeline_versions(permit.organization(), &pipeline, page).await?;
    Ok(Json(list_with(page, found, |version| PipelineVersion { definition: None, ..version.into() })))
}

/// View one version of a pipeline's definition
///
/// Versions are numbered from 1 without gaps. A version is never changed, and kept for ever, also after the
/// pipeline was archived.
#[utoipa::path(get, path = "/organizations/{orgId}/pipelines/{pipelineId}/versions/{version}", tag = "pipelines",
    params(OrganizationPath, VersionPath),
    responses((status = 200, body = Data<PipelineVersion>), ReadProblems))]
pub async fn get_pipeline_version(
    permit: Permit<PipelineRead>,
    path: PathParams<VersionPath>,
) -> Result<Response, EarlyResponse> {
    let version = path.0.version.parse().map_err(|_| Failure::not_found())?;
    let pipeline = find(&permit, &path.0.pipeline_id).await?;
    let found = permit.app.store.pipeline_version(permit.organization(), pipeline.id, version).await?;
    let found = found.ok_or_else(Failure::not_found)?;
    let lock = permit.app.store.step_lock(permit.organization(), pipeline.id, version).await?;
    let steps = lock.iter().map(|(uses, step)| resolve::view(uses, step)).collect();
    let view = PipelineVersion { steps: Some(steps), ..found.into() };
    Ok(RecordResponse::ok(&view)?.into_response())
}

/// Adds what happens in each of the pipelines.
async fn fill_activity(request: &AuthenticatedRequest, pipelines: &mut [Pipeline]) -> Result<(), Failure> {
    let id = |pipeline: &Pipeline| pipeline.id.parse::<PipelineId>().ok();
    let ids: Vec<PipelineId> = pipelines.iter().filter_map(id).collect();
    let stopped: Vec<PipelineId> =
        pipelines.iter().filter(|pipeline| pipeline.stop.is_some()).filter_map(id).collect();
    let activity = request.app.store.pipeline_activity(request.organization(), (&ids, &stopped)).await?;
    for (id, activity) in activity {
        let id = id.to_string();
        if let Some(pipeline) = pipelines.iter_mut().find(|pipeline| pipeline.id == id) {
            set_activity(pipeline, activity);
        }
    }
    Ok(())
}

/// The response to a change of a pipeline: the same record as `get_pipeline` returns.
async fn respond(
    status: StatusCode,
    command: &mut OpenCommand,
    pipeline: Record,
) -> Result<RecordResponse, Failure> {
    let activity = command.pipeline_activity(pipeline.id).await?;
    let revision = pipeline.revision;
    with_etag(status, &view(command.web_urls(), pipeline, activity), revision)
}

pub(super) fn view(urls: WebUrls<'_>, pipeline: Record, activity: PipelineActivity) -> Pipeline {
    let mut view = Pipeline { web_url: urls.pipeline(pipeline.id), ..Pipeline::from(pipeline) };
    set_activity(&mut view, activity);
    view
}

fn set_activity(pipeline: &mut Pipeline, activity: PipelineActivity) {
    let PipelineActivity { environments, free_environments, stopped_by_name, recent } = activity;
    if let Some(stop) = &mut pipeline.stop {
        stop.by_name = stopped_by_name;
    }
    pipeline.environments = EnvironmentCounts { total: environments, free: free_environments };
    pipeline.recent_deployments = recent.into_iter().map(summary).collect();
    pipeline.last_deployment = pipeline.recent_deployments.first().cloned();
}

/// A claim or a deployment changes the tag but not the revision, so `If-Match` still matches.
fn with_etag(status: StatusCode, view: &Pipeline, revision: i64) -> Result<RecordResponse, Failure> {
    let response = RecordResponse::new(status, view)?;
    if view.environments == EnvironmentCounts::default() && view.recent_deployments.is_empty() {
        return Ok(response.with_revision(revision));
    }
    let activity =
        serde_json::to_vec(&(view.environments, &view.recent_deployments)).map_err(Failure::internal)?;
    Ok(response.with_revision_and_suffix(revision, &content_hash(&activity)))
}

fn summary(deployment: RecentDeployment) -> LastDeployment {
    LastDeployment {
        id: deployment.id.to_string(),
        purpose: deployment.purpose.into(),
        commit_id: deployment.commit_id,
        status: deployment.status.into(),
        skipped_environments: deployment.skipped_environments,
        created_at: deployment.created_at,
    }
}

async fn find(permit: &Permit<PipelineRead>, text: &str) -> Result<Record, Failure> {
    permit.app.store.pipeline(permit.organization(), &parse_name(text)?).await?.ok_or_else(Failure::not_found)
}

pub(super) fn parse_name(text: &str) -> Result<PipelineName, Failure> {
    PipelineName::parse(text).ok_or_else(Failure::not_found)
}
