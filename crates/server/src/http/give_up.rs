//! `…/deployments/{deploymentId}/give-up`: ends deployments and jobs whose runner does not end them.

use axum::http::StatusCode;
use greenroom_api_types::deployment::Deployment;
use greenroom_api_types::envelope::Data;
use greenroom_api_types::environment::GiveUp;
use greenroom_app::command::OpenCommand;
use greenroom_app::deployment::{check_outcome, to_summary};
use greenroom_app::failure::Failure;
use greenroom_domain::id::DeploymentId;
use greenroom_domain::policy::action::JobGiveUp;
use greenroom_domain::text::Reason;

use crate::http::rules::body::Body;
use crate::http::rules::command::HandlerResult;
use crate::http::rules::idempotency::IdempotencyKey;
use crate::http::rules::path::{DeploymentPath, OrganizationPath, PathParams, StagePath, parse_id};
use crate::http::rules::permit::Permit;
use crate::http::rules::problem_responses::{BodyProblems, CommandProblems};
use crate::http::rules::record_response::RecordResponse;

/// End a deployment without waiting for its runners, so that the next deployment to its environment can start
///
/// The deployment ends in this request, with the reason `given_up`, and the next deployment to its
/// environment starts. What its runners still do is not stopped until their next request, which is rejected
/// with `410`. A teardown that is given up counts as failed. A deployment that has ended is returned as it
/// is.
#[utoipa::path(post, path = "/organizations/{orgId}/deployments/{deploymentId}/give-up", tag = "deployments",
    params(OrganizationPath, DeploymentPath, IdempotencyKey),
    request_body = GiveUp,
    responses((status = 202, body = Data<Deployment>), CommandProblems, BodyProblems))]
pub async fn give_up_deployment(
    permit: Permit<JobGiveUp>,
    path: PathParams<DeploymentPath>,
    key: IdempotencyKey,
    body: Body<GiveUp>,
) -> HandlerResult {
    let deployment: DeploymentId = parse_id(&path.0.deployment_id)?;
    let reason = parse_reason(&body.value)?;
    let mut command = permit.open(key, &body.bytes).await?;
    check_outcome(command.give_up_deployment(deployment, reason.as_str()).await?, None)?;
    respond_accepted(command, deployment).await
}

/// End the job of a stage without waiting for its runner
///
/// The stage ends in this request, with the reason `given_up`. Stages that need it are skipped, and the
/// others continue. What its runner still does is not stopped until its next request, which is rejected with
/// `410`. A stage that has ended is not changed.
#[utoipa::path(post, path = "/organizations/{orgId}/deployments/{deploymentId}/stages/{stageKey}/give-up", tag = "deployments",
    params(OrganizationPath, StagePath, IdempotencyKey),
    request_body = GiveUp,
    responses((status = 202, body = Data<Deployment>), CommandProblems, BodyProblems))]
pub async fn give_up_stage(
    permit: Permit<JobGiveUp>,
    path: PathParams<StagePath>,
    key: IdempotencyKey,
    body: Body<GiveUp>,
) -> HandlerResult {
    let deployment: DeploymentId = parse_id(&path.0.deployment_id)?;
    let (stage, reason) = (path.0.stage_key.as_str(), parse_reason(&body.value)?);
    let mut command = permit.open(key, &body.bytes).await?;
    check_outcome(command.give_up_stage(deployment, stage, reason.as_str()).await?, Some(stage))?;
    respond_accepted(command, deployment).await
}

async fn respond_accepted(mut command: OpenCommand, deployment: DeploymentId) -> HandlerResult {
    let record = command.deployment_record(deployment).await?.ok_or_else(Failure::not_found)?;
    let accepted = to_summary(command.web_urls(), record);
    Ok(command.finish(RecordResponse::new(StatusCode::ACCEPTED, &accepted)?).await?)
}

fn parse_reason(body: &GiveUp) -> Result<Reason, Failure> {
    Reason::new(&body.reason).map_err(|error| Failure::field("/reason", error))
}
