//! Maintenance: partitions of events, and expired idempotency keys.

use greenroom_boxed_futures::boxed_futures;

use crate::{Store, StoreError};

#[boxed_futures]
impl Store {
    /// Creates the partitions of the coming months. Returns how many were missing.
    pub async fn ensure_event_partitions(&self, months_ahead: i32) -> Result<i32, StoreError> {
        Ok(sqlx::query_scalar!(r#"select ensure_event_partitions($1) as "made!""#, months_ahead)
            .fetch_one(&self.pool())
            .await?)
    }

    /// Drops partitions whose events are past their retention. Returns their number.
    pub async fn drop_event_partitions(&self, retention_days: i32) -> Result<i32, StoreError> {
        Ok(sqlx::query_scalar!(
            r#"select drop_event_partitions(make_interval(days => $1)) as "dropped!""#,
            retention_days
        )
        .fetch_one(&self.pool())
        .await?)
    }

    /// Deletes up to `limit` responses that are stored under idempotency keys for more than 24 hours. Returns
    /// their number.
    pub async fn delete_expired_responses(&self, limit: i64) -> Result<u64, StoreError> {
        let deleted = sqlx::query!(
            "delete from idempotency_keys where ctid = any(array(
                 select ctid from idempotency_keys where created_at < clock_timestamp() - interval '24 hours' limit $1
             ))",
            limit,
        )
        .execute(&self.pool())
        .await?;
        Ok(deleted.rows_affected())
    }
}
