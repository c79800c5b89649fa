//! `/organizations/{orgId}/sessions`: the live sessions of all pipelines.

use axum::Json;
use greenroom_api_types::envelope::List;
use greenroom_api_types::session::ListedSession;
use greenroom_app::failure::Failure;
use greenroom_app::session::live;
use greenroom_domain::policy::action::EnvironmentRead;
use greenroom_domain::principal::Principal;
use greenroom_store::live_session::LiveSessionFilter;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::page::{list_with, page};
use crate::http::rules::path::OrganizationPath;
use crate::http::rules::permit::{Narrowed, Permit};
use crate::http::rules::problem_responses::ReadProblems;
use crate::http::rules::query::{Query, parse_user};
use crate::http::rules::response_examples as examples;
use crate::http::rules::several::several;
use crate::http::session_wire;

/// The status of a session that has not ended.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum LiveStatus {
    Active,
    Queued,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct LiveSessionQuery {
    /// The number of records to return.
    #[param(minimum = 1, maximum = 100, default = 20)]
    limit: Option<i64>,
    /// The number of records to skip. A page past the end is an empty list.
    #[param(minimum = 0, default = 0)]
    offset: Option<i64>,
    /// Include only sessions of this user: `me`, or the id of a user.
    user_id: Option<String>,
    /// Include only sessions with this status, or with one of several, separated by commas. Both if left out.
    #[serde(default, deserialize_with = "several")]
    #[param(inline, style = Form, explode = false, value_type = Option<Vec<LiveStatus>>)]
    status: Option<Vec<LiveStatus>>,
}

impl LiveSessionQuery {
    fn filter(&self, principal: &Principal) -> Result<LiveSessionFilter, Failure> {
        let includes = |wanted| self.status.as_ref().is_none_or(|statuses| statuses.contains(&wanted));
        let user = self.user_id.as_deref().map(|text| parse_user("userId", text, principal)).transpose()?;
        Ok(LiveSessionFilter {
            user,
            active: includes(LiveStatus::Active),
            queued: includes(LiveStatus::Queued),
            within: principal.pipelines.clone(),
        })
    }
}

/// List the sessions that hold an environment or wait for one, of all pipelines
///
/// The list is ordered by when the sessions were requested, newest first. Sessions that have ended are not in
/// it; an environment's history has them. Reading it neither keeps a place in a queue nor confirms a grant.
/// Each session has its newest deployments, newest first, 100 at most. A token that is limited to pipelines
/// sees only theirs. `total` is exact up to 10,000; it can count sessions that end at that moment.
#[utoipa::path(get, path = "/organizations/{orgId}/sessions", tag = "environments",
    params(OrganizationPath, LiveSessionQuery),
    responses((status = 200, body = List<ListedSession>, example = json!(examples::sessions())), ReadProblems))]
pub async fn list_sessions(
    permit: Permit<EnvironmentRead, Narrowed>,
    query: Query<LiveSessionQuery>,
) -> Result<Json<List<ListedSession>>, EarlyResponse> {
    let page = page(query.0.limit, query.0.offset)?;
    let filter = query.0.filter(&permit.principal)?;
    let found = live::list(&permit.app.store, permit.organization(), &filter, page).await?;
    let urls = permit.web_urls();
    Ok(Json(list_with(page, found, |(live, view)| session_wire::listed(urls, live, view))))
}
