//! The data keys of all organizations, for an operator who has replaced the master key.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::OrganizationId;
use greenroom_domain::secret::WrappedKey;

use crate::{Store, StoreError};

#[boxed_futures]
impl Store {
    /// Returns the data keys of all organizations that another master key than this one wraps, a few at a time.
    pub async fn organization_keys_of_other_masters(
        &self,
        master_key: &str,
        limit: i64,
    ) -> Result<Vec<(OrganizationId, WrappedKey)>, StoreError> {
        let rows = sqlx::query!(
            "select k.organization_id, k.id, k.master_key, k.wrapped from organization_keys k
             where k.master_key <> $1 order by k.organization_id, k.id limit $2",
            master_key,
            limit,
        )
        .fetch_all(&self.pool())
        .await?;
        let rows = rows.into_iter().map(|row| {
            let key = WrappedKey { id: row.id.into(), master_key: row.master_key, wrapped: row.wrapped };
            (row.organization_id.into(), key)
        });
        Ok(rows.collect())
    }
}
