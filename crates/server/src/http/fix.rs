//! `/organizations/{orgId}/analyses/{analysisId}/fix-pull-requests` and `/organizations/{orgId}/fix-pull-requests`: fixes of
//! failures.

use axum::Json;
use axum::http::StatusCode;
use greenroom_api_types::envelope::{Data, List};
use greenroom_api_types::fix::{CreateFixPullRequest, FixPullRequest};
use greenroom_app::fix::{self, fix_view};
use greenroom_domain::policy::action::{
    AnalysisCreate, AnalysisCreateOwn, DeploymentRead, DeploymentRunAny, DeploymentRunOwn,
};

use crate::http::rules::body::Body;
use crate::http::rules::command::HandlerResult;
use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::idempotency::IdempotencyKey;
use crate::http::rules::page::{PageQuery, list_with};
use crate::http::rules::path::{AnalysisPath, FixPath, OrganizationPath, PathParams, parse_id};
use crate::http::rules::permit::Permit;
use crate::http::rules::problem_responses::{BodyProblems, CommandProblems, ReadProblems};
use crate::http::rules::query::Query;
use crate::http::rules::record_response::RecordResponse;

/// The operation requires one of these; which one depends on the deployment (`app/analysis.rs`).
type RequestFix = (AnalysisCreate, AnalysisCreateOwn);
/// Which one is required depends on who has requested the fix (`app/fix.rs`).
type CancelFix = (DeploymentRunAny, DeploymentRunOwn);

/// Request a pull request for a fix, after it was proven
///
/// The commit is proven in one environment, which is claimed in your name by the labels of the pipeline's `fix`: first the failing
/// commit is deployed and has to fail in the same way, then the fix is deployed and has to succeed. After that a draft is
/// opened at the connected forge, with links to both deployments, and the commit gets the status `greenroom/verified`.
/// Nothing approves or merges it. Your rights are checked again when the environment is claimed and at each deployment.
/// There is one live fix per pipeline and fingerprint (`409 fix_exists`). Needs the scopes `hold` and `deploy`, and
/// `write` if the deployment is not of a session of yours.
#[utoipa::path(post, path = "/organizations/{orgId}/analyses/{analysisId}/fix-pull-requests", tag = "failures",
    params(OrganizationPath, AnalysisPath, IdempotencyKey),
    request_body = CreateFixPullRequest,
    responses((status = 202, body = Data<FixPullRequest>), CommandProblems, BodyProblems))]
pub async fn create_fix_pull_request(
    permit: Permit<RequestFix>,
    path: PathParams<AnalysisPath>,
    key: IdempotencyKey,
    body: Body<CreateFixPullRequest>,
) -> HandlerResult {
    let analysis = parse_id(&path.0.analysis_id)?;
    let mut command = permit.open(key, &body.bytes).await?;
    let app = (&permit.app, permit.web_urls());
    let created = fix::create(&mut command, app, analysis, &body.value).await?;
    Ok(command.finish(RecordResponse::new(StatusCode::ACCEPTED, &created)?).await?)
}

/// List the fixes of an analysis, newest first
///
/// Those that have ended stay in the list, as long as the analysis is kept: 400 days unless the server is configured otherwise.
/// `total` is exact up to 10,000.
#[utoipa::path(get, path = "/organizations/{orgId}/analyses/{analysisId}/fix-pull-requests", tag = "failures",
    params(OrganizationPath, AnalysisPath, PageQuery),
    responses((status = 200, body = List<FixPullRequest>), ReadProblems))]
pub async fn list_fix_pull_requests(
    permit: Permit<DeploymentRead>,
    path: PathParams<AnalysisPath>,
    query: Query<PageQuery>,
) -> Result<Json<List<FixPullRequest>>, EarlyResponse> {
    let (analysis, page) = (parse_id(&path.0.analysis_id)?, query.0.page()?);
    let found = fix::list(&permit.app, &permit.principal, analysis, page).await?;
    Ok(Json(list_with(page, found, fix_view)))
}

/// View a fix
///
/// `waitingOn` and `deadlineAt` show what a live one waits for, and until when. The events `fix.reproduced`, `fix.verified`,
/// `fix.opened`, `fix.refused`, `fix.failed` and others record each change.
#[utoipa::path(get, path = "/organizations/{orgId}/fix-pull-requests/{fixId}", tag = "failures",
    params(OrganizationPath, FixPath),
    responses((status = 200, body = Data<FixPullRequest>), ReadProblems))]
pub async fn get_fix_pull_request(
    permit: Permit<DeploymentRead>,
    path: PathParams<FixPath>,
) -> Result<Json<Data<FixPullRequest>>, EarlyResponse> {
    let data = fix::read(&permit.app, &permit.principal, parse_id(&path.0.fix_id)?).await?;
    Ok(Json(Data { data }))
}

/// Cancel a fix
///
/// Its session is released in the same transaction, and its deployment is canceled. Only before the pull request is being opened;
/// after that, close it at the forge. The requester may cancel it, and maintainers.
#[utoipa::path(post, path = "/organizations/{orgId}/fix-pull-requests/{fixId}/cancel", tag = "failures",
    params(OrganizationPath, FixPath, IdempotencyKey),
    responses((status = 200, body = Data<FixPullRequest>), CommandProblems))]
pub async fn cancel_fix_pull_request(
    permit: Permit<CancelFix>,
    path: PathParams<FixPath>,
    key: IdempotencyKey,
) -> HandlerResult {
    let id = parse_id(&path.0.fix_id)?;
    let mut command = permit.open(key, &[]).await?;
    let canceled = fix::cancel(&mut command, id).await?;
    Ok(command.finish(RecordResponse::ok(&canceled)?).await?)
}
