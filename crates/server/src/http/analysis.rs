//! `/organizations/{orgId}/deployments/{deploymentId}/analyses` and `/organizations/{orgId}/analyses`: analyses of failures.

use axum::Json;
use axum::http::StatusCode;
use greenroom_api_types::analysis::{Analysis, AnalysisPrompt, CreateAnalysis, GiveAnalysisFeedback};
use greenroom_api_types::envelope::{Data, List};
use greenroom_app::analysis::{self, analysis_view};
use greenroom_domain::policy::action::{
    AnalysisCreate, AnalysisCreateOwn, AnalysisReadPrompt, DeploymentRead,
};

use crate::http::rules::body::Body;
use crate::http::rules::command::HandlerResult;
use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::idempotency::IdempotencyKey;
use crate::http::rules::page::{PageQuery, list_with};
use crate::http::rules::path::{AnalysisPath, DeploymentPath, OrganizationPath, PathParams, parse_id};
use crate::http::rules::permit::Permit;
use crate::http::rules::problem_responses::{BodyProblems, CommandProblems, LogProblems, ReadProblems};
use crate::http::rules::query::Query;
use crate::http::rules::record_response::RecordResponse;

/// The operation requires one of these; which one depends on the deployment (`app/analysis.rs`).
type Analyze = (AnalysisCreate, AnalysisCreateOwn);

/// Request an analysis of a failed stage
///
/// It is about the last failure of the named stage, or of the first stage that has failed. Without a model, `model` and `cause` are
/// null, and the rest is what the evidence shows: the analysis has succeeded in the response if the evidence is there; otherwise it
/// succeeds when the evidence is stored, about a second after the end of the stage, and fails after 10 minutes without it. If the
/// organization has a model, it is called then (`analyzing`); see `model` of the request. A failure with the same fingerprint and
/// the same changes gets the explanation that was made within the last 7 days (`reusedFrom`). Each request creates an analysis, 20 at most for one failure (`409 analysis_limit`). A stage that has not failed is
/// `409 not_failed`, and evidence that was deleted with the logs is `410`. Needs the scope `deploy` for deployments of your own
/// sessions, and `write` for others. Analyses are kept as long as events.
#[utoipa::path(post, path = "/organizations/{orgId}/deployments/{deploymentId}/analyses", tag = "failures",
    params(OrganizationPath, DeploymentPath, IdempotencyKey),
    request_body = CreateAnalysis,
    responses((status = 202, body = Data<Analysis>), CommandProblems, BodyProblems, LogProblems))]
pub async fn create_analysis(
    permit: Permit<Analyze>,
    path: PathParams<DeploymentPath>,
    key: IdempotencyKey,
    body: Body<CreateAnalysis>,
) -> HandlerResult {
    let deployment = parse_id(&path.0.deployment_id)?;
    let mut command = permit.open(key, &body.bytes).await?;
    let created = analysis::create(&mut command, deployment, &body.value).await?;
    Ok(command.finish(RecordResponse::new(StatusCode::ACCEPTED, &created)?).await?)
}

/// List the analyses of a deployment, newest first
///
/// They are kept as long as events, 400 days unless the server is configured otherwise, also after the evidence was deleted.
#[utoipa::path(get, path = "/organizations/{orgId}/deployments/{deploymentId}/analyses", tag = "failures",
    params(OrganizationPath, DeploymentPath, PageQuery),
    responses((status = 200, body = List<Analysis>), ReadProblems))]
pub async fn list_analyses(
    permit: Permit<DeploymentRead>,
    path: PathParams<DeploymentPath>,
    query: Query<PageQuery>,
) -> Result<Json<List<Analysis>>, EarlyResponse> {
    let (deployment, page) = (parse_id(&path.0.deployment_id)?, query.0.page()?);
    let found = analysis::list(&permit.app, &permit.principal, deployment, page).await?;
    Ok(Json(list_with(page, found, analysis_view)))
}

/// View an analysis
///
/// `waitingOn` and `deadlineAt` show what a live one waits for, and until when. The events `analysis.succeeded`,
/// `analysis.failed` and `analysis.refused` are recorded when it has ended.
#[utoipa::path(get, path = "/organizations/{orgId}/analyses/{analysisId}", tag = "failures",
    params(OrganizationPath, AnalysisPath),
    responses((status = 200, body = Data<Analysis>), ReadProblems))]
pub async fn get_analysis(
    permit: Permit<DeploymentRead>,
    path: PathParams<AnalysisPath>,
) -> Result<Json<Data<Analysis>>, EarlyResponse> {
    let data = analysis::read(&permit.app, &permit.principal, parse_id(&path.0.analysis_id)?).await?;
    Ok(Json(Data { data }))
}

/// View what was sent to the model for an analysis
///
/// The whole text, with its hash, of the last call. It is deleted with the logs (`410`). An analysis for which no model was called,
/// also one that uses an earlier explanation again, has none (`404`).
#[utoipa::path(get, path = "/organizations/{orgId}/analyses/{analysisId}/prompt", tag = "failures",
    params(OrganizationPath, AnalysisPath),
    responses((status = 200, body = Data<AnalysisPrompt>), ReadProblems, LogProblems))]
pub async fn get_analysis_prompt(
    permit: Permit<AnalysisReadPrompt>,
    path: PathParams<AnalysisPath>,
) -> Result<Json<Data<AnalysisPrompt>>, EarlyResponse> {
    let data = analysis::prompt(&permit.app, &permit.principal, parse_id(&path.0.analysis_id)?).await?;
    Ok(Json(Data { data }))
}

/// Give feedback about an analysis
///
/// One per person, whichever token is used; a later one replaces it. An analysis that has not ended is `409 invalid_state`. It
/// needs the same scope as requesting the analysis.
#[utoipa::path(post, path = "/organizations/{orgId}/analyses/{analysisId}/feedback", tag = "failures",
    params(OrganizationPath, AnalysisPath, IdempotencyKey),
    request_body = GiveAnalysisFeedback,
    responses((status = 200, body = Data<Analysis>), CommandProblems, BodyProblems))]
pub async fn give_analysis_feedback(
    permit: Permit<Analyze>,
    path: PathParams<AnalysisPath>,
    key: IdempotencyKey,
    body: Body<GiveAnalysisFeedback>,
) -> HandlerResult {
    let id = parse_id(&path.0.analysis_id)?;
    let mut command = permit.open(key, &body.bytes).await?;
    let updated = analysis::give_feedback(&mut command, id, &body.value).await?;
    Ok(command.finish(RecordResponse::ok(&updated)?).await?)
}
