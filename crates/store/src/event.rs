//! Sequenced events of an organization.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::event::{Category, Event, EventType};
use greenroom_domain::id::{EventId, OrganizationId, UserId};
use greenroom_domain::token_grant::PipelineLimit;
use jiff::Timestamp;

use crate::error::parse_column;
use crate::page::{MAX_COUNT, Page, PageResult, Total};
use crate::{Store, StoreError};

pub(crate) struct Row {
    pub(crate) id: uuid::Uuid,
    pub(crate) sequence: i64,
    pub(crate) time: jiff_sqlx::Timestamp,
    pub(crate) event_type: String,
    pub(crate) category: String,
    pub(crate) subject: String,
    pub(crate) actor_id: Option<uuid::Uuid>,
    pub(crate) data: serde_json::Value,
}

impl TryFrom<Row> for Event {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.id.into(),
            sequence: row.sequence,
            time: row.time.to_jiff(),
            event_type: row.event_type,
            category: parse_column("events.category", &row.category)?,
            subject: row.subject,
            actor_id: row.actor_id.map(UserId::from),
            data: row.data,
        })
    }
}

impl Row {
    /// Returns false for an event that a newer version of the server has written, for example before a
    /// rollback to this version.
    pub(crate) fn is_known(&self) -> bool {
        EventType::NAMES.contains(&self.event_type.as_str()) && self.category.parse::<Category>().is_ok()
    }
}

/// The event types and categories of this version. Queries exclude all others with a condition that never
/// uses an index, because it excludes almost nothing.
struct KnownNames {
    types: Vec<String>,
    categories: Vec<String>,
}

impl KnownNames {
    fn new() -> Self {
        let to_owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Self { types: to_owned(EventType::NAMES), categories: to_owned(Category::NAMES) }
    }
}

/// The sequence numbers of an organization's history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventBounds {
    /// The oldest one that can still be read; `head + 1` if no event is stored.
    pub oldest: i64,
    /// The newest one.
    pub head: i64,
}

/// Conditions on events. A field that is `None` matches all events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventFilter {
    pub category: Option<Category>,
    /// Types that match whatever their category.
    pub types_of_any_category: Vec<String>,
    /// One of these types.
    pub event_types: Option<Vec<String>>,
    pub actor: Option<UserId>,
    pub subject: Option<String>,
    pub from: Option<Timestamp>,
    pub to: Option<Timestamp>,
    /// Only events of pipelines that the token has access to.
    pub within: PipelineLimit,
}

/// Returns subject prefixes: the subject of every event of a pipeline begins with `pipelines/pip_…`.
fn subjects(limit: &PipelineLimit) -> Option<Vec<String>> {
    limit.ids().map(|ids| ids.iter().map(|id| format!("pipelines/{id}")).collect())
}

#[boxed_futures]
impl Store {
    /// Returns events, newest first. Events of types unknown to this version are omitted, but the total
    /// counts them.
    pub async fn events(
        &self,
        organization: OrganizationId,
        filter: &EventFilter,
        page: Page,
    ) -> Result<PageResult<Event>, StoreError> {
        let total = self.count_events(organization, filter).await?;
        if !total.capped && page.offset >= total.count {
            return Ok(PageResult { rows: Vec::new(), total });
        }
        let KnownNames { types, categories } = KnownNames::new();
        let rows = sqlx::query_as!(
            Row,
            "select id, sequence, time, type as event_type, category, subject, actor_id, data from events
             where organization_id = $1
               and ($2::text is null or category = $2 or type = any($13)) and ($3::text[] is null or type = any($3))
               and ($4::uuid is null or actor_id = $4) and ($5::text is null or subject = $5)
               and ($6::timestamptz is null or time >= $6) and ($7::timestamptz is null or time < $7)
               and array_position($10::text[], type) is not null and array_position($11::text[], category) is not null
               and ($12::text[] is null or left(subject, 50) = any($12))
             order by sequence desc limit $8 offset $9",
            organization.uuid(),
            filter.category.map(Category::as_str),
            filter.event_types.as_deref(),
            filter.actor.map(UserId::uuid),
            filter.subject.as_deref(),
            filter.from.map(jiff_sqlx::Timestamp::from) as Option<jiff_sqlx::Timestamp>,
            filter.to.map(jiff_sqlx::Timestamp::from) as Option<jiff_sqlx::Timestamp>,
            page.limit,
            page.offset,
            &types,
            &categories,
            subjects(&filter.within) as Option<Vec<String>>,
            &filter.types_of_any_category,
        )
        .fetch_all(&self.pool())
        .await?;
        let rows = rows.into_iter().map(Event::try_from).collect::<Result<_, _>>()?;
        Ok(PageResult { rows, total })
    }

