//! What has to be made early, and what has to go in the end.

use crate::{Store, StoreError};

impl Store {
    /// Makes the partitions of the coming months; says how many were missing.
    pub async fn ensure_event_partitions(&self, months_ahead: i32) -> Result<i32, StoreError> {
        Ok(sqlx::query_scalar!(r#"select ensure_event_partitions($1) as "made!""#, months_ahead)
            .fetch_one(&self.pool())
            .await?)
    }

    /// Drops months of events that are past their retention.
    pub async fn drop_event_partitions(&self, retention_days: i32) -> Result<i32, StoreError> {
        Ok(sqlx::query_scalar!(
            r#"select drop_event_partitions(make_interval(days => $1)) as "dropped!""#,
            retention_days
        )
        .fetch_one(&self.pool())
        .await?)
    }

    /// Forgets answers kept under idempotency keys for more than their 24 hours, a bounded number at a time.
    pub async fn forget_old_answers(&self, at_most: i64) -> Result<u64, StoreError> {
        let done = sqlx::query!(
            "delete from idempotency_keys where ctid = any(array(
                 select ctid from idempotency_keys where created_at < clock_timestamp() - interval '24 hours' limit $1
             ))",
            at_most,
        )
        .execute(&self.pool())
        .await?;
        Ok(done.rows_affected())
    }
}
