//! `…/steps/{stepRunId}/logs/stream`: a step's log as it comes.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::http::HeaderMap;
use axum::response::sse::{self, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use greenroom_domain::policy::action::DeploymentRead;

use crate::app::App;
use crate::app::failure::Failure;
use crate::app::log::{self, Part};
use crate::http::log::{LogOf, LogQuery, find};
use crate::http::path::{At, StepPath};
use crate::http::permit::Permit;
use crate::http::query::Query;

/// How soon a stream looks for what another server has taken in.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Follow a step's log as it comes (server-sent events)
#[utoipa::path(get, path = "/organizations/{orgId}/deployments/{deploymentId}/steps/{stepRunId}/logs/stream", tag = "deployments",
    params(("orgId" = String, Path, description = "Id or slug"), ("deploymentId" = String, Path), ("stepRunId" = String, Path), LogQuery,
        ("Last-Event-ID" = Option<i64>, Header, description = "How many bytes were received")),
    responses((status = 200, description = "Messages `log`: `id` is how many bytes there were up to here, `data` is JSON with \
        `seq` (the number of its first byte), `at` and `text`. A message `end` says that nothing more comes.",
        body = String, content_type = "text/event-stream")))]
pub async fn stream_log(
    permit: Permit<DeploymentRead>,
    path: At<StepPath>,
    headers: HeaderMap,
    query: Query<LogQuery>,
) -> Result<Response, Failure> {
    let (of, _) = find(&permit, &path.0).await?;
    let seen = headers.get("last-event-id").and_then(|value| value.to_str().ok()?.parse().ok());
    let at = seen.or(query.0.after_seq).unwrap_or(0);
    let app = permit.app.clone();
    let watch = app.vigil.watch(&permit.principal);
    let counted = app.limits.stream(permit.principal.as_ref().into())?;
    let tail = Tail { app: app.clone(), of, at, ready: VecDeque::new(), ended: false };
    let messages = stream::unfold((tail, watch, counted), |(mut tail, watch, counted)| async move {
        let app = tail.app.clone();
        let message = tokio::select! {
            biased;
            () = watch.ended() => None,
            () = app.draining.cancelled() => None,
            message = tail.next() => message,
        };
        message.map(|message| (Ok::<_, Infallible>(message), (tail, watch, counted)))
    });
    Ok(Sse::new(messages).keep_alive(KeepAlive::new().interval(HEARTBEAT)).into_response())
}

struct Tail {
    app: App,
    of: LogOf,
    at: u64,
    ready: VecDeque<Part>,
    ended: bool,
}

impl Tail {
    async fn next(&mut self) -> Option<sse::Event> {
        loop {
            if self.ended {
                return None;
            }
            if let Some(part) = self.ready.pop_front() {
                if let Some(message) = self.message(part) {
                    return Some(message);
                }
                continue;
            }
            let news = self.app.log_bell.notified();
            let LogOf { organization, deployment, step } = self.of;
            let state = log::state(&self.app, organization, deployment, step).await.ok()?;
            let total = u64::try_from(state.bytes).unwrap_or_default();
            if self.at < total {
                let parts = log::part(&self.app, organization, step, self.at, total).await.ok()?;
                self.ready.extend(parts);
            } else if state.closed {
                self.ended = true;
                return Some(sse::Event::default().event("end").id(self.at.to_string()).data("{}"));
            } else {
                let _ = tokio::time::timeout(LOOK_AGAIN, news).await;
            }
        }
    }

    /// Text is cut where a character ends, so that none is torn; what is no text shows as such. The bytes themselves are
    /// to be had from the log.
    fn message(&mut self, part: Part) -> Option<sse::Event> {
        let whole = match std::str::from_utf8(&part.bytes) {
            Err(error) if error.error_len().is_none() && error.valid_up_to() > 0 => error.valid_up_to(),
            _ => part.bytes.len(),
        };
        let text = String::from_utf8_lossy(part.bytes.get(..whole)?).into_owned();
        let start = part.start;
        self.at = start + whole as u64;
        if whole < part.bytes.len() {
            // What is left of it is read again, with what follows.
            self.ready.clear();
        }
        let data = serde_json::json!({ "seq": start, "at": part.at, "text": text });
        sse::Event::default().event("log").id(self.at.to_string()).json_data(data).ok()
    }
}
