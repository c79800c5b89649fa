//! `…/ephemeral-environments/{envName}/events`: one environment, watched.

use axum::http::HeaderMap;
use axum::response::Response;
use greenroom_domain::environment::subject;
use greenroom_domain::event::Category;
use greenroom_domain::policy::action::EnvironmentRead;
use greenroom_store::event::EventFilter;
use greenroom_store::system::attendance::Attendant;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::app::failure::Failure;
use crate::http::environment::{find_in, pipeline};
use crate::http::event::last_seen;
use crate::http::path::{At, EnvironmentPath};
use crate::http::permit::Permit;
use crate::http::query::Query;
use crate::http::stream;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct WatchQuery {
    /// Begin after this sequence. Without it, and without `Last-Event-ID`, the stream begins with what comes next.
    #[param(minimum = 0)]
    after: Option<i64>,
}

/// Follow an environment's events as they happen (server-sent events)
///
/// While it is open, the caller's waiting sessions in this environment count as heard from.
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
    let attending = permit.app.attendance.attend(Attendant {
        organization_id: permit.organization(),
        environment_id: environment.id,
        user_id: permit.principal.user_id,
    });
    stream::open(&permit, filter, last_seen, Some(attending)).await
}
