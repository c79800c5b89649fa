//! The credential of an organization's model, which a new data key has to seal again.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::OrganizationId;
use greenroom_domain::secret::SealedValue;

use crate::organization_key::SealedBy;
use crate::{Store, StoreError};

/// A credential that a data key seals, with what it is bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedModelCredential {
    pub address: String,
    pub value: SealedValue,
}

#[boxed_futures]
impl Store {
    /// Returns the credential of an organization's model, if such a data key seals it.
    pub async fn sealed_model_credential(
        &self,
        organization: OrganizationId,
        sealed_by: SealedBy,
    ) -> Result<Option<SealedModelCredential>, StoreError> {
        let row = sqlx::query!(
            r#"select s.address as "address!", s.credential_key_id as "key!", s.credential_nonce as "nonce!",
                      s.credential_sealed as "sealed!"
               from analysis_settings s
               join organization_keys k on k.organization_id = $1 and k.id = s.credential_key_id
                   and ($2 or k.retired_at is not null)
               where s.organization_id = $1 and s.address is not null and s.credential_sealed is not null"#,
            organization.uuid(),
            sealed_by.is_any(),
        )
        .fetch_optional(&self.pool())
        .await?;
        Ok(row.map(|row| SealedModelCredential {
            address: row.address,
            value: SealedValue { key: row.key.into(), nonce: row.nonce, sealed: row.sealed },
        }))
    }

    /// Replaces the sealed form of the credential, unless the credential was changed in the meantime. Returns whether it was
    /// replaced.
    pub async fn reseal_model_credential(
        &self,
        organization: OrganizationId,
        before: &SealedModelCredential,
        after: &SealedValue,
    ) -> Result<bool, StoreError> {
        let done = sqlx::query!(
            "update analysis_settings set credential_key_id = $2, credential_nonce = $3, credential_sealed = $4
             where organization_id = $1 and address = $5 and credential_nonce = $6 and credential_sealed = $7",
            organization.uuid(),
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
