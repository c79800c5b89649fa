//! `…/steps/{stepRunId}/logs/stream`: a step's live log.

use std::collections::VecDeque;
use std::convert::Infallible;

use axum::http::HeaderMap;
use axum::response::sse::{self, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, stream};
use greenroom_app::App;
use greenroom_app::limits::Counted;
use greenroom_app::live::stream_rights::RightsWatch;
use greenroom_app::log::tail::{Follower, LogProgress};
use greenroom_domain::policy::action::DeploymentRead;
use greenroom_worker::log_reader::LogPart;

use crate::http::log::{LogQuery, find};
use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::path::{OrganizationPath, PathParams, StepPath};
use crate::http::rules::permit::Permit;
use crate::http::rules::problem_responses::{LogProblems, ReadProblems};
use crate::http::rules::query::Query;

/// Follow a step's log while it is written (server-sent events)
///
/// The stream begins after `Last-Event-ID`, or else after `afterSeq`, sends the bytes that are stored in
/// their order, and then new ones as they arrive. It ends with a message `end` when the log is complete. A
/// comment every 15 seconds keeps the connection open. The stream ends without that message about a second
/// after its token is revoked or the role of its user changes, and when the server shuts down; reconnect with
/// `Last-Event-ID`.
#[utoipa::path(get, path = "/organizations/{orgId}/deployments/{deploymentId}/steps/{stepRunId}/logs/stream", tag = "deployments",
    params(OrganizationPath, StepPath, LogQuery,
        ("Last-Event-ID" = Option<i64>, Header, description = "The number of bytes that were received")),
    responses((status = 200, description = "Messages `log`: `id` is the number of bytes up to the end of this message, and `data` is JSON \
        with `seq` (the position of its first byte), `at` and `text`. A message `end` means that the log is complete.",
        body = String, content_type = "text/event-stream"), ReadProblems, LogProblems))]
pub async fn stream_log(
    permit: Permit<DeploymentRead>,
    path: PathParams<StepPath>,
    headers: HeaderMap,
    query: Query<LogQuery>,
) -> Result<Response, EarlyResponse> {
    let (log, state) = find(&permit, &path.0).await?;
    let last_event_id = headers.get("last-event-id").and_then(|value| value.to_str().ok()?.parse().ok());
    let at = last_event_id.or(query.0.after_seq).unwrap_or(0);
    let app = permit.app.clone();
    let heartbeat_interval = app.limits.client_timing.stream_heartbeat_interval;
    let watch = app.stream_rights.watch(&permit.principal);
    let counted = app.limits.stream(permit.principal.as_ref().into())?;
    let follower = app.log_tails.follow(log.organization, log.step, state);
    let tail = Tail { app, follower, at, incomplete: None, ready: VecDeque::new(), ended: false };
    let messages = messages(tail, watch, counted);
    Ok(Sse::new(messages).keep_alive(KeepAlive::new().interval(heartbeat_interval)).into_response())
}

/// Holds `counted` and `watch` until the log is complete, the right to read it ends, the server drains, or
/// the client disconnects.
fn messages(
    tail: Tail,
    watch: RightsWatch,
    counted: Counted,
) -> impl Stream<Item = Result<sse::Event, Infallible>> {
    stream::unfold((tail, watch, counted), |(mut tail, watch, counted)| async move {
        let app = tail.app.clone();
        let message = tokio::select! {
            biased;
            () = watch.ended() => None,
            () = app.draining.cancelled() => None,
            message = tail.next() => message,
        };
        message.map(|message| (Ok(message), (tail, watch, counted)))
    })
}

struct Tail {
    app: App,
    follower: Follower,
    /// How many bytes of the log have been sent.
    at: u64,
    /// The first bytes of a character whose remaining bytes are in the next part.
    incomplete: Option<LogPart>,
    ready: VecDeque<LogPart>,
    ended: bool,
}

impl Tail {
    async fn next(&mut self) -> Option<sse::Event> {
        while !self.ended {
            if let Some(part) = self.ready.pop_front() {
                if let Some(text) = self.take_complete_characters(part) {
                    return self.message(text);
                }
                continue;
            }
            let LogProgress { bytes, closed } = self.follower.progress();
            let from = self.incomplete.as_ref().map_or(self.at, LogPart::end);
            if from < bytes {
                let parts = self.follower.read(self.app.log_reader(), from, bytes).await.ok()?;
                // No parts although bytes are stored: the log was removed.
                self.ready.extend(Some(parts).filter(|parts| !parts.is_empty())?);
            } else if !closed {
                self.follower.changed().await;
            } else if let Some(incomplete) = self.incomplete.take() {
                return self.message(incomplete);
            } else {
                self.ended = true;
                return Some(sse::Event::default().event("end").id(self.at.to_string()).data("{}"));
            }
        }
        None
    }

    /// Joins the incomplete character and the part. Returns the complete characters, if there are any.
    fn take_complete_characters(&mut self, part: LogPart) -> Option<LogPart> {
        let part = match self.incomplete.take() {
            None => part,
            Some(incomplete) => {
                LogPart { bytes: [incomplete.bytes, part.bytes].concat().into(), ..incomplete }
            }
        };
        let complete = match std::str::from_utf8(&part.bytes) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => part.bytes.len(),
        };
        let incomplete = part.bytes.slice(complete..);
        let text = LogPart { bytes: part.bytes.slice(..complete), ..part };
        if !incomplete.is_empty() {
            self.incomplete = Some(LogPart { start: text.end(), at: text.at, bytes: incomplete });
        }
        (!text.bytes.is_empty()).then_some(text)
    }

    /// Invalid UTF-8 is replaced. The original bytes can be read with `read_log`.
    fn message(&mut self, part: LogPart) -> Option<sse::Event> {
        self.at = part.end();
        let text = String::from_utf8_lossy(&part.bytes);
        let data = serde_json::json!({ "seq": part.start, "at": part.at, "text": text });
        sse::Event::default().event("log").id(self.at.to_string()).json_data(data).ok()
    }
}
