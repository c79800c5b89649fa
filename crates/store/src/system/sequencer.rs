//! Gives events their order. See the head of migration 0003 for why it is needed.

use crate::{Store, StoreError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sequenced {
    /// Another daemon is at it.
    Busy,
    Moved(i64),
}

impl Store {
    /// Moves up to `batch` events from the intake into their organizations' histories.
    pub async fn sequence_events(&self, batch: i64) -> Result<Sequenced, StoreError> {
        let mut transaction = self.pool().begin().await?;
        // First the lock, then, in a statement of its own, the reading: a statement's snapshot is older than the locks it
        // waits for, and would show rows that the previous holder has moved already.
        // The intake is empty whenever it is analyzed, and so looks as if reading all of it were cheapest. It is not: until the
        // next vacuum it holds what has been moved.
        let head = sqlx::query!(
            "select head, set_config('enable_seqscan', 'off', true) from event_feed for update skip locked"
        )
        .fetch_optional(&mut *transaction)
        .await?;
        if head.is_none() {
            return Ok(Sequenced::Busy);
        }
        // What is taken is what the same snapshot shows up to the batch's last position. By a join with the batch it would be
        // the same rows, but a plan made while the table was empty would take them by trying each with each.
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
               select count(*) as "moved!", case when count(*) > 0 then pg_notify('greenroom_feed', '')::text end as told
               from batch"#,
            batch,
        )
        .fetch_one(&mut *transaction)
        .await?
        .moved;
        transaction.commit().await?;
        Ok(Sequenced::Moved(moved))
    }

    /// How long the oldest event has been waiting for its place.
    pub async fn sequencer_lag_seconds(&self) -> Result<f64, StoreError> {
        Ok(sqlx::query_scalar!(
            r#"select coalesce(extract(epoch from clock_timestamp() - min(time)), 0)::float8 as "lag!"
               from event_intake"#
        )
        .fetch_one(&self.pool())
        .await?)
    }
}
