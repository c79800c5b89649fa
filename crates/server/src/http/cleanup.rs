//! `…/ephemeral-environments/{envName}/cleanup`: repeats or gives up a failed teardown.

use axum::http::StatusCode;
use greenroom_api_types::deployment::Deployment;
use greenroom_api_types::envelope::Data;
use greenroom_api_types::environment::{Environment, GiveUp, RepeatCleanup};
use greenroom_app::{cleanup, deployment, environment};
use greenroom_domain::policy::action::CleanupManage;

use crate::http::rules::body::Body;
use crate::http::rules::command::HandlerResult;
use crate::http::rules::dry_run::DryRun;
use crate::http::rules::idempotency::IdempotencyKey;
use crate::http::rules::path::{EnvironmentPath, OrganizationPath, PathParams};
use crate::http::rules::permit::Permit;
use crate::http::rules::problem_responses::{BodyProblems, CommandProblems};
use crate::http::rules::query::Query;
use crate::http::rules::record_response::RecordResponse;
use crate::http::rules::response_examples as examples;
use crate::http::session_wire;

/// Run a failed teardown again
///
/// The teardown uses the pipeline's current definition and ends after 15 minutes at most. It is rejected with
/// `409` if no clean-up has failed, while another deployment acts on the environment, and if a session that
/// holds the environment has deployed something since. Without this request, a failed teardown is repeated
/// automatically after 5 minutes, then after 1 hour, then after 24 hours, and then no more.
#[utoipa::path(post, path = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/cleanup",
    tag = "environments",
    params(OrganizationPath, EnvironmentPath, IdempotencyKey),
    request_body(content = Option<RepeatCleanup>),
    responses((status = 202, description = "The new teardown", body = Data<Deployment>), CommandProblems, BodyProblems))]
pub async fn repeat_cleanup(
    permit: Permit<CleanupManage>,
    path: PathParams<EnvironmentPath>,
    key: IdempotencyKey,
    body: Body<RepeatCleanup>,
) -> HandlerResult {
    let place = path.0.place()?;
    let mut command = permit.open(key, &body.bytes).await?;
    let created = cleanup::repeat(&mut command, &place, body.value.commit_id.as_deref()).await?;
    let created = deployment::to_summary(command.web_urls(), created);
    Ok(command.finish(RecordResponse::new(StatusCode::ACCEPTED, &created)?).await?)
}

/// Give up a failed teardown. The environment then counts as clean
///
/// The failed teardown is not repeated any more, and `cleanupFailed` becomes null. What is left in the
/// environment is no longer tracked. If no clean-up has failed, the request is rejected with `409`.
#[utoipa::path(delete, path = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/cleanup",
    tag = "environments",
    params(OrganizationPath, EnvironmentPath, DryRun, IdempotencyKey),
    request_body = GiveUp,
    responses((status = 200, body = Data<Environment>, example = json!(examples::environment())), CommandProblems, BodyProblems))]
pub async fn give_up_cleanup(
    permit: Permit<CleanupManage>,
    path: PathParams<EnvironmentPath>,
    query: Query<DryRun>,
    key: IdempotencyKey,
    body: Body<GiveUp>,
) -> HandlerResult {
    let place = path.0.place()?;
    let mut command = permit.open(key, &body.bytes).await?;
    let found = cleanup::give_up(&mut command, &place, &body.value.reason).await?;
    let last =
        permit.app.store.last_of_environments(permit.organization(), &[found.id]).await?.remove(&found.id);
    let urls = permit.web_urls();
    let view = environment::wire(urls, found, last.map(|last| session_wire::deployment(urls, last)));
    query.0.finish(command, RecordResponse::ok(&view)?).await
}
