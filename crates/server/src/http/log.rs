//! `…/steps/{stepRunId}/logs`: a step's log, all of it, from a byte on, or as it comes.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::sse::{self, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use greenroom_domain::id::{DeploymentId, OrganizationId, StepRunId};
use greenroom_domain::policy::action::DeploymentRead;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::app::App;
use crate::app::failure::Failure;
use crate::app::log::{self, Part};
use crate::http::path::{At, StepPath, id};
use crate::http::permit::Permit;
use crate::http::query::Query;
use crate::http::range::{not_satisfiable, range};

/// How soon a stream looks for what another server has taken in.
const LOOK_AGAIN: Duration = Duration::from_millis(500);
/// Whether nothing more comes.
const COMPLETE: &str = "x-log-complete";
const HEARTBEAT: Duration = Duration::from_secs(15);

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct LogQuery {
    /// Only what comes after this many bytes.
    #[param(minimum = 0, default = 0)]
    after_seq: Option<u64>,
}

/// Read a step's log, byte for byte
#[utoipa::path(get, path = "/organizations/{orgId}/deployments/{deploymentId}/steps/{stepRunId}/logs", tag = "deployments",
    params(("orgId" = String, Path, description = "Id or slug"), ("deploymentId" = String, Path), ("stepRunId" = String, Path), LogQuery,
        ("Range" = Option<String>, Header, description = "`bytes=0-1023`, `bytes=1024-` or `bytes=-1024`: one range")),
    responses((status = 200, description = "All of it, as far as it is here. `X-Log-Complete: true` if nothing more comes",
        body = String, content_type = "text/plain"), (status = 206, description = "The range", body = String, content_type = "text/plain")))]
pub async fn read_log(
    permit: Permit<DeploymentRead>,
    path: At<StepPath>,
    headers: HeaderMap,
    query: Query<LogQuery>,
) -> Result<Response, Failure> {
    let (deployment, step): (DeploymentId, StepRunId) =
        (id(&path.0.deployment_id)?, id(&path.0.step_run_id)?);
    let organization = permit.organization();
    let state = log::state(&permit.app, organization, deployment, step).await?;
    let total = u64::try_from(state.bytes).unwrap_or_default();
    let complete = HeaderValue::from_static(if state.closed { "true" } else { "false" });
    let (from, to) = match headers.get(header::RANGE).map(|value| range(value, total)).transpose()? {
        Some(Some(asked)) => asked,
        Some(None) => {
            let mut response = not_satisfiable(total);
            response.headers_mut().insert(COMPLETE, complete);
            return Ok(response);
        }
        None => (query.0.after_seq.map_or(0, |after| after.min(total)), total),
    };
    let body = Body::from_stream(whole(permit.app.clone(), organization, step, from, to));
    let partial = headers.contains_key(header::RANGE);
    let status = if partial { StatusCode::PARTIAL_CONTENT } else { StatusCode::OK };
    let mut response = (status, body).into_response();
    let out = response.headers_mut();
    out.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    out.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    out.insert(header::CONTENT_LENGTH, HeaderValue::from(to - from));
    out.insert(COMPLETE, complete);
    if partial {
        let text = format!("bytes {from}-{}/{total}", to.saturating_sub(1));
        out.insert(header::CONTENT_RANGE, HeaderValue::from_str(&text).map_err(Failure::internal)?);
    }
    Ok(response)
}

fn whole(
    app: App,
    organization: OrganizationId,
    step: StepRunId,
    from: u64,
    to: u64,
) -> impl futures_util::Stream<Item = Result<Bytes, std::io::Error>> {
    stream::try_unfold((app, from, VecDeque::<Part>::new()), move |(app, mut at, mut ready)| async move {
        if ready.is_empty() && at < to {
            let parts = log::part(&app, organization, step, at, to).await;
            ready.extend(parts.map_err(|failure| std::io::Error::other(failure.detail.into_owned()))?);
        }
        Ok(ready.pop_front().map(|part| {
            at = part.start + part.bytes.len() as u64;
            (part.bytes, (app, at, ready))
        }))
    })
}

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
    let (deployment, step): (DeploymentId, StepRunId) =
        (id(&path.0.deployment_id)?, id(&path.0.step_run_id)?);
    let organization = permit.organization();
    log::state(&permit.app, organization, deployment, step).await?;
    let seen = headers.get("last-event-id").and_then(|value| value.to_str().ok()?.parse().ok());
    let at = seen.or(query.0.after_seq).unwrap_or(0);
    let app = permit.app.clone();
    let watch = app.vigil.watch(&permit.principal);
    let tail =
        Tail { app: app.clone(), organization, deployment, step, at, ready: VecDeque::new(), ended: false };
    let messages = stream::unfold((tail, watch), |(mut tail, watch)| async move {
        let app = tail.app.clone();
        let message = tokio::select! {
            biased;
            () = watch.ended() => None,
            () = app.draining.cancelled() => None,
            message = tail.next() => message,
        };
        message.map(|message| (Ok::<_, Infallible>(message), (tail, watch)))
    });
    Ok(Sse::new(messages).keep_alive(KeepAlive::new().interval(HEARTBEAT)).into_response())
}

struct Tail {
    app: App,
    organization: OrganizationId,
    deployment: DeploymentId,
    step: StepRunId,
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
            let state = log::state(&self.app, self.organization, self.deployment, self.step).await.ok()?;
            let total = u64::try_from(state.bytes).unwrap_or_default();
            if self.at < total {
                let parts = log::part(&self.app, self.organization, self.step, self.at, total).await.ok()?;
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
