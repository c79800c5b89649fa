//! `/organizations/{orgId}/approvals`, and overriding the gates of a stage.

use axum::Json;
use axum::http::StatusCode;
use greenroom_api_types::approval::{Approval, ApprovalDetails, Approve, OverrideGates, Reject};
use greenroom_api_types::deployment::Deployment;
use greenroom_api_types::envelope::{Data, List};
use greenroom_app::approval::{self, approval_view, details_view};
use greenroom_app::deployment::to_summary;
use greenroom_app::failure::Failure;
use greenroom_domain::approval::ApprovalStatus;
use greenroom_domain::id::DeploymentId;
use greenroom_domain::policy::action::{ApprovalDecide, ApprovalRead, GateOverride};
use greenroom_domain::token_grant::PipelineLimit;
use greenroom_store::approval::ApprovalFilter;
use greenroom_store::pipeline::PipelineName;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::http::rules::body::Body;
use crate::http::rules::command::HandlerResult;
use crate::http::rules::dry_run::DryRun;
use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::idempotency::IdempotencyKey;
use crate::http::rules::page::{list_with, page};
use crate::http::rules::path::{ApprovalPath, OrganizationPath, PathParams, StagePath, parse_id};
use crate::http::rules::permit::{Narrowed, Permit};
use crate::http::rules::problem_responses::{BodyProblems, CommandProblems, ReadProblems};
use crate::http::rules::query::{Query, parse_names};
use crate::http::rules::record_response::RecordResponse;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct ApprovalQuery {
    /// The number of records to return.
    #[param(minimum = 1, maximum = 100, default = 20)]
    limit: Option<i64>,
    /// The number of records to skip. A page past the end is an empty list.
    #[param(minimum = 0, default = 0)]
    offset: Option<i64>,
    /// Include only approvals with this status, or with one of several, separated by commas.
    #[param(inline, style = Form, explode = false, value_type = Option<Vec<greenroom_api_types::approval::ApprovalStatus>>)]
    status: Option<String>,
    /// Include only pending approvals on which you may vote and have not voted.
    mine: Option<bool>,
    /// Include only approvals of this pipeline: id or slug.
    pipeline_id: Option<String>,
    /// Include only approvals of stages that deploy to this environment.
    environment: Option<String>,
}

impl ApprovalQuery {
    fn filter(self, within: PipelineLimit) -> Result<ApprovalFilter, Failure> {
        let pipeline = self.pipeline_id.map(|text| PipelineName::parse(&text).ok_or_else(Failure::not_found));
        let statuses = self.status.map(|text| parse_names::<ApprovalStatus>("status", &text)).transpose()?;
        Ok(ApprovalFilter {
            statuses: statuses.map(|known| known.iter().map(ToString::to_string).collect()),
            pipeline: pipeline.transpose()?,
            environment: self.environment,
            within,
        })
    }
}

/// List approvals, newest first
///
/// With `mine=true` those that wait for your vote: pending, a rule names you, you are not behind the deployment, and you
/// have not voted. A token that is limited to pipelines sees only theirs. `total` is exact up to 10,000.
#[utoipa::path(get, path = "/organizations/{orgId}/approvals", tag = "approvals",
    params(OrganizationPath, ApprovalQuery),
    responses((status = 200, body = List<Approval>), ReadProblems))]
pub async fn list_approvals(
    permit: Permit<ApprovalRead, Narrowed>,
    query: Query<ApprovalQuery>,
) -> Result<Json<List<Approval>>, EarlyResponse> {
    let page = page(query.0.limit, query.0.offset)?;
    let is_mine = query.0.mine == Some(true);
    let filter = query.0.filter(permit.principal.pipelines.clone())?;
    let store = &permit.app.store;
    let found = if !is_mine {
        store.approvals(permit.organization(), &filter, page).await?
    } else if filter.includes(ApprovalStatus::Pending) {
        store.approvals_for(&permit.principal, &filter, page).await?
    } else {
        approval::nothing()
    };
    Ok(Json(list_with(page, found, approval_view)))
}

/// View an approval with its votes
///
/// `subject` is what people agree to, and `subjectDigest` its digest, which a vote has to name. An approval stays readable
/// after it is decided.
#[utoipa::path(get, path = "/organizations/{orgId}/approvals/{approvalId}", tag = "approvals",
    params(OrganizationPath, ApprovalPath),
    responses((status = 200, body = Data<ApprovalDetails>), ReadProblems))]
