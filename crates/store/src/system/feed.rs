//! The feed: the events of all organizations in one order. Each server has one reader, which passes them on
//! to its streams.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::event::Event;
use greenroom_domain::id::OrganizationId;
use sqlx::postgres::PgListener;

use crate::event::Row;
use crate::{Store, StoreError};

pub const CHANNEL: &str = "greenroom_feed";

#[derive(Clone, Debug, PartialEq)]
pub struct FeedEntry {
    pub feed: i64,
    pub organization_id: OrganizationId,
    pub event: Event,
}

/// A page of the feed.
#[derive(Clone, Debug, PartialEq)]
pub struct FeedPage {
    pub entries: Vec<FeedEntry>,
    /// The number of the last row that was read, if any.
    pub last: Option<i64>,
    /// How many rows were read.
    pub rows: usize,
    /// How many of these were omitted, because a newer version has written them.
    pub unknown: usize,
}

#[boxed_futures]
impl Store {
    pub async fn feed_head(&self) -> Result<i64, StoreError> {
        Ok(sqlx::query_scalar!("select head from event_feed").fetch_one(&self.pool()).await?)
    }

    /// Returns events after the number `after`. Only events of the last two days are read, so that a query
    /// touches only the newest partitions; a stream that is further behind reads by organization. Events of
    /// types unknown to this version are omitted: those of one organization must not stop the streams of the
    /// others.
    pub async fn feed_after(&self, after: i64, limit: i64) -> Result<FeedPage, StoreError> {
        let rows = sqlx::query!(
            "select feed, organization_id, id, sequence, time, type as event_type, category, subject, actor_id, data
             from events
             where feed > $1 and time > clock_timestamp() - interval '2 days'
             order by feed limit $2",
            after,
            limit,
        )
        .fetch_all(&self.pool())
        .await?;
        let mut page = FeedPage {
            entries: Vec::new(),
            last: rows.last().map(|row| row.feed),
            rows: rows.len(),
            unknown: 0,
        };
        for row in rows {
            let event = Row {
                id: row.id,
                sequence: row.sequence,
                time: row.time,
                event_type: row.event_type,
                category: row.category,
                subject: row.subject,
                actor_id: row.actor_id,
                data: row.data,
            };
            if !event.is_known() {
                page.unknown += 1;
                continue;
            }
            let (feed, organization_id) = (row.feed, row.organization_id.into());
            page.entries.push(FeedEntry { feed, organization_id, event: event.try_into()? });
        }
        Ok(page)
    }

    /// Returns a connection that is notified when the feed has grown. It reconnects automatically.
    pub async fn feed_listener(&self) -> Result<PgListener, StoreError> {
        let mut listener = PgListener::connect_with(&self.pool()).await?;
        listener.listen(CHANNEL).await?;
        Ok(listener)
    }
}
