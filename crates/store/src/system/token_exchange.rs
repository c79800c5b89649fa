//! What an exchange of tokens needs before its organization is known, and the deletion of what has expired.

use greenroom_domain::id::OrganizationId;

use crate::{Store, StoreError};

impl Store {
    /// Finds the organization that a request without a token names, by its id or its slug.
    pub async fn find_organization(&self, name: &str) -> Result<Option<OrganizationId>, StoreError> {
        let id: Option<OrganizationId> = name.parse().ok();
        let found = sqlx::query_scalar!(
            "select id from organizations where id = $1 or slug = $2",
            id.map(OrganizationId::uuid),
            name,
        )
        .fetch_optional(&self.pool())
        .await?;
        Ok(found.map(OrganizationId::from))
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
