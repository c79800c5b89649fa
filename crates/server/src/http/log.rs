//! `…/steps/{stepRunId}/logs`: a step's log, all of it or a range of bytes or lines. For the live log see
//! `log_stream`.

use std::collections::VecDeque;
use std::ops::Range;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use greenroom_app::App;
use greenroom_app::failure::Failure;
use greenroom_app::log::lines::{self, LogSelection};
use greenroom_app::log::{self, LogKey};
use greenroom_domain::id::{DeploymentId, OrganizationId, StepRunId};
use greenroom_domain::policy::action::DeploymentRead;
use greenroom_store::log::LogState;
use greenroom_worker::log_reader::{LogPart, READ_BYTES};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::http::rules::download::download;
use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::path::{OrganizationPath, PathParams, StepPath, parse_id};
use crate::http::rules::permit::Permit;
use crate::http::rules::problem_responses::{LogProblems, RangeProblems, ReadProblems};
use crate::http::rules::query::Query;
use crate::http::rules::range::{not_satisfiable, parse_range};

/// Header: whether the log is closed.
const COMPLETE_HEADER: &str = "x-log-complete";
/// Header: the position of the first byte of the response in the log.
const OFFSET_HEADER: &str = "x-log-offset";

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct LogQuery {
    /// The number of bytes to skip at the beginning of the log.
    #[param(minimum = 0, default = 0)]
    pub after_seq: Option<u64>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct ReadLogQuery {
    /// The number of bytes to skip at the beginning of the log.
    #[param(minimum = 0, default = 0)]
    after_seq: Option<u64>,
    /// Return only these lines, numbered from 1: `10-20`, or `10-` for all lines from the tenth on. Can't be
    /// combined with `tail`, `afterSeq` or `Range`.
    #[param(pattern = "^[0-9]+-[0-9]*$")]
    lines: Option<String>,
    /// Return only the last lines, this many at most. Can't be combined with `lines`, `afterSeq` or `Range`.
    #[param(minimum = 1)]
    tail: Option<u64>,
}

impl ReadLogQuery {
    /// `has_range`: whether the request has a valid `Range`, which takes precedence over `afterSeq`.
    fn selection(&self, has_range: bool) -> Result<LogSelection, Failure> {
        match (has_range, self.after_seq, self.lines.as_deref(), self.tail) {
            (_, after, None, None) => Ok(LogSelection::After(after.unwrap_or(0))),
            (false, None, Some(text), None) => parse_lines(text),
            (false, None, None, Some(0)) => Err(Failure::field("tail", "must be 1 or more")),
            (false, None, None, Some(count)) => Ok(LogSelection::Tail(count)),
            (_, _, Some(_), _) => {
                Err(Failure::field("lines", "can't be combined with `tail`, `afterSeq` or `Range`"))
            }
            (_, _, None, Some(_)) => {
                Err(Failure::field("tail", "can't be combined with `afterSeq` or `Range`"))
            }
        }
    }
}

fn parse_lines(text: &str) -> Result<LogSelection, Failure> {
    let invalid = || Failure::field("lines", "must be a range of lines from 1 on, such as `10-20` or `10-`");
    let parse = |text: &str| {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        // A number that does not fit is past the end of every log.
        let number = is_number.then(|| text.parse().unwrap_or(u64::MAX));
        number.filter(|number| *number > 0).ok_or_else(invalid)
    };
    let (first, last) = text.split_once('-').ok_or_else(invalid)?;
    let (first, last) = (parse(first)?, if last.is_empty() { None } else { Some(parse(last)?) });
    if last.is_some_and(|last| last < first) {
        return Err(invalid());
    }
    Ok(LogSelection::Lines { first, last })
}

/// Returns the log that a path names, and its state.
pub async fn find(permit: &Permit<DeploymentRead>, path: &StepPath) -> Result<(LogKey, LogState), Failure> {
    let (deployment, step): (DeploymentId, _) =
        (parse_id(&path.deployment_id)?, parse_id(&path.step_run_id)?);
    let log_key = LogKey { organization: permit.organization(), step };
    Ok((log_key, log::state(&permit.app, log_key.organization, deployment, step).await?))
}

/// Read a step's log, byte for byte
///
/// The response contains the bytes that are stored at the time of the request; a log grows while its step
/// runs, and bytes that are stored never change. Continue with `afterSeq` or `Range` at the number of bytes
/// that you have, or read only some lines with `lines` or `tail`. A line ends with a newline; lines that the
/// log does not have are omitted, without an error. `X-Log-Offset` is the position of the response's first
/// byte in the log. A log is deleted 90 days after the end of its deployment, unless the server is configured
/// otherwise, and is then `410`. A token can have 16 downloads at a time by default. A download breaks off
/// when its token is revoked, or when the client reads nothing for 30 seconds.
#[utoipa::path(get, path = "/organizations/{orgId}/deployments/{deploymentId}/steps/{stepRunId}/logs", tag = "deployments",
    params(OrganizationPath, StepPath, ReadLogQuery,
        ("Range" = Option<String>, Header, description = "One range: `bytes=0-1023`, `bytes=1024-` or `bytes=-1024`")),
    responses((status = 200, description = "The log as far as it is stored. `X-Log-Complete` is `true` if the log is complete",
        body = String, content_type = "text/plain"), (status = 206, description = "The requested range of the log", body = String, content_type = "text/plain"),
        ReadProblems, LogProblems, RangeProblems))]
