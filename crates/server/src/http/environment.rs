//! `…/pipelines/{pipelineId}/ephemeral-environments`

use axum::Json;
use axum::response::{IntoResponse, Response};
use greenroom_api_types::envelope::Data;
use greenroom_api_types::environment::Environment;
use greenroom_api_types::session::{History, HistoryPagination, Session};
use greenroom_app::consistent_read::{self, HistoryWindow};
use greenroom_app::environment;
use greenroom_app::failure::Failure;
use greenroom_app::session::read;
use greenroom_app::session::view::SessionView;
use greenroom_domain::id::PipelineId;
use greenroom_domain::policy::Act;
use greenroom_domain::policy::action::EnvironmentRead;
use greenroom_store::deployment::DeploymentRecord;
use greenroom_store::environment::Environment as Record;
use greenroom_store::page::{Page, PageResult, Total};
use greenroom_store::pipeline::PipelineName;
use greenroom_store::session::{Period, Session as SessionRecord};
use jiff::Timestamp;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::path::{EnvironmentPath, OrganizationPath, PathParams, PipelinePath};
use crate::http::rules::permit::Permit;
use crate::http::rules::problem_responses::ReadProblems;
use crate::http::rules::query::{Query, check_timestamp};
use crate::http::rules::record_response::RecordResponse;
use crate::http::rules::response_examples as examples;
use crate::http::session_wire;

/// All environments, in the envelope of lists but without pages.
#[derive(Clone, Debug, serde::Serialize, utoipa::ToSchema)]
pub struct Environments {
    data: Vec<Environment>,
}

#[derive(Clone, Debug, serde::Serialize, utoipa::ToSchema)]
pub struct SessionQueue {
    data: Vec<Session>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct HistoryQuery {
    /// The number of the page, starting at 1. A page past the end is an empty list.
    #[param(minimum = 1, default = 1)]
    page: Option<i64>,
    /// The number of sessions per page.
    #[param(minimum = 1, maximum = 100, default = 20)]
    limit: Option<i64>,
    /// Include only sessions that had not ended at this time.
    from: Option<Timestamp>,
    /// Include only sessions that were requested before this time.
    to: Option<Timestamp>,
}

impl HistoryQuery {
    /// Returns the period, or `None` for the whole history.
    fn period(&self) -> Result<Option<Period>, Failure> {
        let period =
            Period { from: check_timestamp("from", self.from)?, to: check_timestamp("to", self.to)? };
        Ok(Some(period).filter(|period| *period != Period::default()))
    }
}

/// List the ephemeral environments of a pipeline, each with its lock
///
/// The list is sorted by name and has no pages. Environments of the definition are always listed. An
/// environment of a template is listed while a session holds it or waits for it, while a deployment acts on
/// it, and while a failed teardown of it is going to be repeated. A lock whose lease has run out reads `free`
/// from that moment on.
#[utoipa::path(get, path = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments", tag = "environments",
    params(OrganizationPath, PipelinePath),
    responses((status = 200, body = Environments, example = json!(examples::environments())), ReadProblems))]
pub async fn list_environments(
    permit: Permit<EnvironmentRead>,
    path: PathParams<PipelinePath>,
) -> Result<Json<Environments>, EarlyResponse> {
    let pipeline = find_pipeline(&permit, &path.0.pipeline_id).await?;
    let (store, organization) = (&permit.app.store, permit.organization());
    let found = consistent_read::environments(store, organization, pipeline).await?;
    let ids: Vec<_> = found.iter().map(|environment| environment.id).collect();
    let mut last = store.last_of_environments(organization, &ids).await?;
    let urls = permit.web_urls();
    let data = found.into_iter().map(|environment| {
        let deployment = last.remove(&environment.id);
        environment::wire(urls, environment, deployment.map(|last| session_wire::deployment(urls, last)))
    });
    Ok(Json(Environments { data: data.collect() }))
}

/// View an environment's configuration and lock
///
/// An environment of a template is `404` until its name is claimed for the first time, and readable for ever
/// after that. A lock whose lease has run out reads `free` from that moment on, even if the end of its
/// session is not recorded yet. The `ETag` is a hash of the response, for `If-None-Match`.
#[utoipa::path(get, path = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}",
    tag = "environments",
    params(OrganizationPath, EnvironmentPath),
    responses((status = 200, body = Data<Environment>, example = json!(examples::environment())), ReadProblems))]
pub async fn get_environment(
    permit: Permit<EnvironmentRead>,
    path: PathParams<EnvironmentPath>,
) -> Result<Response, EarlyResponse> {
    let found = find(&permit, &path.0.pipeline_id, &path.0.env_name).await?;
    let last =
        permit.app.store.last_of_environments(permit.organization(), &[found.id]).await?.remove(&found.id);
    let urls = permit.web_urls();
    let last = last.map(|last| session_wire::deployment(urls, last));
    Ok(RecordResponse::ok(&environment::wire(urls, found, last))?.with_content_etag().into_response())
}

