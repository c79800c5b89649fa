//! `/organizations/{orgId}/pipelines/{pipelineId}/update-steps`

use greenroom_api_types::envelope::Data;
use greenroom_api_types::pipeline::UpdatedSteps;
use greenroom_app::definition;
use greenroom_app::failure::Failure;
use greenroom_app::pipeline;
use greenroom_domain::policy::action::PipelineEdit;

use crate::http::pipeline::{parse_name, view};
use crate::http::rules::command::HandlerResult;
use crate::http::rules::dry_run::DryRun;
use crate::http::rules::idempotency::IdempotencyKey;
use crate::http::rules::path::{OrganizationPath, PathParams, PipelinePath};
use crate::http::rules::permit::Permit;
use crate::http::rules::precondition::Precondition;
use crate::http::rules::problem_responses::{CommandProblems, ConditionProblems};
use crate::http::rules::query::Query;
use crate::http::rules::record_response::RecordResponse;

/// Update the steps of registries that a pipeline uses
///
/// A definition locks the versions of its steps when it is saved. This resolves its references again: `v2` becomes the newest version
/// 2 that is not yanked and that its registry trusts. If that changes a version, a new version of the definition with the same text
/// is saved, and its event contains the differences; else nothing changes. With `dryRun=true`, the response shows what would
/// change, and nothing does. If a reference can't be resolved any more, or what the definition gives to a step is not valid for the
/// step's new version, the response is `422` with line and column, and nothing changes.
#[utoipa::path(post, path = "/organizations/{orgId}/pipelines/{pipelineId}/update-steps", tag = "pipelines",
    params(OrganizationPath, PipelinePath, DryRun, IdempotencyKey, Precondition),
    responses((status = 200, body = Data<UpdatedSteps>), CommandProblems, ConditionProblems))]
pub async fn update_pipeline_steps(
    permit: Permit<PipelineEdit>,
    path: PathParams<PipelinePath>,
    query: Query<DryRun>,
    key: IdempotencyKey,
    condition: Precondition,
) -> HandlerResult {
    let name = parse_name(&path.0.pipeline_id)?;
    let (store, organization) = (&permit.app.store, permit.organization());
    let current = store.pipeline(organization, &name).await?.ok_or_else(Failure::not_found)?;
    let seen = current.definition_version;
    let version =
        store.pipeline_version(organization, current.id, seen).await?.ok_or_else(Failure::not_found)?;
    let checked = definition::for_saving(store, organization, &version.source).await?;
    let mut command = permit.open(key, &[]).await?;
    let (pipeline, step_changes) =
        pipeline::update_steps(&mut command, &name, &condition, (seen, &checked)).await?;
    let (revision, activity) = (pipeline.revision, command.pipeline_activity(pipeline.id).await?);
    let pipeline = view(command.web_urls(), pipeline, activity);
    let response = RecordResponse::ok(&UpdatedSteps { pipeline, step_changes })?.with_revision(revision);
    query.0.finish(command, response).await
}
