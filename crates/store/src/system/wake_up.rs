//! The outbox of wake-ups, for the relay: rows of all organizations.

use greenroom_boxed_futures::boxed_futures;

use crate::deployment::final_statuses::query_with_final_statuses;
use crate::engine::WakeUp;
use crate::{Store, StoreError};

#[boxed_futures]
impl Store {
    /// Returns up to `batch` wake-ups that are due. Each is delayed for a while, so that it is delivered
    /// later if the caller crashes.
    pub async fn lease_wake_ups(&self, batch: i64) -> Result<Vec<WakeUp>, StoreError> {
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
            .map(|row| WakeUp {
                id: row.id,
                organization_id: row.organization_id.into(),
                deployment_id: row.deployment_id.into(),
            })
            .collect())
    }

    /// Deletes wake-ups that were delivered.
    pub async fn delete_wake_ups(&self, ids: &[i64]) -> Result<(), StoreError> {
        sqlx::query!("delete from wakes where id = any($1)", ids).execute(&self.pool()).await?;
        Ok(())
    }

    /// Delays wake-ups that the engine rejected although it is available. Each is retried after 1, 2, 4 …
    /// seconds, at most a minute.
    pub async fn back_off_wake_ups(&self, ids: &[i64]) -> Result<(), StoreError> {
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

    /// Wakes up the workflow of every live deployment in all organizations. This restores an engine that has
    /// lost its state.
    pub async fn wake_all_deployments(&self) -> Result<u64, StoreError> {
        let woken = query_with_final_statuses!(
            sqlx::query,
            [
                "insert into wakes (organization_id, deployment_id)
             select organization_id, id from deployments
             where status not in ",
                ""
            ]
        )
        .execute(&self.pool())
        .await?;
        Ok(woken.rows_affected())
    }
}