pub async fn read_log(
    permit: Permit<DeploymentRead>,
    path: PathParams<StepPath>,
    headers: HeaderMap,
    query: Query<ReadLogQuery>,
) -> Result<Response, EarlyResponse> {
    let (log_key, state) = find(&permit, &path.0).await?;
    let total = state.bytes;
    let range = headers.get(header::RANGE).map(|value| parse_range(value, total)).transpose()?;
    let selection = query.0.selection(range.is_some())?;
    let mut response = match range {
        Some(Some(range)) => respond_with_part(total, &range, open_download(&permit, log_key, &range)?)?,
        Some(None) => not_satisfiable(total),
        None => {
            let range = lines::select(&permit.app, log_key, state, selection).await?;
            respond(StatusCode::OK, &range, open_download(&permit, log_key, &range)?)
        }
    };
    let complete = HeaderValue::from_static(if state.closed { "true" } else { "false" });
    response.headers_mut().insert(COMPLETE_HEADER, complete);
    Ok(response)
}

fn open_download(
    permit: &Permit<DeploymentRead>,
    LogKey { organization, step }: LogKey,
    range: &Range<u64>,
) -> Result<Body, Failure> {
    let counted = permit.app.limits.download(permit.principal.as_ref().into())?;
    let watch = permit.app.stream_rights.watch(&permit.principal);
    let log = stream_range(permit.app.clone(), organization, step, range.start, range.end);
    Ok(download(log, counted, watch))
}

fn respond_with_part(total: u64, range: &Range<u64>, body: Body) -> Result<Response, Failure> {
    let mut response = respond(StatusCode::PARTIAL_CONTENT, range, body);
    let text = format!("bytes {}-{}/{total}", range.start, range.end.saturating_sub(1));
    let value = HeaderValue::from_str(&text).map_err(Failure::internal)?;
    response.headers_mut().insert(header::CONTENT_RANGE, value);
    Ok(response)
}

fn respond(status: StatusCode, range: &Range<u64>, body: Body) -> Response {
    let mut response = (status, body).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(range.end - range.start));
    headers.insert(OFFSET_HEADER, HeaderValue::from(range.start));
    response
}

fn stream_range(
    app: App,
    organization: OrganizationId,
    step: StepRunId,
    from: u64,
    to: u64,
) -> impl futures_util::Stream<Item = Result<Bytes, std::io::Error>> {
    stream::try_unfold((app, from, VecDeque::<LogPart>::new()), move |(app, mut at, mut ready)| async move {
        if ready.is_empty() && at < to {
            let parts = app.log_reader().read_parts(organization, step, at..to, READ_BYTES).await;
            ready.extend(parts.map_err(std::io::Error::other)?);
            if ready.is_empty() {
                return Err(std::io::Error::other("the log was removed during the download"));
            }
        }
        Ok(ready.pop_front().map(|part| {
            at = part.end();
            (part.bytes, (app, at, ready))
        }))
    })
}
