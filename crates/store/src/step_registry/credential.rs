//! The sealed credentials of private registries. This crate can't open them.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{OrganizationId, RegistryId};
use greenroom_domain::secret::SealedValue;

use crate::organization_key::SealedBy;
use crate::{Store, StoreError};

/// What becomes of the credential of a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CredentialChange {
    Keep,
    Remove,
    Set(SealedValue),
}

impl CredentialChange {
    pub const fn is_change(&self) -> bool {
        !matches!(self, Self::Keep)
    }

    pub(super) const fn sealed(&self) -> Option<&SealedValue> {
        match self {
            Self::Set(sealed) => Some(sealed),
            Self::Keep | Self::Remove => None,
        }
    }
}

/// A credential that a data key seals, with what it is bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedCredential {
    pub registry: RegistryId,
    pub url: String,
    pub value: SealedValue,
}

#[boxed_futures]
impl Store {
    /// Returns credentials of an organization that such a data key seals, a few at a time.
    pub async fn sealed_credentials(
        &self,
        organization: OrganizationId,
        sealed_by: SealedBy,
        limit: i64,
    ) -> Result<Vec<SealedCredential>, StoreError> {
        let rows = sqlx::query!(
            r#"select r.id, r.url, r.credential_key_id as "key_id!", r.credential_nonce as "nonce!",
                      r.credential_sealed as "sealed!"
               from step_registries r
               join organization_keys k on k.organization_id = $1 and k.id = r.credential_key_id
                   and ($3 or k.retired_at is not null)
               where r.organization_id = $1 and r.credential_key_id is not null
               order by r.id limit $2"#,
            organization.uuid(),
            limit,
            sealed_by.is_any(),
        )
        .fetch_all(&self.pool())
        .await?;
        let rows = rows.into_iter().map(|row| SealedCredential {
            registry: row.id.into(),
            url: row.url,
            value: SealedValue { key: row.key_id.into(), nonce: row.nonce, sealed: row.sealed },
        });
        Ok(rows.collect())
    }

    /// Replaces the sealed form of a credential, unless the credential was changed in the meantime. Returns whether it was
    /// replaced.
    pub async fn reseal_credential(
        &self,
        organization: OrganizationId,
        before: &SealedCredential,
        after: &SealedValue,
    ) -> Result<bool, StoreError> {
        let done = sqlx::query!(
            "update step_registries set credential_key_id = $3, credential_nonce = $4, credential_sealed = $5
             where organization_id = $1 and id = $2 and url = $6 and credential_nonce = $7 and credential_sealed = $8",
            organization.uuid(),
            before.registry.uuid(),
            after.key.uuid(),
            after.nonce,
            after.sealed,
            before.url,
            before.value.nonce,
            before.value.sealed,
        )
        .execute(&self.pool())
        .await?;
        Ok(done.rows_affected() == 1)
    }
}
