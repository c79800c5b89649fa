//! `…/deployments`: create, view, cancel and retry.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use greenroom_api_types::deployment::{
    Attempt, CancelDeployment, CreateDeployment, Deployment, RetryInputs, RetryStage, Stage,
};
use greenroom_api_types::deployment_status::DeploymentStatus;
use greenroom_api_types::envelope::{Data, List};
use greenroom_app::App;
use greenroom_app::command::OpenCommand;
use greenroom_app::deployment::{self, allow_retry, attempt, check_outcome, stage, to_summary};
use greenroom_app::deployment_rights::require;
use greenroom_app::failure::Failure;
use greenroom_domain::deployment as domain;
use greenroom_domain::id::DeploymentId;
use greenroom_domain::policy::action::{
    DeploymentRead, DeploymentRun, DeploymentRunAny, DeploymentRunOwn, DeploymentStart,
};
use greenroom_domain::principal::Principal;
use greenroom_store::deployment::{DeploymentFilter, RetryOptions};
use greenroom_store::pipeline::PipelineName;
use jiff::Timestamp;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::http::rules::body::Body;
use crate::http::rules::command::HandlerResult;
use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::idempotency::IdempotencyKey;
use crate::http::rules::page::{PageQuery, list_with, page};
use crate::http::rules::path::{
    DeploymentPath, OrganizationPath, PathParams, PipelinePath, StagePath, parse_id,
};
use crate::http::rules::permit::{Narrowed, Permit};
use crate::http::rules::prefer::Prefer;
use crate::http::rules::problem_responses::{BodyProblems, CommandProblems, ReadProblems};
use crate::http::rules::query::{
    Query, check_filter, check_timestamp, parse_commit, parse_names, parse_pipeline, parse_user,
};
use crate::http::rules::record_response::RecordResponse;
use crate::http::rules::request_slot::RequestSlot;
use crate::http::rules::response_examples as examples;

/// The operation requires one of these; which one depends on the deployment (`app/deployment_rights.rs`).
type CancelOrRetry = (DeploymentRun, DeploymentRunOwn, DeploymentRunAny);

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct DeploymentQuery {
    /// The number of records to return.
    #[param(minimum = 1, maximum = 100, default = 20)]
    limit: Option<i64>,
    /// The number of records to skip.
    #[param(minimum = 0, default = 0)]
    offset: Option<i64>,
    /// Include only deployments with this status, or with one of several, separated by commas.
    #[param(inline, style = Form, explode = false, value_type = Option<Vec<DeploymentStatus>>)]
    status: Option<String>,
    /// Include only deployments of this pipeline: id or slug.
    pipeline_id: Option<String>,
    /// Include only deployments that this user has started: `me`, or the id of a user. A teardown belongs to
    /// the user of its session.
    created_by: Option<String>,
    /// Include only deployments that were created at this time or later.
    from: Option<Timestamp>,
    /// Include only deployments that were created before this time.
    to: Option<Timestamp>,
    /// Include only deployments to this ephemeral environment.
    env_name: Option<String>,
    /// Include only deployments of this commit. The beginning of its id is enough.
    #[param(min_length = 1, max_length = 64, pattern = "^[0-9a-f]+$")]
    commit_id: Option<String>,
}

impl DeploymentQuery {
    fn filter(self, principal: &Principal) -> Result<DeploymentFilter, Failure> {
        let user = self.created_by.as_deref().map(|text| parse_user("createdBy", text, principal));
        let statuses = self.status.map(|text| parse_names::<domain::DeploymentStatus>("status", &text));
        let statuses = statuses.transpose()?;
        Ok(DeploymentFilter {
            pipeline: self.pipeline_id.as_deref().map(parse_pipeline).transpose()?,
            statuses: statuses.map(|known| known.iter().map(ToString::to_string).collect()),
            environment: self.env_name.map(|text| check_filter("envName", text)).transpose()?,
            commit_id: self.commit_id.as_deref().map(parse_commit).transpose()?,
            created_by: user.transpose()?,
            from: check_timestamp("from", self.from)?,
            to: check_timestamp("to", self.to)?,
            within: principal.pipelines.clone(),
        })
    }
}

