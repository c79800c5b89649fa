//! `/organizations/{orgId}/events`

use axum::Json;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use greenroom_api_types::envelope::{Data, List};
use greenroom_api_types::event::{Event, EventCategory};
use greenroom_api_types::problem::FieldProblem;
use greenroom_app::event::{sees, visible};
use greenroom_app::failure::{Code, Failure};
use greenroom_domain::definition::nearest;
use greenroom_domain::event::EventType;
use greenroom_domain::policy::action::EventRead;
use greenroom_domain::principal::Principal;
use greenroom_store::event::EventFilter;
use greenroom_store::page::PageResult;
use jiff::Timestamp;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::http::rules::early_response::EarlyResponse;
use crate::http::rules::page::{list_with, page};
use crate::http::rules::path::{EventPath, OrganizationPath, PathParams, parse_id};
use crate::http::rules::permit::{Narrowed, Permit};
use crate::http::rules::problem_responses::{EventStreamProblems, ReadProblems};
use crate::http::rules::query::{Query, check_timestamp, parse_user};
use crate::http::rules::record_response::RecordResponse;
use crate::http::rules::stream;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EventQuery {
    /// The number of events to return.
    #[param(minimum = 1, maximum = 100, default = 20)]
    limit: Option<i64>,
    /// The number of events to skip, newest first. It can't be combined with `after`.
    #[param(minimum = 0, default = 0)]
    offset: Option<i64>,
    /// Include only events after this sequence number, oldest first. Use it to continue from the last event
    /// that you read.
    #[param(minimum = 0)]
    after: Option<i64>,
    /// Include only events of this category. `audit` needs the role admin and the scope `admin`.
    #[param(inline)]
    category: Option<EventCategory>,
    /// Include only events of this type, or of one of several, separated by commas.
    #[param(example = "session.claimed,session.released")]
    r#type: Option<String>,
    /// Include only events caused by this user: `me`, or the id of a user.
    actor: Option<String>,
    /// Include only events about this subject, for example `pipelines/pip_…`.
    subject: Option<String>,
    /// Include only events at this time or later.
    from: Option<Timestamp>,
    /// Include only events before this time.
    to: Option<Timestamp>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct StreamQuery {
    /// The sequence number after which the stream begins. Without it and without `Last-Event-ID`, the stream
    /// begins with the next new event.
    #[param(minimum = 0)]
    after: Option<i64>,
    /// Include only events of this category. `audit` needs the role admin and the scope `admin`.
    #[param(inline)]
    category: Option<EventCategory>,
    /// Include only events of this type, or of one of several, separated by commas.
    #[param(example = "session.claimed,session.released")]
    r#type: Option<String>,
    /// Include only events caused by this user: `me`, or the id of a user.
    actor: Option<String>,
    /// Include only events about this subject.
    subject: Option<String>,
}

impl EventQuery {
    fn filter(&self, principal: &Principal) -> Result<EventFilter, Failure> {
        Ok(EventFilter {
            category: self.category.map(Into::into),
            event_types: event_types(self.r#type.as_deref())?,
            actor: self.actor.as_deref().map(|text| parse_user("actor", text, principal)).transpose()?,
            subject: self.subject.clone(),
            from: check_timestamp("from", self.from)?,
            to: check_timestamp("to", self.to)?,
            ..EventFilter::default()
        })
    }
}

/// List events: newest first, or with `after` oldest first
///
/// `sequence` numbers the events of an organization without gaps, in the order of the changes. A filter, or a
/// token that may not see all of them, leaves out numbers. To read on, send the last `sequence` as `after`
/// until the list is empty; `total` still counts all that match. Events are kept for 400 days, unless the
/// server is configured otherwise.
#[utoipa::path(get, path = "/organizations/{orgId}/events", tag = "events",
    params(OrganizationPath, EventQuery),
    responses((status = 200, body = List<Event>), ReadProblems))]
pub async fn list_events(
    permit: Permit<EventRead, Narrowed>,
    query: Query<EventQuery>,
) -> Result<Json<List<Event>>, EarlyResponse> {
    let query = query.0;
    let page = page(query.limit, query.offset)?;
    let filter = visible(&permit.principal, query.filter(&permit.principal)?)?;
    let (store, organization) = (&permit.app.store, permit.organization());
    let found = match query.after {
        None => store.events(organization, &filter, page).await?,
        Some(_) if query.offset.is_some() => {
            return Err(Failure::field("offset", "can't be used together with `after`").into());
        }
        Some(after) => PageResult {
            rows: store.events_after(organization, &filter, cursor(after)?, page.limit).await?,
            total: store.count_events(organization, &filter).await?,
        },
    };
    Ok(Json(list_with(page, found, |event| Event::of(organization, event))))
}

