//! `/organizations/{orgId}/ephemeral-environments`: the environments of all pipelines.

use axum::Json;
use greenroom_api_types::envelope::List;
use greenroom_api_types::environment::{ListedEnvironment, LockStatus};
use greenroom_app::environment_list;
use greenroom_app::failure::Failure;
use greenroom_domain::policy::action::EnvironmentRead;
use greenroom_domain::principal::Principal;
use greenroom_store::environment_list::EnvironmentFilter;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::page::{list_with, page};
use crate::http::rules::path::OrganizationPath;
use crate::http::rules::permit::{Narrowed, Permit};
use crate::http::rules::problem_responses::ReadProblems;
use crate::http::rules::query::{Query, parse_pipeline, parse_user};
use crate::http::rules::response_examples as examples;
use crate::http::rules::several::several;
use crate::http::session_wire;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct OrganizationEnvironmentQuery {
    /// The number of records to return.
    #[param(minimum = 1, maximum = 100, default = 20)]
    limit: Option<i64>,
    /// The number of records to skip. A page past the end is an empty list.
    #[param(minimum = 0, default = 0)]
    offset: Option<i64>,
    /// Include only environments with this text in their name, their holder's name or a label; upper and
    /// lower case are the same.
    q: Option<String>,
    /// Include only environments of this pipeline: id or slug.
    pipeline_id: Option<String>,
    /// Include only environments with this label; of several, separated by commas, with all of them.
    #[serde(default, deserialize_with = "several")]
    #[param(style = Form, explode = false, value_type = Option<Vec<String>>)]
    label: Option<Vec<String>>,
    /// Include only environments whose lock has this status.
    #[param(inline)]
    status: Option<LockStatus>,
    /// Include only environments that this user holds: `me`, or the id of a user.
    holder: Option<String>,
}

impl OrganizationEnvironmentQuery {
    fn filter(self, principal: &Principal) -> Result<EnvironmentFilter, Failure> {
        Ok(EnvironmentFilter {
            text: self.q,
            pipeline: self.pipeline_id.as_deref().map(parse_pipeline).transpose()?,
            labels: self.label.unwrap_or_default(),
            is_held: self.status.map(|status| status == LockStatus::Locked),
            holder: self.holder.as_deref().map(|text| parse_user("holder", text, principal)).transpose()?,
            within: principal.pipelines.clone(),
        })
    }
}

/// List the ephemeral environments of all pipelines, each with its lock
///
/// The list is sorted by the pipeline's slug and by name. It contains the environments that the lists of the
/// pipelines contain, without those of archived pipelines. After all environments come the templates of the
/// definitions, with `template: true`, unless `status` or `holder` is given. A token that is limited to
/// pipelines sees only those. `total` is exact up to 10,000, and includes the templates.
#[utoipa::path(get, path = "/organizations/{orgId}/ephemeral-environments", tag = "environments",
    params(OrganizationPath, OrganizationEnvironmentQuery),
    responses((status = 200, body = List<ListedEnvironment>,
        example = json!(examples::organization_environments())), ReadProblems))]
pub async fn list_organization_environments(
    permit: Permit<EnvironmentRead, Narrowed>,
    query: Query<OrganizationEnvironmentQuery>,
) -> Result<Json<List<ListedEnvironment>>, EarlyResponse> {
    let page = page(query.0.limit, query.0.offset)?;
    let filter = query.0.filter(&permit.principal)?;
    let (store, organization, urls) = (&permit.app.store, permit.organization(), permit.web_urls());
    let summarize = |record| session_wire::deployment(urls, record);
    let found = environment_list::list(store, organization, &filter, page, urls, summarize).await?;
    Ok(Json(list_with(page, found, |record| record)))
}