/// List the deployments of all pipelines, newest first
///
/// The list is ordered by when the deployments were created, and contains no stages. Deployments are kept for
/// ever. `total` is exact up to 10,000.
#[utoipa::path(get, path = "/organizations/{orgId}/deployments", tag = "deployments",
    params(OrganizationPath, DeploymentQuery),
    responses((status = 200, body = List<Deployment>, example = json!(examples::deployments())), ReadProblems))]
pub async fn list_deployments(
    permit: Permit<DeploymentRead, Narrowed>,
    query: Query<DeploymentQuery>,
) -> Result<Json<List<Deployment>>, EarlyResponse> {
    let page = page(query.0.limit, query.0.offset)?;
    let filter = query.0.filter(&permit.principal)?;
    let found = permit.app.store.deployment_records(permit.organization(), &filter, page).await?;
    Ok(Json(list_with(page, found, |record| to_summary(permit.web_urls(), record))))
}

/// List the deployments of a pipeline, newest first
///
/// The list is ordered by when the deployments were created, and contains no stages. Deployments are kept for
/// ever, also those of an archived pipeline. `total` is exact up to 10,000.
#[utoipa::path(get, path = "/organizations/{orgId}/pipelines/{pipelineId}/deployments", tag = "deployments",
    params(OrganizationPath, PipelinePath, PageQuery),
    responses((status = 200, body = List<Deployment>, example = json!(examples::deployments())), ReadProblems))]
pub async fn list_pipeline_deployments(
    permit: Permit<DeploymentRead>,
    path: PathParams<PipelinePath>,
    query: Query<PageQuery>,
) -> Result<Json<List<Deployment>>, EarlyResponse> {
    let page = query.0.page()?;
    let name = PipelineName::parse(&path.0.pipeline_id).ok_or_else(Failure::not_found)?;
    let store = &permit.app.store;
    let pipeline = store.pipeline(permit.organization(), &name).await?.ok_or_else(Failure::not_found)?;
    let pipeline = Some(PipelineName::Id(pipeline.id));
    let filter = DeploymentFilter { pipeline, ..DeploymentFilter::default() };
    let found = permit.app.store.deployment_records(permit.organization(), &filter, page).await?;
    Ok(Json(list_with(page, found, |record| to_summary(permit.web_urls(), record))))
}

/// Deploy a commit through all stages of a pipeline
///
/// The deployment uses the newest version of the definition at the time of the request. It waits while the
/// pipeline is stopped, and while as many deployments run as the definition's `concurrency` allows; then the
/// oldest starts first. Once accepted it continues whatever process restarts. Each request creates another
/// deployment, unless it has the same `Idempotency-Key`.
#[utoipa::path(post, path = "/organizations/{orgId}/pipelines/{pipelineId}/deployments", tag = "deployments",
    params(OrganizationPath, PipelinePath, IdempotencyKey),
    request_body = CreateDeployment,
    responses((status = 202, description = "The deployment was accepted. Read it, or follow its events, to see its progress",
        body = Data<Deployment>, example = json!(examples::accepted_deployment())),
        CommandProblems, BodyProblems))]
pub async fn create_deployment(
    permit: Permit<DeploymentStart>,
    path: PathParams<PipelinePath>,
    key: IdempotencyKey,
    body: Body<CreateDeployment>,
) -> HandlerResult {
    let name = PipelineName::parse(&path.0.pipeline_id).ok_or_else(Failure::not_found)?;
    let mut command = permit.open(key, &body.bytes).await?;
    let created = deployment::create(&mut command, &name, &body.value).await?;
    let record = command.deployment_record(created).await?.ok_or_else(Failure::not_found)?;
    let accepted = to_summary(command.web_urls(), record);
    Ok(command.finish(RecordResponse::new(StatusCode::ACCEPTED, &accepted)?).await?)
}

/// View a deployment, with its stages and steps
///
/// Stages are in the order of the definition, and have the steps of their newest attempt. While a deployment
/// has not ended, `waitingOn` states everything that it waits for, and `deadlineAt` until when. The record is
/// kept for ever; its logs and artifacts are deleted 90 days after its end unless the server is configured
/// otherwise, and then `expiredAt` is set. The `ETag` is a hash of the response, for `If-None-Match`. With
/// `Prefer: wait=N` the response is sent when the deployment has ended, or as it is after N seconds.
#[utoipa::path(get, path = "/organizations/{orgId}/deployments/{deploymentId}", tag = "deployments",
    params(OrganizationPath, DeploymentPath,
        ("Prefer" = Option<String>, Header,
            description = "With `wait=N`, the server waits for up to N seconds (30 at most) for the end of the deployment.")),
    responses((status = 200, body = Data<Deployment>, example = json!(examples::deployment())), ReadProblems))]