/// View an event
///
/// An event is never changed. It gets its `sequence` a moment after the change that it records, and is found
/// from then on. Events are kept for 400 days, unless the server is configured otherwise.
#[utoipa::path(get, path = "/organizations/{orgId}/events/{eventId}", tag = "events",
    params(OrganizationPath, EventPath),
    responses((status = 200, body = Data<Event>), ReadProblems))]
pub async fn get_event(
    permit: Permit<EventRead, Narrowed>,
    path: PathParams<EventPath>,
) -> Result<Response, EarlyResponse> {
    let organization = permit.organization();
    let found = permit.app.store.event(organization, parse_id(&path.0.event_id)?).await?;
    let found = found.filter(|event| sees(&permit.principal, event)).ok_or_else(Failure::not_found)?;
    Ok(RecordResponse::ok(&Event::of(organization, found))?.into_response())
}

/// Follow events as they happen (server-sent events)
///
/// First the stream sends the events after `Last-Event-ID` or `after`, and then new ones: each event once, in
/// the order of `sequence`. A comment every 15 seconds keeps the connection open. The stream ends about a
/// second after its token is revoked or the role of its user changes, and when the server shuts down;
/// reconnect with `Last-Event-ID` to miss nothing. A token can have 100 streams at a time by default.
#[utoipa::path(get, path = "/organizations/{orgId}/events/stream", tag = "events",
    params(OrganizationPath, StreamQuery,
        ("Last-Event-ID" = Option<i64>, Header, description = "The sequence number of the last event that was received")),
    responses((status = 200, description = "One SSE message per event: `id` is the event's sequence number, `event` its type, and `data` the \
        event. A message `reset` means that some events can no longer be sent; read the list and reconnect.",
        body = String, content_type = "text/event-stream"), ReadProblems, EventStreamProblems))]
pub async fn stream_events(
    permit: Permit<EventRead, Narrowed>,
    headers: HeaderMap,
    query: Query<StreamQuery>,
) -> Result<Response, EarlyResponse> {
    let query = query.0;
    let filter = EventFilter {
        category: query.category.map(Into::into),
        event_types: event_types(query.r#type.as_deref())?,
        actor: query.actor.as_deref().map(|text| parse_user("actor", text, &permit.principal)).transpose()?,
        subject: query.subject,
        ..EventFilter::default()
    };
    let filter = visible(&permit.principal, filter)?;
    Ok(stream::open(&permit, filter, last_seen(&headers, query.after)?, None).await?)
}

/// Returns where a stream begins. `Last-Event-ID`, which browsers send on reconnection, takes precedence over
/// `after`.
pub fn last_seen(headers: &HeaderMap, after: Option<i64>) -> Result<Option<i64>, Failure> {
    match headers.get("last-event-id") {
        None => after.map(cursor).transpose(),
        Some(value) => {
            let sequence =
                value.to_str().ok().and_then(|text| text.parse().ok()).filter(|number| *number >= 0);
            sequence.map(Some).ok_or_else(|| {
                Failure::new(Code::InvalidHeader, "`Last-Event-ID` must be an event's sequence.")
            })
        }
    }
}

/// Rejects a type that does not exist: an empty result would look as if no such event had happened.
fn event_types(text: Option<&str>) -> Result<Option<Vec<String>>, Failure> {
    text.map(|text| text.split(',').map(event_type).collect()).transpose()
}

fn event_type(text: &str) -> Result<String, Failure> {
    if EventType::NAMES.contains(&text) {
        return Ok(text.to_owned());
    }
    let same_noun = |name: &&&str| name.strip_prefix(text).is_some_and(|rest| rest.starts_with('.'));
    let expected: Vec<String> =
        EventType::NAMES.iter().filter(same_noun).map(|name| (*name).to_owned()).collect();
    let suggestion = nearest(text, EventType::NAMES.iter().copied());
    let hint = match (expected.is_empty(), suggestion) {
        (false, _) => format!("; `expected` lists those of `{text}`"),
        (true, Some(suggestion)) => format!("; did you mean `{suggestion}`?"),
        (true, None) => ", such as `session.claimed`".to_owned(),
    };
    Err(Failure::fields(vec![FieldProblem {
        pointer: "type".to_owned(),
        detail: format!("must be a type of events{hint}"),
        expected,
        suggestion: suggestion.map(str::to_owned),
        ..FieldProblem::default()
    }]))
}

fn cursor(sequence: i64) -> Result<i64, Failure> {
    if sequence < 0 { Err(Failure::field("after", "must be 0 or more")) } else { Ok(sequence) }
}
