//! The outbox, for whoever delivers it: rows of all organizations.

use crate::engine::Wake;
use crate::{Store, StoreError};

impl Store {
    /// Takes up to `batch` that are due; each is put off for a while, so that it comes again if whoever took it dies.
    pub async fn take_wakes(&self, batch: i64) -> Result<Vec<Wake>, StoreError> {
        let rows = sqlx::query!(
            "update wakes w set due_at = clock_timestamp() + interval '15 seconds'
             from (select id from wakes where due_at <= clock_timestamp() order by due_at limit $1
                   for update skip locked) due
             where w.id = due.id
             returning w.id, w.organization_id, w.deployment_id",
            batch,
        )
        .fetch_all(&self.pool())
        .await?;
        Ok(rows
            .into_iter()
            .map(|row| Wake {
                id: row.id,
                organization_id: row.organization_id.into(),
                deployment_id: row.deployment_id.into(),
            })
            .collect())
    }

    /// These were delivered.
    pub async fn wakes_done(&self, ids: &[i64]) -> Result<(), StoreError> {
        sqlx::query!("delete from wakes where id = any($1)", ids).execute(&self.pool()).await?;
        Ok(())
    }

    /// The engine did not take these, although it is there: each is tried again after 1, 2, 4 … seconds, a minute at most.
    pub async fn put_off_wakes(&self, ids: &[i64]) -> Result<(), StoreError> {
        sqlx::query!(
            "update wakes
             set attempts = attempts + 1,
                 due_at = clock_timestamp() + least(2 ^ least(attempts, 6), 60) * interval '1 second'
             where id = any($1)",
            ids,
        )
        .execute(&self.pool())
        .await?;
        Ok(())
    }

    /// Wakes every live deployment that has something to do, in all organizations: an engine that has lost everything is
    /// rebuilt by it.
    pub async fn wake_all(&self) -> Result<u64, StoreError> {
        let woken = sqlx::query!(
            "insert into wakes (organization_id, deployment_id)
             select organization_id, id from deployments
             where status not in ('succeeded', 'failed', 'errored', 'canceled', 'superseded')"
        )
        .execute(&self.pool())
        .await?;
        Ok(woken.rows_affected())
    }
}