pub async fn get_deployment(
    permit: Permit<DeploymentRead>,
    path: PathParams<DeploymentPath>,
    prefer: Prefer,
    request_slot: RequestSlot,
) -> Result<Response, EarlyResponse> {
    let (app, principal) = (&permit.app, &permit.principal);
    let id: DeploymentId = parse_id(&path.0.deployment_id)?;
    let Some(wait) = prefer.wait else {
        return Ok(read_deployment(app, principal, id).await?.into_response());
    };
    let waiting = async {
        deployment::wait_for_end(app, principal, id, wait).await?;
        // The right to read may have ended in the meantime. The command checks it, and changes nothing.
        drop(permit.command_without_key().waiting().open().await?);
        Ok(read_deployment(app, principal, id).await?)
    };
    Ok(prefer.respond_after_wait(&request_slot, waiting).await)
}

async fn read_deployment(
    app: &App,
    principal: &Principal,
    id: DeploymentId,
) -> Result<RecordResponse, Failure> {
    let found = deployment::view(app, principal, id).await?;
    Ok(RecordResponse::ok(&found)?.with_content_etag())
}

/// Cancel a deployment. Running steps are signaled to end, and killed if they do not
///
/// A deployment that has not started ends immediately. Otherwise its running steps have 30 seconds to end, or
/// none with `force`, and are then killed. If the runner does not report the end, the deployment ends without
/// it, about two minutes after the request at the latest. Canceling again changes nothing, except that
/// `force` takes effect; canceling a deployment that has ended returns it as it is.
#[utoipa::path(post, path = "/organizations/{orgId}/deployments/{deploymentId}/cancel", tag = "deployments",
    params(OrganizationPath, DeploymentPath, IdempotencyKey),
    request_body = CancelDeployment,
    responses((status = 202, description = "The deployment before the cancellation takes effect. It ends soon",
        body = Data<Deployment>, example = json!(examples::canceling_deployment())),
        CommandProblems, BodyProblems))]
pub async fn cancel_deployment(
    permit: Permit<CancelOrRetry>,
    path: PathParams<DeploymentPath>,
    key: IdempotencyKey,
    body: Body<CancelDeployment>,
) -> HandlerResult {
    let deployment: DeploymentId = parse_id(&path.0.deployment_id)?;
    let mut command = permit.open(key, &body.bytes).await?;
    require(&mut command, deployment).await?;
    let force = body.value.force.unwrap_or(false);
    check_outcome(command.cancel_deployment(deployment, force).await?, None)?;
    respond_accepted(command, deployment).await
}

/// View a stage of a deployment
///
/// The response has the steps of the stage's newest attempt, in the order in which they run. A queued stage
/// waits for a runner for 24 hours at most, and a running one ends at its timeout; `deadlineAt` is that time.
/// The `ETag` is a hash of the response, for `If-None-Match`.
#[utoipa::path(get, path = "/organizations/{orgId}/deployments/{deploymentId}/stages/{stageKey}", tag = "deployments",
    params(OrganizationPath, StagePath),
    responses((status = 200, body = Data<Stage>, example = json!(examples::stage())), ReadProblems))]
pub async fn get_stage(
    permit: Permit<DeploymentRead>,
    path: PathParams<StagePath>,
) -> Result<Response, EarlyResponse> {
    let (organization, deployment) = (permit.organization(), parse_id(&path.0.deployment_id)?);
    let stages = permit.app.store.stage_records(organization, deployment).await?;
    let found =
        stages.into_iter().find(|stage| stage.key == path.0.stage_key).ok_or_else(Failure::not_found)?;
    let jobs = permit.app.store.job_records(organization, deployment, Some(&found.key)).await?;
    Ok(RecordResponse::ok(&stage(found, &jobs))?.with_content_etag().into_response())
}

