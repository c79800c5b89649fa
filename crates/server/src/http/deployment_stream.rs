//! `…/deployments/{deploymentId}/stream`: a deployment's progress.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::http::HeaderMap;
use axum::response::sse::{self, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, stream};
use greenroom_api_types::deployment::Deployment;
use greenroom_app::App;
use greenroom_app::deployment::view;
use greenroom_app::deployment_tail::{DeploymentState, Follower};
use greenroom_app::limits::Counted;
use greenroom_app::live::stream_rights::RightsWatch;
use greenroom_domain::id::DeploymentId;
use greenroom_domain::policy::action::DeploymentRead;
use greenroom_domain::principal::Principal;

use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::path::{DeploymentPath, OrganizationPath, PathParams, parse_id};
use crate::http::rules::permit::Permit;
use crate::http::rules::problem_responses::ReadProblems;

const RECONNECT_DELAY: Duration = Duration::from_secs(1);

/// Follow a deployment until its end (server-sent events)
///
/// The stream begins with the deployment as it is, and then sends its changes in their order, about half a
/// second after they happened; several changes within that time may be one message. It ends with a message
/// `end` when the deployment has ended. The lengths of logs alone are no change: follow a log by its own
/// stream. A comment every 15 seconds keeps the connection open. The stream ends without the message `end`
/// about a second after its token is revoked or the role of its user changes, and when the server shuts down;
/// reconnect with `Last-Event-ID`. If nothing has changed since, the stream continues, otherwise it begins
/// with the deployment as it is. A token can have 100 streams at a time by default.
#[utoipa::path(get, path = "/organizations/{orgId}/deployments/{deploymentId}/stream", tag = "deployments",
    params(OrganizationPath, DeploymentPath,
        ("Last-Event-ID" = Option<String>, Header, description = "The `id` of the last message that was received")),
    responses((status = 200, description = "A message `snapshot` has the deployment with all of its stages, like the response of \
        `get_deployment`. A message `change` has the deployment with those stages that have changed, each with its steps; `stages` is \
        left out if none has. A message `end` means that the deployment has ended. `id` identifies the state of the deployment.",
        body = String, content_type = "text/event-stream"), ReadProblems))]
pub async fn stream_deployment(
    permit: Permit<DeploymentRead>,
    path: PathParams<DeploymentPath>,
    headers: HeaderMap,
) -> Result<Response, EarlyResponse> {
    let (app, organization) = (permit.app.clone(), permit.organization());
    let heartbeat_interval = app.limits.client_timing.stream_heartbeat_interval;
    let deployment: DeploymentId = parse_id(&path.0.deployment_id)?;
    let watch = app.stream_rights.watch(&permit.principal);
    let counted = app.limits.stream(permit.principal.as_ref().into())?;
    // Follow the deployment before reading it, so that no change is lost in between.
    let follower = app.deployment_tails.follow(organization, deployment);
    let state = Arc::new(DeploymentState::of(view(&app, &permit.principal, deployment).await?)?);
    let last_event_id = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let progress = Progress {
        app,
        principal: Arc::clone(&permit.principal),
        deployment,
        follower,
        pending: first_messages(&state, last_event_id),
        sent: state,
    };
    let messages = messages(progress, watch, counted);
    Ok(Sse::new(messages).keep_alive(KeepAlive::new().interval(heartbeat_interval)).into_response())
}

/// Holds `counted` and `watch` until the deployment has ended, the right to read it ends, the server drains,
/// or the client disconnects.
fn messages(
    progress: Progress,
    watch: RightsWatch,
    counted: Counted,
) -> impl Stream<Item = Result<sse::Event, Infallible>> {
    stream::unfold((progress, watch, counted), |(mut progress, watch, counted)| async move {
        let app = progress.app.clone();
        let message = tokio::select! {
            biased;
            () = watch.ended() => None,
            () = app.draining.cancelled() => None,
            message = progress.next() => message,
        };
        message.map(|message| (Ok(message), (progress, watch, counted)))
    })
}

struct Progress {
    app: App,
    principal: Arc<Principal>,
    deployment: DeploymentId,
    follower: Follower,
    /// The state that the client has.
    sent: Arc<DeploymentState>,
    pending: VecDeque<sse::Event>,
}

impl Progress {
    /// Returns the next message. `None` ends the stream.
    async fn next(&mut self) -> Option<sse::Event> {
        loop {
            if let Some(message) = self.pending.pop_front() {
                return Some(message);
            }
            if self.sent.has_ended() {
                return None;
            }
            self.follower.changed().await;
            let read = view(&self.app, &self.principal, self.deployment);
            let state = self.follower.state(read).await.ok()?;
            if state.id != self.sent.id {
                self.pending.extend(message("change", &state.id, &state.since(&self.sent)));
                self.pending.extend(end(&state));
                self.sent = state;
            }
        }
    }
}

fn first_messages(state: &DeploymentState, last_event_id: Option<&str>) -> VecDeque<sse::Event> {
    // The first message confirms that the stream is open, and sets the client's reconnection delay.
    let mut messages = VecDeque::from([sse::Event::default().retry(RECONNECT_DELAY).comment("open")]);
    if last_event_id != Some(state.id.as_str()) {
        messages.extend(message("snapshot", &state.id, &state.record));
    }
    messages.extend(end(state));
    messages
}

/// Returns the last message of a stream, if the deployment has ended.
fn end(state: &DeploymentState) -> Option<sse::Event> {
    state.has_ended().then(|| sse::Event::default().event("end").id(&state.id).data("{}"))
}

fn message(name: &str, id: &str, data: &Deployment) -> Option<sse::Event> {
    sse::Event::default().event(name).id(id).json_data(data).ok()
}
