//! Values that data keys seal, for an operator who replaces the data key of an organization, or tries whether all can be opened.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{OrganizationId, SecretId};
use greenroom_domain::secret::{SealedValue, SecretScope};

use super::scope;
use crate::organization_key::SealedBy;
use crate::{Store, StoreError};

/// A sealed value with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SealedValueAt {
    pub secret: SecretId,
    pub scope: SecretScope,
    pub version: i32,
    pub value: SealedValue,
}

#[boxed_futures]
impl Store {
    /// Returns values of an organization that such a data key seals, a few at a time.
    pub async fn sealed_values(
        &self,
        organization: OrganizationId,
        sealed_by: SealedBy,
        limit: i64,
    ) -> Result<Vec<SealedValueAt>, StoreError> {
        let rows = sqlx::query!(
            r#"select v.secret_id, v.version, v.key_id as "key_id!", v.nonce as "nonce!", v.sealed as "sealed!",
                      s.pipeline_id, s.environment
               from secret_versions v
               join organization_keys k on k.organization_id = $1 and k.id = v.key_id and ($3 or k.retired_at is not null)
               join secrets s on s.organization_id = $1 and s.id = v.secret_id
               where v.organization_id = $1 and v.key_id is not null
               order by v.secret_id, v.version limit $2"#,
            organization.uuid(),
            limit,
            sealed_by.is_any(),
        )
        .fetch_all(&self.pool())
        .await?;
        let rows = rows.into_iter().map(|row| SealedValueAt {
            secret: row.secret_id.into(),
            scope: scope(row.pipeline_id, row.environment),
            version: row.version,
            value: SealedValue { key: row.key_id.into(), nonce: row.nonce, sealed: row.sealed },
        });
        Ok(rows.collect())
    }

    /// Replaces the sealed form of a value, unless the value was destroyed in the meantime.
    pub async fn reseal_value(
        &self,
        organization: OrganizationId,
        before: &SealedValueAt,
        after: &SealedValue,
    ) -> Result<(), StoreError> {
        sqlx::query!(
            "update secret_versions set key_id = $4, nonce = $5, sealed = $6
             where organization_id = $1 and secret_id = $2 and version = $3 and key_id = $7",
            organization.uuid(),
            before.secret.uuid(),
            before.version,
            after.key.uuid(),
            after.nonce,
            after.sealed,
            before.value.key.uuid(),
        )
        .execute(&self.pool())
        .await?;
        Ok(())
    }
}
