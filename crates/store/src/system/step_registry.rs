//! Step registries that are due to be synchronized, of all organizations.

use std::time::Duration;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{OrganizationId, RegistryId};
use greenroom_domain::secret::SealedValue;
use jiff::Timestamp;

use crate::{Store, StoreError};

/// A registry that is leased to a worker, which synchronizes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueRegistry {
    pub organization_id: OrganizationId,
    pub id: RegistryId,
    pub name: String,
    pub url: String,
    /// Lines with a name and a public SSH key.
    pub signers: Vec<String>,
    pub require_signature: bool,
    pub credential: Option<SealedValue>,
    /// Also identifies the lease.
    pub leased_until: Timestamp,
}

#[boxed_futures]
impl Store {
    /// Leases the registry that is overdue the longest, of all organizations but the busy ones. If the caller crashes, it is
    /// due again after the lease.
    pub async fn lease_due_registry(
        &self,
        lease: Duration,
        busy: &[OrganizationId],
    ) -> Result<Option<DueRegistry>, StoreError> {
        let busy: Vec<uuid::Uuid> = busy.iter().map(|organization| organization.uuid()).collect();
        let row = sqlx::query!(
            r#"update step_registries r set leased_until = clock_timestamp() + $1 * interval '1 second'
               from (select organization_id, id from step_registries
                     where next_sync_at <= clock_timestamp() and deleted_at is null and status <> 'disabled'
                       and (leased_until is null or leased_until <= clock_timestamp())
                       and not organization_id = any($2)
                     order by next_sync_at limit 1 for update skip locked) due
               where r.organization_id = due.organization_id and r.id = due.id
               returning r.organization_id, r.id, r.name, r.url, r.signers, r.require_signature,
                         r.credential_key_id, r.credential_nonce, r.credential_sealed, r.leased_until as "leased_until!""#,
            lease.as_secs_f64(),
            &busy,
        )
        .fetch_optional(&self.pool())
        .await?;
        Ok(row.map(|row| DueRegistry {
            credential: match (row.credential_key_id, row.credential_nonce, row.credential_sealed) {
                (Some(key), Some(nonce), Some(sealed)) => {
                    Some(SealedValue { key: key.into(), nonce, sealed })
                }
                _ => None,
            },
            organization_id: row.organization_id.into(),
            id: row.id.into(),
            name: row.name,
            url: row.url,
            signers: row.signers,
            require_signature: row.require_signature,
            leased_until: row.leased_until.to_jiff(),
        }))
    }
}
