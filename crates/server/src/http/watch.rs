//! `…/ephemeral-environments/{envName}/events`: one environment, watched.

use axum::http::HeaderMap;
use axum::response::Response;
use greenroom_domain::environment::subject;
use greenroom_domain::event::Category;
use greenroom_domain::id::{EnvironmentId, SessionId};
use greenroom_domain::policy::Action;
use greenroom_domain::policy::action::EnvironmentRead;
use greenroom_store::event::EventFilter;
use greenroom_store::system::attendance::Attendant;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::app::attendance::Attending;
use crate::app::failure::Failure;
use crate::app::session::not_own;
use crate::http::environment::{find_in, pipeline};
use crate::http::event::last_seen;
use crate::http::path::{At, EnvironmentPath, id};
use crate::http::permit::Permit;
use crate::http::query::Query;
use crate::http::stream;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct WatchQuery {
    /// Begin after this sequence. Without it, and without `Last-Event-ID`, the stream begins with what comes next.
    #[param(minimum = 0)]
    after: Option<i64>,
    /// A session of one's own: while the stream is open, it keeps its place in the queue. A stream never confirms a grant.
    session_id: Option<String>,
}

/// Follow an environment's events as they happen (server-sent events)
///
/// With `sessionId`, the open stream keeps that session's place in the queue; without it, it keeps nobody's.
#[utoipa::path(get, path = "/organizations/{orgId}/pipelines/{pipelineId}/ephemeral-environments/{envName}/events",
    tag = "environments",
    params(("orgId" = String, Path, description = "Id or slug"), ("pipelineId" = String, Path, description = "Id or slug"),
        ("envName" = String, Path), WatchQuery,
        ("Last-Event-ID" = Option<i64>, Header, description = "The sequence of the last event that was received")),
    responses((status = 200, description = "One SSE message per event: `id` is its sequence, `event` its type, `data` the \
        event. A message `reset` says that events in between are gone; read the environment and follow anew.",
        body = String, content_type = "text/event-stream")))]
pub async fn watch_environment(
    permit: Permit<EnvironmentRead>,
    path: At<EnvironmentPath>,
    headers: HeaderMap,
    query: Query<WatchQuery>,
) -> Result<Response, Failure> {
    let last_seen = last_seen(&headers, query.0.after)?;
    let pipeline = pipeline(&permit, &path.0.pipeline_id).await?;
    let environment = find_in(&permit, pipeline, &path.0.env_name).await?;
    let filter = EventFilter {
        category: Some(Category::Deployment),
        subject: Some(subject(pipeline, &environment.name)),
        ..EventFilter::default()
    };
    let attending = match &query.0.session_id {
        Some(session) => Some(attend(&permit, environment.id, session).await?),
        None => None,
    };
    stream::open(&permit, filter, last_seen, attending).await
}

/// Keeping a place is part of holding sessions, so it needs that right and one's own session.
async fn attend(
    permit: &Permit<EnvironmentRead>,
    environment_id: EnvironmentId,
    session: &str,
) -> Result<Attending, Failure> {
    let (principal, organization_id) = (&permit.principal, permit.organization());
    principal.require(Action::SessionHold)?;
    let session_id: SessionId = id(session)?;
    let found = permit.app.store.session(organization_id, environment_id, session_id).await?;
    if found.ok_or_else(Failure::not_found)?.user_id != principal.user_id {
        return Err(not_own());
    }
    let token_id = principal.token_id;
    Ok(permit.app.attendance.attend(Attendant { organization_id, environment_id, session_id, token_id }))
}
