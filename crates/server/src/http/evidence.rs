//! `/organizations/{orgId}/deployments/{deploymentId}/evidence`: why stages of a deployment have failed.

use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use greenroom_api_types::envelope::Data;
use greenroom_api_types::evidence::DeploymentEvidence;
use greenroom_app::evidence::{self, DEFAULT_LINES, EvidenceRequest, MAX_LINES};
use greenroom_app::failure::Failure;
use greenroom_domain::policy::action::DeploymentRead;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::path::{DeploymentPath, OrganizationPath, PathParams, StepPath, parse_id};
use crate::http::rules::permit::Permit;
use crate::http::rules::problem_responses::{LogProblems, ReadProblems};
use crate::http::rules::query::Query;
use crate::http::rules::record_response::RecordResponse;

const MARKDOWN: &str = "text/markdown";

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct EvidenceQuery {
    /// How many lines of each failure to return. A part of the log is returned as a whole, so there may be fewer.
    #[param(minimum = 1, maximum = 200, default = 40)]
    lines: Option<u64>,
}

impl EvidenceQuery {
    fn lines(&self) -> Result<u64, Failure> {
        let lines = self.lines.unwrap_or(DEFAULT_LINES);
        match (1..=MAX_LINES).contains(&lines) {
            true => Ok(lines),
            false => Err(Failure::field("lines", format!("must be between 1 and {MAX_LINES}"))),
        }
    }
}

/// Read why stages of a deployment have failed
///
/// The response has the last attempt of each stage that has failed, with the lines of its log that show why, whose failure it is,
/// what was changed since the last good run, and what is known of failures like it. It is there about a second after the end of
/// a stage; until then `status` is `collecting`. With `Accept: text/markdown` the response is the same as one text of at
/// most 12 KiB, for a coding agent. Evidence is deleted with the logs, and is then `410`. The `ETag` is a hash of the response,
/// for `If-None-Match`.
#[utoipa::path(get, path = "/organizations/{orgId}/deployments/{deploymentId}/evidence", tag = "failures",
    params(OrganizationPath, DeploymentPath, EvidenceQuery),
    responses((status = 200, content((Data<DeploymentEvidence> = "application/json"), (String = "text/markdown"))),
        ReadProblems, LogProblems))]
pub async fn get_evidence(
    permit: Permit<DeploymentRead>,
    path: PathParams<DeploymentPath>,
    query: Query<EvidenceQuery>,
    headers: HeaderMap,
) -> Result<Response, EarlyResponse> {
    let deployment = parse_id(&path.0.deployment_id)?;
    let request = EvidenceRequest { deployment, step: None, lines: query.0.lines()? };
    Ok(respond(&permit, request, &headers).await?)
}

/// Read why a step has failed, or what a running step shows so far
///
/// Like the evidence of the deployment, for one step of any attempt. While the step is running, `failures` is empty, and
/// `running` has the lines that good runs did not write, and how long the step has been silent. That is read for the request,
/// and counts as a search of the log. A step that has ended without a failure, or not started, is `404`.
#[utoipa::path(get, path = "/organizations/{orgId}/deployments/{deploymentId}/steps/{stepRunId}/evidence", tag = "failures",
    params(OrganizationPath, StepPath, EvidenceQuery),
    responses((status = 200, content((Data<DeploymentEvidence> = "application/json"), (String = "text/markdown"))),
        ReadProblems, LogProblems))]
pub async fn get_step_evidence(
    permit: Permit<DeploymentRead>,
    path: PathParams<StepPath>,
    query: Query<EvidenceQuery>,
    headers: HeaderMap,
) -> Result<Response, EarlyResponse> {
    let (deployment, step) = (parse_id(&path.0.deployment_id)?, parse_id(&path.0.step_run_id)?);
    let request = EvidenceRequest { deployment, step: Some(step), lines: query.0.lines()? };
    Ok(respond(&permit, request, &headers).await?)
}

async fn respond(
    permit: &Permit<DeploymentRead>,
    request: EvidenceRequest,
    headers: &HeaderMap,
) -> Result<Response, Failure> {
    let deployment = request.deployment;
    let found = evidence::read(&permit.app, &permit.principal, request).await?;
    if !accepts_markdown(headers) {
        return Ok(RecordResponse::ok(&found)?.with_content_etag().into_response());
    }
    let text =
        evidence::render(&permit.app, &permit.principal, deployment, &found, permit.web_urls()).await?;
    let mut response = text.into_response();
    let content_type = HeaderValue::from_static("text/markdown; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    Ok(response)
}

/// Returns whether the first media type that the client accepts is Markdown.
fn accepts_markdown(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    let first = accepted.and_then(|accepted| accepted.split([',', ';']).next());
    first.is_some_and(|media_type| media_type.trim().eq_ignore_ascii_case(MARKDOWN))
}