pub async fn get_approval(
    permit: Permit<ApprovalRead>,
    path: PathParams<ApprovalPath>,
) -> Result<Json<Data<ApprovalDetails>>, EarlyResponse> {
    let id = parse_id(&path.0.approval_id)?;
    let found = permit.app.store.approval(permit.organization(), id).await?;
    let (record, people) = found.ok_or_else(Failure::not_found)?;
    let previous = permit.app.store.success_before(permit.organization(), &record).await?;
    Ok(Json(Data { data: details_view(record, people, previous.as_ref()) }))
}

/// Approve what a stage will do
///
/// The vote is yours, whichever token you use, and replaces an earlier one. If it was the last that was needed, the stage
/// begins as soon as its environment permits, and older pending approvals of the same stage and environment are superseded.
/// Those who are behind the deployment can't approve it, and programs never do. If what is to be approved has changed, the
/// request is rejected with `409` and the present subject. The same vote again changes nothing.
#[utoipa::path(post, path = "/organizations/{orgId}/approvals/{approvalId}/approve", tag = "approvals",
    params(OrganizationPath, ApprovalPath, IdempotencyKey),
    request_body = Approve,
    responses((status = 200, body = Data<ApprovalDetails>), CommandProblems, BodyProblems))]
pub async fn approve(
    permit: Permit<ApprovalDecide>,
    path: PathParams<ApprovalPath>,
    key: IdempotencyKey,
    body: Body<Approve>,
) -> HandlerResult {
    let id = parse_id(&path.0.approval_id)?;
    let mut command = permit.open(key, &body.bytes).await?;
    let details = approval::approve(&mut command, id, body.value).await?;
    Ok(command.finish(RecordResponse::ok(&details)?).await?)
}

/// Reject what a stage will do
///
/// One rejection by a person who may approve decides: the stage fails with `approval_rejected`. A retry of the stage opens a
/// new approval.
#[utoipa::path(post, path = "/organizations/{orgId}/approvals/{approvalId}/reject", tag = "approvals",
    params(OrganizationPath, ApprovalPath, IdempotencyKey),
    request_body = Reject,
    responses((status = 200, body = Data<ApprovalDetails>), CommandProblems, BodyProblems))]
pub async fn reject(
    permit: Permit<ApprovalDecide>,
    path: PathParams<ApprovalPath>,
    key: IdempotencyKey,
    body: Body<Reject>,
) -> HandlerResult {
    let id = parse_id(&path.0.approval_id)?;
    let mut command = permit.open(key, &body.bytes).await?;
    let details = approval::reject(&mut command, id, body.value).await?;
    Ok(command.finish(RecordResponse::ok(&details)?).await?)
}

/// Withdraw your vote
///
/// Possible while the approval is pending, and as often as you like: a vote that was withdrawn can be cast again. A request
/// without a vote changes nothing.
#[utoipa::path(delete, path = "/organizations/{orgId}/approvals/{approvalId}/vote", tag = "approvals",
    params(OrganizationPath, ApprovalPath, DryRun, IdempotencyKey),
    responses((status = 200, body = Data<ApprovalDetails>), CommandProblems))]
pub async fn withdraw_vote(
    permit: Permit<ApprovalDecide>,
    path: PathParams<ApprovalPath>,
    query: Query<DryRun>,
    key: IdempotencyKey,
) -> HandlerResult {
    let id = parse_id(&path.0.approval_id)?;
    let mut command = permit.open(key, &[]).await?;
    let details = approval::withdraw(&mut command, id).await?;
    query.0.finish(command, RecordResponse::ok(&details)?).await
}

/// Override gates of a stage that waits
///
/// Lets the stage begin without its approval, or although its environment is frozen. It needs an admin, or the role that the
/// definition names (`override`), a person, and a reason, which stays on the stage. The override is for what the stage would
/// do now: after a change, and for a freeze after a retry, it does not count.
#[utoipa::path(post, path = "/organizations/{orgId}/deployments/{deploymentId}/stages/{stageKey}/override",
    tag = "approvals",
    params(OrganizationPath, StagePath, IdempotencyKey),
    request_body = OverrideGates,
    responses((status = 202, body = Data<Deployment>), CommandProblems, BodyProblems))]
pub async fn override_gates(
    permit: Permit<GateOverride>,
    path: PathParams<StagePath>,
    key: IdempotencyKey,
    body: Body<OverrideGates>,
) -> HandlerResult {
    let deployment: DeploymentId = parse_id(&path.0.deployment_id)?;
    let mut command = permit.open(key, &body.bytes).await?;
    approval::override_gates(&mut command, deployment, &path.0.stage_key, body.value).await?;
    let record = command.deployment_record(deployment).await?.ok_or_else(Failure::not_found)?;
    let accepted = to_summary(command.web_urls(), record);
    Ok(command.finish(RecordResponse::new(StatusCode::ACCEPTED, &accepted)?).await?)
}