/// List an environment's sessions, newest first
///
/// The list contains waiting, active and ended sessions, ordered by when they were requested. Sessions are
/// kept for ever. Each has its newest deployments, newest first, 100 at most. With `from` and `to` it contains
/// all sessions that waited for the environment or held it at some time in between; then `total` is exact up
/// to 10,000.
#[utoipa::path(get, path = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/history",
    tag = "environments",
    params(OrganizationPath, EnvironmentPath, HistoryQuery),
    responses((status = 200, body = History, example = json!(examples::history())), ReadProblems))]
pub async fn get_history(
    permit: Permit<EnvironmentRead>,
    path: PathParams<EnvironmentPath>,
    query: Query<HistoryQuery>,
) -> Result<Json<History>, EarlyResponse> {
    let (page, limit) = (query.0.page.unwrap_or(1), query.0.limit.unwrap_or(20));
    if page < 1 {
        return Err(Failure::field("page", "must be 1 or more").into());
    }
    if !(1..=100).contains(&limit) {
        return Err(Failure::field("limit", "must be between 1 and 100").into());
    }
    let period = query.0.period()?;
    let environment = find(&permit, &path.0.pipeline_id, &path.0.env_name).await?;
    let places = Page { limit, offset: (page - 1).saturating_mul(limit) };
    let found = read_history(&permit, &environment, period, places).await?;
    let (total, urls) = (found.total.count, permit.web_urls());
    let entries =
        found.rows.into_iter().map(|(session, own)| session_wire::history_entry(urls, session, own));
    Ok(Json(History {
        data: entries.collect(),
        pagination: HistoryPagination { page, limit, total, total_pages: (total + limit - 1) / limit },
    }))
}

/// Returns a page of the history.
async fn read_history(
    permit: &Permit<EnvironmentRead>,
    environment: &Record,
    period: Option<Period>,
    page: Page,
) -> Result<PageResult<(SessionRecord, Vec<DeploymentRecord>)>, Failure> {
    let (store, organization) = (&permit.app.store, permit.organization());
    if let Some(period) = period {
        return read::history_in_period(store, organization, environment.id, period, page).await;
    }
    let window = HistoryWindow { newest: environment.sessions, skip: page.offset, limit: page.limit };
    let rows = read::history(store, organization, environment.id, window).await?;
    Ok(PageResult { rows, total: Total::exactly(environment.sessions) })
}

/// List the sessions that wait for an environment, in the order of the queue
///
/// The list is in the order in which the sessions joined, has no pages, and contains 1,000 sessions at most.
/// A session whose `heartbeatBy` has passed can be listed until its end is recorded, but it is not granted
/// any more.
#[utoipa::path(get, path = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/queue",
    tag = "environments",
    params(OrganizationPath, EnvironmentPath),
    responses((status = 200, body = SessionQueue, example = json!(examples::session_queue())), ReadProblems))]
pub async fn get_queue(
    permit: Permit<EnvironmentRead>,
    path: PathParams<EnvironmentPath>,
) -> Result<Json<SessionQueue>, EarlyResponse> {
    let environment = find(&permit, &path.0.pipeline_id, &path.0.env_name).await?;
    let waiting = permit.app.store.session_queue(permit.organization(), environment.id).await?;
    let urls = permit.web_urls();
    let Record { pipeline_id, name, lock, .. } = environment;
    let data = waiting.into_iter().map(|session| {
        let (env_name, lock) = (name.clone(), lock.clone());
        let view =
            SessionView { session, pipeline_id, env_name, lock, deployments: Vec::new(), displaced: None };
        session_wire::session(urls, view)
    });
    Ok(Json(SessionQueue { data: data.collect() }))
}

/// Returns the environment that a path names.
pub async fn find<A: Act>(permit: &Permit<A>, pipeline_id: &str, name: &str) -> Result<Record, Failure> {
    find_in_pipeline(permit, find_pipeline(permit, pipeline_id).await?, name).await
}

pub async fn find_in_pipeline<A: Act>(
    permit: &Permit<A>,
    pipeline: PipelineId,
    name: &str,
) -> Result<Record, Failure> {
    let organization = permit.organization();
    let store = &permit.app.store;
    if let Some(found) = consistent_read::environment(store, organization, pipeline, name).await? {
        return Ok(found);
    }
    let known = store.environments(organization, pipeline).await?;
    Err(environment::missing(name, known.iter().map(|environment| environment.name.as_str())))
}

/// Returns the id of the pipeline that a path names.
pub async fn find_pipeline<A: Act>(permit: &Permit<A>, text: &str) -> Result<PipelineId, Failure> {
    let name = PipelineName::parse(text).ok_or_else(Failure::not_found)?;
    let found = permit.app.store.pipeline(permit.organization(), &name).await?;
    Ok(found.ok_or_else(Failure::not_found)?.id)
}
