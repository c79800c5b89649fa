//! What an exchange of tokens needs before its organization is known, and the deletion of what has expired.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::OrganizationId;

use crate::{Store, StoreError};

#[boxed_futures]
impl Store {
    /// Finds the organization that a request without a token names, by its id or its slug. Returns both.
    pub async fn find_organization(
        &self,
        name: &str,
    ) -> Result<Option<(OrganizationId, String)>, StoreError> {
        let id: Option<OrganizationId> = name.parse().ok();
        let found = sqlx::query!(
            "select id, slug from organizations where id = $1 or slug = $2",
            id.map(OrganizationId::uuid),
            name,
        )
        .fetch_optional(&self.pool())
        .await?;
        Ok(found.map(|row| (row.id.into(), row.slug)))
    }

    /// Deletes up to `limit` records of exchanged tokens that have expired. Returns their number.
    pub async fn delete_expired_exchanges(&self, limit: i64) -> Result<u64, StoreError> {
        let deleted = sqlx::query!(
            "delete from exchanged_tokens where ctid = any(array(
                 select ctid from exchanged_tokens where keep_until < clock_timestamp() limit $1
             ))",
            limit,
        )
        .execute(&self.pool())
        .await?;
        Ok(deleted.rows_affected())
    }
}
