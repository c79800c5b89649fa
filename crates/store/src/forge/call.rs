//! Records how the last call of a forge went.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{ForgeId, OrganizationId};

use crate::{Store, StoreError};

#[boxed_futures]
impl Store {
    /// Records a call: when it was, and why it failed. A call with an address or a credential that was replaced in the
    /// meantime does not count: `revision` is that of the record that was used.
    pub async fn record_forge_call(
        &self,
        organization: OrganizationId,
        (id, revision): (ForgeId, i64),
        error: Option<&str>,
    ) -> Result<(), StoreError> {
        sqlx::query!(
            "update forges set last_used_at = clock_timestamp(), last_error = $4
             where organization_id = $1 and id = $2 and revision = $3",
            organization.uuid(),
            id.uuid(),
            revision,
            error,
        )
        .execute(&self.pool())
        .await?;
        Ok(())
    }
}
