//! The id of this installation: one row, created by the migration.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::InstallationId;

use crate::{Store, StoreError};

#[boxed_futures]
impl Store {
    pub async fn installation(&self) -> Result<InstallationId, StoreError> {
        Ok(sqlx::query_scalar!("select id from installation").fetch_one(&self.pool()).await?.into())
    }

    /// Replaces the id after the database was copied. Otherwise the daemons of the copy and of the original
    /// would take each other's work. Daemons read the id when they start.
    pub async fn renew_installation(&self) -> Result<InstallationId, StoreError> {
        let id = sqlx::query_scalar!(
            "update installation set id = gen_random_uuid(), created_at = clock_timestamp() returning id"
        )
        .fetch_one(&self.pool())
        .await?;
        Ok(id.into())
    }
}
