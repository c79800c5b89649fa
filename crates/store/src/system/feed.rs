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

impl Store {
    pub async fn feed_head(&self) -> Result<i64, StoreError> {
        Ok(sqlx::query_scalar!("select head from event_feed").fetch_one(&self.pool()).await?)
    }

    /// What was sequenced after `after`. Only events of the last two days are looked at, so that a read touches the
    /// newest partitions alone; whoever is further behind reads by organization.
    pub async fn feed_after(&self, after: i64, limit: i64) -> Result<Vec<FeedEntry>, StoreError> {
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
        rows.into_iter()
            .map(|row| {
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
                Ok(FeedEntry {
                    feed: row.feed,
                    organization_id: row.organization_id.into(),
                    event: event.try_into()?,
                })
            })
            .collect()
    }

    /// A connection that hears when the feed has grown. It reconnects by itself.
    pub async fn feed_listener(&self) -> Result<PgListener, StoreError> {
        let mut listener = PgListener::connect_with(&self.pool()).await?;
        listener.listen(CHANNEL).await?;
        Ok(listener)
    }
}