/// List the attempts of a stage, oldest first
///
/// The list has no pages, and contains 1,000 attempts at most. Attempts are never changed by a later one, and
/// are kept for ever; their logs are deleted together with those of the deployment.
#[utoipa::path(get, path = "/organizations/{orgId}/deployments/{deploymentId}/stages/{stageKey}/attempts", tag = "deployments",
    params(OrganizationPath, StagePath),
    responses((status = 200, body = Data<Vec<Attempt>>, example = json!(examples::attempts())), ReadProblems))]
pub async fn list_attempts(
    permit: Permit<DeploymentRead>,
    path: PathParams<StagePath>,
) -> Result<Response, EarlyResponse> {
    let (organization, deployment) = (permit.organization(), parse_id(&path.0.deployment_id)?);
    let stages = permit.app.store.stage_records(organization, deployment).await?;
    if !stages.iter().any(|stage| stage.key == path.0.stage_key) {
        return Err(Failure::not_found().into());
    }
    let jobs = permit.app.store.job_records(organization, deployment, Some(&path.0.stage_key)).await?;
    let attempts: Vec<Attempt> = jobs.into_iter().map(attempt).collect();
    Ok(RecordResponse::ok(&attempts)?.with_content_etag().into_response())
}

/// Cancel one stage. Stages that need it are skipped, and the other stages continue
///
/// The running step has 30 seconds to end, and is then killed. Canceling a stage that has ended changes
/// nothing, and the response is the deployment as it is.
#[utoipa::path(post, path = "/organizations/{orgId}/deployments/{deploymentId}/stages/{stageKey}/cancel", tag = "deployments",
    params(OrganizationPath, StagePath, IdempotencyKey),
    responses((status = 202, body = Data<Deployment>), CommandProblems))]
pub async fn cancel_stage(
    permit: Permit<CancelOrRetry>,
    path: PathParams<StagePath>,
    key: IdempotencyKey,
) -> HandlerResult {
    let deployment: DeploymentId = parse_id(&path.0.deployment_id)?;
    let mut command = permit.open(key, &[]).await?;
    require(&mut command, deployment).await?;
    let stage = path.0.stage_key.as_str();
    check_outcome(command.cancel_stage(deployment, stage).await?, Some(stage))?;
    respond_accepted(command, deployment).await
}

/// Retry a stage and all stages that need it
///
/// The stage and all stages that need it get a new attempt, and a deployment that has ended continues.
/// Earlier attempts stay readable. The request is rejected with `409` while the stage has not ended, if it
/// has succeeded or needs others that have not, and if the deployment's session has ended, a newer deployment
/// ran since, or its artifacts were deleted. Stages of a teardown can't be retried: repeat the clean-up.
///
/// With `inputs: latest`, what is retried and what has not begun is planned again by the pipeline's newest definition: approvals,
/// conditions, pools and new stages apply. That is rejected with `409` if the definition no longer has the stage, and
/// while another stage is queued or running.
#[utoipa::path(post, path = "/organizations/{orgId}/deployments/{deploymentId}/stages/{stageKey}/retry", tag = "deployments",
    params(OrganizationPath, StagePath, IdempotencyKey),
    request_body = RetryStage,
    responses((status = 202, body = Data<Deployment>), CommandProblems, BodyProblems))]
pub async fn retry_stage(
    permit: Permit<CancelOrRetry>,
    path: PathParams<StagePath>,
    key: IdempotencyKey,
    body: Body<RetryStage>,
) -> HandlerResult {
    let deployment: DeploymentId = parse_id(&path.0.deployment_id)?;
    let mut command = permit.open(key, &body.bytes).await?;
    let pipeline = require(&mut command, deployment).await?;
    let options = RetryOptions {
        latest: body.value.inputs.unwrap_or_default() == RetryInputs::Latest,
        allows_older: body.value.allow_older.unwrap_or_default(),
    };
    let stage = path.0.stage_key.as_str();
    allow_retry(&mut command, pipeline, (deployment, stage), options).await?;
    check_outcome(command.retry_stage(deployment, stage, options).await?, Some(stage))?;
    respond_accepted(command, deployment).await
}

async fn respond_accepted(mut command: OpenCommand, deployment: DeploymentId) -> HandlerResult {
    let record = command.deployment_record(deployment).await?.ok_or_else(Failure::not_found)?;
    let accepted = to_summary(command.web_urls(), record);
    Ok(command.finish(RecordResponse::new(StatusCode::ACCEPTED, &accepted)?).await?)
}
