//! Creates, changes and deletes registries.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::RegistryId;
use greenroom_domain::secret::SealedValue;
use greenroom_domain::step_registry::{RefusalKind, RegistryStatus};

use super::{CredentialChange, RegistryRecord, Row};
use crate::{Command, StoreError};

/// What can be changed of a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryContent {
    pub name: String,
    pub url: String,
    pub signers: Vec<String>,
    pub require_signature: bool,
    pub minimum_age_seconds: i32,
    pub status: RegistryStatus,
}

/// A change of a registry.
#[derive(Clone, Debug)]
pub struct RegistryChange<'a> {
    pub content: &'a RegistryContent,
    pub credential: CredentialChange,
    /// What was refused for these reasons is forgotten, so that it is read again.
    pub forgotten_refusals: &'a [RefusalKind],
    /// Whether the next synchronization begins now. One that runs does not count.
    pub synchronizes: bool,
}

#[boxed_futures]
impl Command {
    /// Returns the number of registries. Takes an advisory lock, so that no concurrent transaction adds one.
    pub async fn lock_step_registry_count(&mut self) -> Result<i64, StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "select pg_advisory_xact_lock(hashtextextended('step_registries ' || $1::uuid, 0))",
            organization,
        )
        .execute(self.connection())
        .await?;
        Ok(sqlx::query_scalar!(
            r#"select count(*) as "count!" from step_registries where organization_id = $1 and deleted_at is null"#,
            organization,
        )
        .fetch_one(self.connection())
        .await?)
    }

    /// Creates a registry, which is synchronized next. Fails with `step_registries_live_name` if another one has the
    /// name.
    pub async fn create_step_registry(
        &mut self,
        id: RegistryId,
        content: &RegistryContent,
        credential: Option<&SealedValue>,
    ) -> Result<RegistryRecord, StoreError> {
        let (organization, by) = (self.organization(), self.principal().user_id.uuid());
        let row = sqlx::query_as!(
            Row,
            r#"insert into step_registries
                   (organization_id, id, name, url, signers, require_signature, minimum_age_seconds, status, created_by,
                    credential_key_id, credential_nonce, credential_sealed)
               values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
               returning id, name, url, signers, require_signature, minimum_age_seconds,
                         credential_sealed is not null as "has_credential!", status, synced_at, next_sync_at, error,
                         revision, created_at, created_by, updated_at, deleted_at"#,
            organization,
            id.uuid(),
            content.name,
            content.url,
            &content.signers,
            content.require_signature,
            content.minimum_age_seconds,
            content.status.as_str(),
            by,
            credential.map(|credential| credential.key.uuid()),
            credential.map(|credential| credential.nonce.as_slice()),
            credential.map(|credential| credential.sealed.as_slice()),
        )
        .fetch_one(self.connection())
        .await?;
        row.try_into()
    }

    /// Changes a registry. Fails with `step_registries_live_name` if another one has the name.
    pub async fn update_step_registry(
        &mut self,
        id: RegistryId,
        change: &RegistryChange<'_>,
    ) -> Result<RegistryRecord, StoreError> {
        let organization = self.organization();
        let RegistryChange { content, credential, forgotten_refusals, synchronizes } = change;
        if !forgotten_refusals.is_empty() {
            let kinds: Vec<String> = forgotten_refusals.iter().map(|kind| kind.as_str().to_owned()).collect();
            sqlx::query!(
                "delete from step_refusals where organization_id = $1 and registry_id = $2 and kind = any($3)",
                organization,
                id.uuid(),
                &kinds,
            )
            .execute(self.connection())
            .await?;
        }
        let sealed = credential.sealed();
        let row = sqlx::query_as!(
            Row,
            r#"update step_registries
               set name = $3, url = $4, signers = $5, require_signature = $6, minimum_age_seconds = $7, status = $8,
                   leased_until = case when $9 then null else leased_until end,
                   next_sync_at = case when $9 then clock_timestamp() else next_sync_at end,
                   credential_key_id = case when $10 then $11 else credential_key_id end,
                   credential_nonce = case when $10 then $12 else credential_nonce end,
                   credential_sealed = case when $10 then $13 else credential_sealed end,
                   revision = revision + 1, updated_at = clock_timestamp()
               where organization_id = $1 and id = $2
               returning id, name, url, signers, require_signature, minimum_age_seconds,
                         credential_sealed is not null as "has_credential!", status, synced_at, next_sync_at, error,
                         revision, created_at, created_by, updated_at, deleted_at"#,
            organization,
            id.uuid(),
            content.name,
            content.url,
            &content.signers,
            content.require_signature,
            content.minimum_age_seconds,
            content.status.as_str(),
            *synchronizes,
            credential.is_change(),
            sealed.map(|sealed| sealed.key.uuid()),
            sealed.map(|sealed| sealed.nonce.as_slice()),
            sealed.map(|sealed| sealed.sealed.as_slice()),
        )
        .fetch_one(self.connection())
        .await?;
        row.try_into()
    }

    /// Makes a registry due now, or 3 seconds after its last synchronization.
    pub async fn request_registry_sync(&mut self, id: RegistryId) -> Result<RegistryRecord, StoreError> {
        let organization = self.organization();
        let row = sqlx::query_as!(
            Row,
            r#"update step_registries
               set next_sync_at = least(next_sync_at, greatest(clock_timestamp(), synced_at + interval '3 seconds'))
               where organization_id = $1 and id = $2
               returning id, name, url, signers, require_signature, minimum_age_seconds,
                         credential_sealed is not null as "has_credential!", status, synced_at, next_sync_at, error,
                         revision, created_at, created_by, updated_at, deleted_at"#,
            organization,
            id.uuid(),
        )
        .fetch_one(self.connection())
        .await?;
        row.try_into()
    }

    /// Deletes a registry with its credential: it is not synchronized any more, and its name is free. Its record and its
    /// versions stay.
    pub async fn delete_step_registry(&mut self, id: RegistryId) -> Result<RegistryRecord, StoreError> {
        let organization = self.organization();
        let row = sqlx::query_as!(
            Row,
            r#"update step_registries
               set deleted_at = clock_timestamp(), leased_until = null, credential_key_id = null, credential_nonce = null,
                   credential_sealed = null, revision = revision + 1, updated_at = clock_timestamp()
               where organization_id = $1 and id = $2
               returning id, name, url, signers, require_signature, minimum_age_seconds,
                         credential_sealed is not null as "has_credential!", status, synced_at, next_sync_at, error,
                         revision, created_at, created_by, updated_at, deleted_at"#,
            organization,
            id.uuid(),
        )
        .fetch_one(self.connection())
        .await?;
        row.try_into()
    }
}
