//! `…/steps/{stepRunId}/logs/search`: the lines of a step's log that contain a text.

use axum::Json;
use greenroom_api_types::envelope::Data;
use greenroom_api_types::log::LogMatches;
use greenroom_app::failure::Failure;
use greenroom_app::log::search::{SearchRequest, search};
use greenroom_domain::policy::action::DeploymentRead;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::http::log::find;
use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::path::{OrganizationPath, PathParams, StepPath};
use crate::http::rules::permit::Permit;
use crate::http::rules::problem_responses::{LogProblems, ReadProblems};
use crate::http::rules::query::Query;

const MAX_TEXT_CHARACTERS: usize = 200;
const DEFAULT_LIMIT: u64 = 100;
const MAX_LIMIT: u64 = 1_000;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct LogSearchQuery {
    /// The text to find, as it is: no character has a special meaning. A text is found within one line.
    #[serde(default)]
    #[param(required = true, min_length = 1, max_length = 200, example = "error")]
    q: String,
    /// Whether upper and lower case ASCII letters are different.
    #[param(default = false)]
    case_sensitive: Option<bool>,
    /// The position in the log to begin at.
    #[param(minimum = 0, default = 0)]
    after: Option<u64>,
    /// The number of lines to return.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<u64>,
}

impl LogSearchQuery {
    fn request(self) -> Result<SearchRequest, Failure> {
        let limit = self.limit.unwrap_or(DEFAULT_LIMIT);
        if !(1..=MAX_TEXT_CHARACTERS).contains(&self.q.chars().count()) {
            let detail = format!("must have between 1 and {MAX_TEXT_CHARACTERS} characters");
            return Err(Failure::field("q", detail));
        }
        if !(1..=MAX_LIMIT).contains(&limit) {
            return Err(Failure::field("limit", format!("must be between 1 and {MAX_LIMIT}")));
        }
        let ignores_case = !self.case_sensitive.unwrap_or(false);
        let after = self.after.unwrap_or(0);
        // At most `MAX_LIMIT`.
        Ok(SearchRequest { text: self.q, ignores_case, after, limit: limit as usize })
    }
}

/// Find the lines of a step's log that contain a text
///
/// Lines are in the order of the log, and each is returned once, however often it contains the text. The
/// search covers the bytes that are stored at the time of the request. It ends early after 256 MiB, 5 seconds
/// or 10,000 lines, and when the organization has searched too much: 64 MiB per second, and 1 GiB after a
/// pause, by default. `next` is then where to continue. A token can have one search at a time by default. A
/// log is deleted 90 days after the end of its deployment, unless the server is configured otherwise, and is
/// then `410`.
#[utoipa::path(get, path = "/organizations/{orgId}/deployments/{deploymentId}/steps/{stepRunId}/logs/search", tag = "deployments",
    params(OrganizationPath, StepPath, LogSearchQuery),
    responses((status = 200, body = Data<LogMatches>), ReadProblems, LogProblems))]
pub async fn search_log(
    permit: Permit<DeploymentRead>,
    path: PathParams<StepPath>,
    query: Query<LogSearchQuery>,
) -> Result<Json<Data<LogMatches>>, EarlyResponse> {
    let request = query.0.request()?;
    let (key, state) = find(&permit, &path.0).await?;
    let bearer = permit.principal.as_ref().into();
    Ok(Json(Data { data: search(&permit.app, bearer, key, state, &request).await? }))
}
