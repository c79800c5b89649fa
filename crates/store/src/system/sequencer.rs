//! Gives events their sequence numbers: moves them from the table that transactions insert into, the intake,
//! to the histories of their organizations. The header of migration 0003 explains why this is needed.

use greenroom_boxed_futures::boxed_futures;

use crate::error::from_column;
use crate::{Store, StoreError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sequenced {
    /// Another daemon is sequencing.
    Busy,
    Moved(MovedEvents),
}

/// How many events were moved, and how many of them are the end of a lease, by its cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MovedEvents {
    pub total: u64,
    pub released: u64,
    pub expired: u64,
    pub overridden: u64,
}

#[boxed_futures]
impl Store {
    /// Moves up to `batch` events from the intake into their organizations' histories.
    pub async fn sequence_events(&self, batch: i64) -> Result<Sequenced, StoreError> {
        let mut transaction = self.pool().begin().await?;
        // The lock is taken in a separate statement before reading: a statement's snapshot is older than the
        // locks that it waits for, and would contain rows that the previous holder has already moved. The
        // intake is empty whenever it is analyzed, so the planner would choose a sequential scan. That would
        // be slow: until the next vacuum, the table contains the dead rows of moved events.
        let head = sqlx::query!(
            "select head, set_config('enable_seqscan', 'off', true) from event_feed for update skip locked"
        )
        .fetch_optional(&mut *transaction)
        .await?;
        if head.is_none() {
            return Ok(Sequenced::Busy);
        }
        // Deletes the rows up to the batch's last position, from the same snapshot. A join with the batch
        // would delete the same rows, but a plan made while the table was empty would use a nested loop over
        // all pairs.
        let moved = sqlx::query!(
            r#"with batch as materialized (
                   select position, organization_id, time, type, category, subject, actor_id, data
                   from event_intake
                   order by position
                   limit $1
               ),
               taken as (
                   delete from event_intake where position <= (select max(position) from batch)
               ),
               numbered as (
                   select batch.*,
                          row_number() over (order by position) as step,
                          row_number() over (partition by organization_id order by position) as own_step
                   from batch
               ),
               told as (
                   insert into events
                       (organization_id, sequence, feed, id, time, type, category, subject, actor_id, data)
                   select n.organization_id, h.sequence + n.own_step, f.head + n.step, uuid_v7(n.time), n.time,
                          n.type, n.category, n.subject, n.actor_id, n.data
                   from numbered n
                   join event_heads h on h.organization_id = n.organization_id
                   cross join event_feed f
                   order by n.step
               ),
               heads as (
                   update event_heads h set sequence = h.sequence + own.count
                   from (select organization_id, count(*) as count from batch group by organization_id) own
                   where h.organization_id = own.organization_id
               ),
               feed as (
                   update event_feed set head = head + (select count(*) from batch)
                   where exists (select 1 from batch)
               )
               select count(*) as "moved!", case when count(*) > 0 then pg_notify('greenroom_feed', '')::text end as told,
                      count(*) filter (where type = 'session.released') as "released!",
                      count(*) filter (where type = 'session.expired') as "expired!",
                      count(*) filter (where type = 'session.overridden') as "overridden!"
               from batch"#,
            batch,
        )
        .fetch_one(&mut *transaction)
        .await?;
        transaction.commit().await?;
        let count = |count| from_column("count(*)", count);
        Ok(Sequenced::Moved(MovedEvents {
            total: count(moved.moved)?,
            released: count(moved.released)?,
            expired: count(moved.expired)?,
            overridden: count(moved.overridden)?,
        }))
    }

    /// Returns how long the oldest event has been waiting to be sequenced.
    pub async fn sequencer_lag_seconds(&self) -> Result<f64, StoreError> {
        Ok(sqlx::query_scalar!(
            r#"select coalesce(extract(epoch from clock_timestamp() - min(time)), 0)::float8 as "lag!"
               from event_intake"#
        )
        .fetch_one(&self.pool())
        .await?)
    }
}
