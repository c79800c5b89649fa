//! The feed: all organizations' events in one order, for the one reader in each server that hands them to its streams.

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

/// A part of the feed.
#[derive(Clone, Debug, PartialEq)]
pub struct FeedPage {
    pub entries: Vec<FeedEntry>,
    /// The last number that was looked at, if any was.
    pub last: Option<i64>,
    /// How many rows it is made of.
    pub rows: usize,
    /// How many of these were left out, because a newer version has written them.
    pub unknown: usize,
}

impl Store {
    pub async fn feed_head(&self) -> Result<i64, StoreError> {
        Ok(sqlx::query_scalar!("select head from event_feed").fetch_one(&self.pool()).await?)
    }

    /// What was sequenced after `after`. Only events of the last two days are looked at, so that a read touches the
    /// newest partitions alone; whoever is further behind reads by organization. Events that this version does not know are
    /// left out: one organization's must not stop the others' streams.
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

    /// A connection that hears when the feed has grown. It reconnects by itself.
    pub async fn feed_listener(&self) -> Result<PgListener, StoreError> {
        let mut listener = PgListener::connect_with(&self.pool()).await?;
        listener.listen(CHANNEL).await?;
        Ok(listener)
    }
}
