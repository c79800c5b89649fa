//! `…/ephemeral-environments/{envName}/events`: the event stream of one environment.

use axum::http::HeaderMap;
use axum::response::Response;
use greenroom_app::failure::Failure;
use greenroom_app::live::watcher_heartbeat::WatcherGuard;
use greenroom_app::pipeline_role;
use greenroom_app::session::refusal::not_own;
use greenroom_domain::environment::subject;
use greenroom_domain::event::Category;
use greenroom_domain::id::{EnvironmentId, PipelineId, SessionId};
use greenroom_domain::policy::Action;
use greenroom_domain::policy::action::EnvironmentRead;
use greenroom_store::event::EventFilter;
use greenroom_store::system::watcher::Watcher;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::http::environment::{find_in_pipeline, find_pipeline};
use crate::http::event::last_seen;
use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::path::{EnvironmentPath, OrganizationPath, PathParams, parse_id};
use crate::http::rules::permit::Permit;
use crate::http::rules::problem_responses::{EventStreamProblems, ReadProblems};
use crate::http::rules::query::Query;
use crate::http::rules::stream;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct WatchQuery {
    /// The sequence number after which the stream begins. Without it and without `Last-Event-ID`, the stream
    /// begins with the next new event.
    #[param(minimum = 0)]
    after: Option<i64>,
    /// The id of one of your sessions, which keeps its place in the queue while the stream is open. A stream
    /// never confirms a grant.
    session_id: Option<String>,
}

/// Follow an environment's events as they happen (server-sent events)
///
/// First the stream sends the events after `Last-Event-ID` or `after`, and then new ones: each event once, in
/// the order of `sequence`. A comment every 15 seconds keeps the connection open. The stream ends about a
/// second after its token is revoked or the role of its user changes, and when the server shuts down;
/// reconnect with `Last-Event-ID` to miss nothing.
///
/// With `sessionId`, that session keeps its place in the queue while the stream is open. Without it, the
/// stream has no effect on the queue. A stream never confirms a grant.
#[utoipa::path(get, path = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/events",
    tag = "environments",
    params(OrganizationPath, EnvironmentPath, WatchQuery,
        ("Last-Event-ID" = Option<i64>, Header, description = "The sequence number of the last event that was received")),
    responses((status = 200, description = "One SSE message per event: `id` is the event's sequence number, `event` its type, and `data` the \
        event. A message `reset` means that some events can no longer be sent; read the environment and reconnect.",
        body = String, content_type = "text/event-stream"), ReadProblems, EventStreamProblems))]
pub async fn watch_environment(
    permit: Permit<EnvironmentRead>,
    path: PathParams<EnvironmentPath>,
    headers: HeaderMap,
    query: Query<WatchQuery>,
) -> Result<Response, EarlyResponse> {
    let last_seen = last_seen(&headers, query.0.after)?;
    let pipeline = find_pipeline(&permit, &path.0.pipeline_id).await?;
    let environment = find_in_pipeline(&permit, pipeline, &path.0.env_name).await?;
    let filter = EventFilter {
        category: Some(Category::Deployment),
        subject: Some(subject(pipeline, &environment.name)),
        ..EventFilter::default()
    };
    let watcher = match &query.0.session_id {
        Some(session) => Some(register_watcher(&permit, (pipeline, environment.id), session).await?),
        None => None,
    };
    Ok(stream::open(&permit, filter, last_seen, watcher).await?)
}

/// Registers the stream as the session's watcher. The session must be the caller's, and the caller must have
/// the permission to hold sessions.
async fn register_watcher(
    permit: &Permit<EnvironmentRead>,
    (pipeline, environment_id): (PipelineId, EnvironmentId),
    session: &str,
) -> Result<WatcherGuard, Failure> {
    let (principal, organization_id) = (&permit.principal, permit.organization());
    pipeline_role::require_now(&permit.app.store, principal, pipeline, Action::SessionHold).await?;
    let session_id: SessionId = parse_id(session)?;
    let found = permit.app.store.session(organization_id, environment_id, session_id).await?;
    if !principal.owns(found.ok_or_else(Failure::not_found)?.owner()) {
        return Err(not_own());
    }
    let credential = principal.credential;
    Ok(permit.app.watcher_heartbeat.register(Watcher {
        organization_id,
        environment_id,
        session_id,
        credential,
    }))
}
