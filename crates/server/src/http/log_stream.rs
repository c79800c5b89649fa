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
use crate::app::log::Part;
use crate::app::log_tail::{Follower, LogProgress};
use crate::http::log::{LogQuery, find};
use crate::http::path::{At, StepPath};
use crate::http::permit::Permit;
use crate::http::query::Query;

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
    let (of, state) = find(&permit, &path.0).await?;
    let seen = headers.get("last-event-id").and_then(|value| value.to_str().ok()?.parse().ok());
    let at = seen.or(query.0.after_seq).unwrap_or(0);
    let app = permit.app.clone();
    let watch = app.vigil.watch(&permit.principal);
    let counted = app.limits.stream(permit.principal.as_ref().into())?;
    let follower = app.log_tails.follow(of.organization, of.step, state);
    let tail = Tail { app: app.clone(), follower, at, torn: None, ready: VecDeque::new(), ended: false };
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
    follower: Follower,
    /// How many bytes of the log the messages so far have covered.
    at: u64,
    /// The first bytes of a character whose rest has not come yet: the next part continues it.
    torn: Option<Part>,
    ready: VecDeque<Part>,
    ended: bool,
}

impl Tail {
    async fn next(&mut self) -> Option<sse::Event> {
        while !self.ended {
            if let Some(part) = self.ready.pop_front() {
                if let Some(text) = self.whole_characters(part) {
                    return self.message(text);
                }
                continue;
            }
            let LogProgress { bytes, closed } = self.follower.progress();
            let from = self.torn.as_ref().map_or(self.at, Part::end);
            if from < bytes {
                let parts = self.follower.read(&self.app, from, bytes).await.ok()?;
                // Nothing though there should be something: the log was removed.
                self.ready.extend(Some(parts).filter(|parts| !parts.is_empty())?);
            } else if !closed {
                self.follower.changed().await;
            } else if let Some(torn) = self.torn.take() {
                return self.message(torn);
            } else {
                self.ended = true;
                return Some(sse::Event::default().event("end").id(self.at.to_string()).data("{}"));
            }
        }
        None
    }

    /// The part that is ready, with what was torn off before it, up to where a character ends. `None` if it ends in the first.
    fn whole_characters(&mut self, part: Part) -> Option<Part> {
        let part = match self.torn.take() {
            None => part,
            Some(torn) => Part { bytes: [torn.bytes, part.bytes].concat().into(), ..torn },
        };
        let whole = match std::str::from_utf8(&part.bytes) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => part.bytes.len(),
        };
        let torn = part.bytes.slice(whole..);
        let text = Part { bytes: part.bytes.slice(..whole), ..part };
        if !torn.is_empty() {
            self.torn = Some(Part { start: text.end(), at: text.at, bytes: torn });
        }
        (!text.bytes.is_empty()).then_some(text)
    }

    /// What is no text shows as such. The bytes themselves are to be had from the log.
    fn message(&mut self, part: Part) -> Option<sse::Event> {
        self.at = part.end();
        let text = String::from_utf8_lossy(&part.bytes);
        let data = serde_json::json!({ "seq": part.start, "at": part.at, "text": text });
        sse::Event::default().event("log").id(self.at.to_string()).json_data(data).ok()
    }
}
