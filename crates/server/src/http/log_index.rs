//! `…/steps/{stepRunId}/logs/index`: where the lines of a step's log are.

use axum::Json;
use greenroom_api_types::envelope::Data;
use greenroom_api_types::log::LogIndex;
use greenroom_app::log::lines;
use greenroom_domain::policy::action::DeploymentRead;

use crate::http::log::find;
use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::path::{OrganizationPath, PathParams, StepPath};
use crate::http::rules::permit::Permit;
use crate::http::rules::problem_responses::{LogProblems, ReadProblems};

/// View where the lines of a step's log are
///
/// The index has the number of lines, and for every 64 KiB of the log the number of the line at that byte, in
/// the order of the log. To find where line `n` begins, take the last entry whose number is less than `n`:
/// one read of `every` bytes from there on contains the newline before that line. Entries of a log of more
/// than 272 MiB are 128 or 256 KiB apart, so that there are 4,352 at most. The index describes the bytes that
/// are stored at the time of the request; bytes that are stored never change. It is deleted together with the
/// log, and is then `410`.
#[utoipa::path(get, path = "/organizations/{orgId}/deployments/{deploymentId}/steps/{stepRunId}/logs/index", tag = "deployments",
    params(OrganizationPath, StepPath),
    responses((status = 200, body = Data<LogIndex>), ReadProblems, LogProblems))]
pub async fn get_log_index(
    permit: Permit<DeploymentRead>,
    path: PathParams<StepPath>,
) -> Result<Json<Data<LogIndex>>, EarlyResponse> {
    let (key, state) = find(&permit, &path.0).await?;
    Ok(Json(Data { data: lines::index(&permit.app, key, state).await? }))
}
