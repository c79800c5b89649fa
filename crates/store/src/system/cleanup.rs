//! Failed clean-ups that are due to be repeated, of all organizations.

use greenroom_boxed_futures::boxed_futures;

use super::sweeper::DueEnvironment;
use crate::{Store, StoreError};

#[boxed_futures]
impl Store {
    /// Returns up to `limit` environments whose clean-up is due to be repeated, the longest overdue first.
    pub async fn due_cleanups(&self, limit: i64) -> Result<Vec<DueEnvironment>, StoreError> {
        let rows = sqlx::query!(
            "select organization_id, id as environment_id from environments
             where cleanup_retry_at <= clock_timestamp() order by cleanup_retry_at limit $1",
            limit,
        )
        .fetch_all(&self.pool())
        .await?;
        Ok(rows
            .into_iter()
            .map(|row| DueEnvironment {
                organization_id: row.organization_id.into(),
                environment_id: row.environment_id.into(),
            })
            .collect())
    }
}
