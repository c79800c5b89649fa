//! The credentials of forges that a new data key has to seal again.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{ForgeId, OrganizationId};
use greenroom_domain::secret::SealedValue;

use crate::organization_key::SealedBy;
use crate::{Store, StoreError};

/// A credential that a data key seals, with what it is bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedForgeCredential {
    pub forge: ForgeId,
    pub address: String,
    pub value: SealedValue,
}

#[boxed_futures]
impl Store {
    /// Returns credentials of an organization that such a data key seals, a few at a time.
    pub async fn sealed_forge_credentials(
        &self,
        organization: OrganizationId,
        sealed_by: SealedBy,
        limit: i64,
    ) -> Result<Vec<SealedForgeCredential>, StoreError> {
        let rows = sqlx::query!(
            "select f.id, f.address, f.credential_key_id, f.credential_nonce, f.credential_sealed
             from forges f
             join organization_keys k on k.organization_id = $1 and k.id = f.credential_key_id
                 and ($3 or k.retired_at is not null)
             where f.organization_id = $1
             order by f.id limit $2",
            organization.uuid(),
            limit,
            sealed_by.is_any(),
        )
        .fetch_all(&self.pool())
        .await?;
        let rows = rows.into_iter().map(|row| SealedForgeCredential {
            forge: row.id.into(),
            address: row.address,
            value: SealedValue {
                key: row.credential_key_id.into(),
                nonce: row.credential_nonce,
                sealed: row.credential_sealed,
            },
        });
        Ok(rows.collect())
    }

    /// Replaces the sealed form of a credential, unless the credential was changed in the meantime. Returns whether it was
    /// replaced.
    pub async fn reseal_forge_credential(
        &self,
        organization: OrganizationId,
        before: &SealedForgeCredential,
        after: &SealedValue,
    ) -> Result<bool, StoreError> {
        let done = sqlx::query!(
            "update forges set credential_key_id = $3, credential_nonce = $4, credential_sealed = $5
             where organization_id = $1 and id = $2 and address = $6 and credential_nonce = $7 and credential_sealed = $8",
            organization.uuid(),
            before.forge.uuid(),
            after.key.uuid(),
            after.nonce,
            after.sealed,
            before.address,
            before.value.nonce,
            before.value.sealed,
        )
        .execute(&self.pool())
        .await?;
        Ok(done.rows_affected() == 1)
    }
}
