//! `…/deployments/{deploymentId}/give-up`: ending what its runner does not end.

use axum::http::StatusCode;
use greenroom_api_types::deployment::Deployment;
use greenroom_api_types::envelope::Data;
use greenroom_api_types::environment::GiveUp;
use greenroom_domain::id::DeploymentId;
use greenroom_domain::policy::action::JobGiveUp;
use greenroom_domain::text::Reason;

use crate::app::deployment::{answered, listed};
use crate::app::failure::Failure;
use crate::http::answer::Answer;
use crate::http::body::Body;
use crate::http::idempotency::IdempotencyKey;
use crate::http::mutation::{Answered, Mutation};
use crate::http::path::{At, DeploymentPath, StagePath, id};
use crate::http::permit::Permit;

/// End a deployment without its runners, and free its environment's work slot
#[utoipa::path(post, path = "/organizations/{orgId}/deployments/{deploymentId}/give-up", tag = "deployments",
    params(("orgId" = String, Path, description = "Id or slug"), ("deploymentId" = String, Path), IdempotencyKey),
    request_body = GiveUp,
    responses((status = 202, body = Data<Deployment>)))]
pub async fn give_up_deployment(
    permit: Permit<JobGiveUp>,
    path: At<DeploymentPath>,
    key: IdempotencyKey,
    body: Body<GiveUp>,
) -> Answered {
    let deployment: DeploymentId = id(&path.0.deployment_id)?;
    let why = why(&body.value)?;
    let mut mutation = permit.open(key, &body.bytes).await?;
    answered(mutation.command.give_up_deployment(deployment, why.as_str()).await?, None)?;
    accepted(mutation, deployment).await
}

/// End the job of a stage without its runner
#[utoipa::path(post, path = "/organizations/{orgId}/deployments/{deploymentId}/stages/{stageKey}/give-up", tag = "deployments",
    params(("orgId" = String, Path, description = "Id or slug"), ("deploymentId" = String, Path), ("stageKey" = String, Path), IdempotencyKey),
    request_body = GiveUp,
    responses((status = 202, body = Data<Deployment>)))]
pub async fn give_up_stage(
    permit: Permit<JobGiveUp>,
    path: At<StagePath>,
    key: IdempotencyKey,
    body: Body<GiveUp>,
) -> Answered {
    let deployment: DeploymentId = id(&path.0.deployment_id)?;
    let (stage, why) = (path.0.stage_key.as_str(), why(&body.value)?);
    let mut mutation = permit.open(key, &body.bytes).await?;
    answered(mutation.command.give_up_stage(deployment, stage, why.as_str()).await?, Some(stage))?;
    accepted(mutation, deployment).await
}

async fn accepted(mut mutation: Mutation, deployment: DeploymentId) -> Answered {
    let record = mutation.command.deployment_record(deployment).await?.ok_or_else(Failure::not_found)?;
    mutation.finish(Answer::new(StatusCode::ACCEPTED, &listed(record))?).await
}

fn why(body: &GiveUp) -> Result<Reason, Failure> {
    Reason::new(&body.reason).map_err(|error| Failure::field("/reason", error))
}