    /// Returns events after a sequence number, oldest first, for cursors and streams. Events of types unknown
    /// to this version are omitted.
    pub async fn events_after(
        &self,
        organization: OrganizationId,
        filter: &EventFilter,
        after: i64,
        limit: i64,
    ) -> Result<Vec<Event>, StoreError> {
        let KnownNames { types, categories } = KnownNames::new();
        let rows = sqlx::query_as!(
            Row,
            "select id, sequence, time, type as event_type, category, subject, actor_id, data from events
             where organization_id = $1 and sequence > $2
               and ($3::text is null or category = $3 or type = any($13)) and ($4::text[] is null or type = any($4))
               and ($5::uuid is null or actor_id = $5) and ($6::text is null or subject = $6)
               and ($7::timestamptz is null or time >= $7) and ($8::timestamptz is null or time < $8)
               and array_position($10::text[], type) is not null and array_position($11::text[], category) is not null
               and ($12::text[] is null or left(subject, 50) = any($12))
             order by sequence limit $9",
            organization.uuid(),
            after,
            filter.category.map(Category::as_str),
            filter.event_types.as_deref(),
            filter.actor.map(UserId::uuid),
            filter.subject.as_deref(),
            filter.from.map(jiff_sqlx::Timestamp::from) as Option<jiff_sqlx::Timestamp>,
            filter.to.map(jiff_sqlx::Timestamp::from) as Option<jiff_sqlx::Timestamp>,
            limit,
            &types,
            &categories,
            subjects(&filter.within) as Option<Vec<String>>,
            &filter.types_of_any_category,
        )
        .fetch_all(&self.pool())
        .await?;
        rows.into_iter().map(Event::try_from).collect()
    }

    pub async fn event(
        &self,
        organization: OrganizationId,
        id: EventId,
    ) -> Result<Option<Event>, StoreError> {
        let row = sqlx::query_as!(
            Row,
            "select id, sequence, time, type as event_type, category, subject, actor_id, data from events
             where organization_id = $1 and id = $2
               and time >= uuid_v7_time($2) and time < uuid_v7_time($2) + interval '1 millisecond'",
            organization.uuid(),
            id.uuid(),
        )
        .fetch_optional(&self.pool())
        .await?;
        row.filter(Row::is_known).map(Event::try_from).transpose()
    }

    /// Returns the sequence numbers between which events can still be read.
    pub async fn event_bounds(&self, organization: OrganizationId) -> Result<EventBounds, StoreError> {
        let row = sqlx::query!(
            r#"select h.sequence as head,
                      (select min(e.sequence) from events e where e.organization_id = $1) as oldest
               from event_heads h where h.organization_id = $1"#,
            organization.uuid(),
        )
        .fetch_one(&self.pool())
        .await?;
        Ok(EventBounds { oldest: row.oldest.unwrap_or(row.head + 1), head: row.head })
    }

    pub async fn count_events(
        &self,
        organization: OrganizationId,
        filter: &EventFilter,
    ) -> Result<Total, StoreError> {
        let counted = sqlx::query_scalar!(
            r#"select count(*) as "count!" from (
                   select 1 from events
                   where organization_id = $1
                     and ($2::text is null or category = $2 or type = any($10)) and ($3::text[] is null or type = any($3))
                     and ($4::uuid is null or actor_id = $4) and ($5::text is null or subject = $5)
                     and ($6::timestamptz is null or time >= $6) and ($7::timestamptz is null or time < $7)
                     and ($9::text[] is null or left(subject, 50) = any($9))
                   limit $8
               ) counted"#,
            organization.uuid(),
            filter.category.map(Category::as_str),
            filter.event_types.as_deref(),
            filter.actor.map(UserId::uuid),
            filter.subject.as_deref(),
            filter.from.map(jiff_sqlx::Timestamp::from) as Option<jiff_sqlx::Timestamp>,
            filter.to.map(jiff_sqlx::Timestamp::from) as Option<jiff_sqlx::Timestamp>,
            MAX_COUNT + 1,
            subjects(&filter.within) as Option<Vec<String>>,
            &filter.types_of_any_category,
        )
        .fetch_one(&self.pool())
        .await?;
        Ok(Total::counted(counted))
    }
}
