//! The data keys of an organization, wrapped with a master key. This crate can't open them.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{OrganizationId, OrganizationKeyId};
use greenroom_domain::secret::WrappedKey;

use crate::transaction::OrgTransaction;
use crate::{Store, StoreError};

/// A data key, and whether it seals new values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrganizationKey {
    pub key: WrappedKey,
    pub is_retired: bool,
}

/// Which sealed values are meant, by the data key that seals them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SealedBy {
    /// Keys that were replaced.
    RetiredKeys,
    AnyKey,
}

impl SealedBy {
    pub(crate) const fn is_any(self) -> bool {
        matches!(self, Self::AnyKey)
    }
}

#[boxed_futures]
impl Store {
    /// Returns the data keys of an organization, the active one first.
    pub async fn organization_keys(
        &self,
        organization: OrganizationId,
    ) -> Result<Vec<OrganizationKey>, StoreError> {
        let rows = sqlx::query!(
            r#"select id, master_key, wrapped, retired_at is not null as "is_retired!" from organization_keys
               where organization_id = $1 order by retired_at desc nulls first, id desc"#,
            organization.uuid(),
        )
        .fetch_all(&self.pool())
        .await?;
        let key = |id: uuid::Uuid, master_key, wrapped| WrappedKey { id: id.into(), master_key, wrapped };
        Ok(rows
            .into_iter()
            .map(|row| OrganizationKey {
                key: key(row.id, row.master_key, row.wrapped),
                is_retired: row.is_retired,
            })
            .collect())
    }

    /// Adds an organization's data key, unless it has an active one by now.
    pub async fn add_first_organization_key(
        &self,
        organization: OrganizationId,
        key: &WrappedKey,
    ) -> Result<(), StoreError> {
        sqlx::query!(
            "insert into organization_keys (organization_id, id, master_key, wrapped) values ($1, $2, $3, $4)
             on conflict do nothing",
            organization.uuid(),
            key.id.uuid(),
            key.master_key,
            key.wrapped,
        )
        .execute(&self.pool())
        .await?;
        Ok(())
    }

    /// Replaces the wrapping of a data key. Returns `false` if another process has replaced it in the
    /// meantime.
    pub async fn rewrap_organization_key(
        &self,
        organization: OrganizationId,
        before: &WrappedKey,
        after: &WrappedKey,
    ) -> Result<bool, StoreError> {
        let done = sqlx::query!(
            "update organization_keys set master_key = $4, wrapped = $5
             where organization_id = $1 and id = $2 and wrapped = $3",
            organization.uuid(),
            before.id.uuid(),
            before.wrapped,
            after.master_key,
            after.wrapped,
        )
        .execute(&self.pool())
        .await?;
        Ok(done.rows_affected() == 1)
    }
}

#[boxed_futures]
impl OrgTransaction {
    /// Retires the active data key and adds a new one, which seals values from now on.
    pub async fn replace_organization_key(&mut self, key: &WrappedKey) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "update organization_keys set retired_at = clock_timestamp()
             where organization_id = $1 and retired_at is null",
            organization,
        )
        .execute(self.connection())
        .await?;
        sqlx::query!(
            "insert into organization_keys (organization_id, id, master_key, wrapped) values ($1, $2, $3, $4)",
            organization,
            key.id.uuid(),
            key.master_key,
            key.wrapped,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// Returns some of the organization's data keys.
    pub(crate) async fn organization_keys_of(
        &mut self,
        ids: &[OrganizationKeyId],
    ) -> Result<Vec<WrappedKey>, StoreError> {
        let organization = self.organization();
        let ids: Vec<uuid::Uuid> = ids.iter().map(|id| id.uuid()).collect();
        let rows = sqlx::query!(
            "select id, master_key, wrapped from organization_keys where organization_id = $1 and id = any($2)",
            organization,
            &ids,
        )
        .fetch_all(self.connection())
        .await?;
        let key =
            |row_id: uuid::Uuid, master_key, wrapped| WrappedKey { id: row_id.into(), master_key, wrapped };
        Ok(rows.into_iter().map(|row| key(row.id, row.master_key, row.wrapped)).collect())
    }
}
