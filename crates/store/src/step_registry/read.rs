//! Reads registries.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{OrganizationId, RegistryId};

use super::{RegistryRecord, Row};
use crate::page::{MAX_COUNT, Page, PageResult, Total};
use crate::{Command, Store, StoreError};

/// Selects the registries of organization `$1` that fulfill a condition.
macro_rules! registry_query {
    ($condition:literal, $($argument:expr),* $(,)?) => {
        sqlx::query_as!(
            Row,
            r#"select r.id, r.name, r.url, r.signers, r.require_signature, r.minimum_age_seconds,
                      r.credential_sealed is not null as "has_credential!", r.status, r.synced_at, r.next_sync_at, r.error,
                      r.revision, r.created_at, r.created_by, r.updated_at, r.deleted_at
               from step_registries r where r.organization_id = $1 and "# + $condition,
            $($argument),*
        )
    };
}

#[boxed_futures]
impl Store {
    /// Returns the registries that are not deleted, ordered by name.
    pub async fn step_registries(
        &self,
        organization: OrganizationId,
        page: Page,
    ) -> Result<PageResult<RegistryRecord>, StoreError> {
        let total = sqlx::query_scalar!(
            r#"select count(*) as "count!" from (
                   select 1 from step_registries where organization_id = $1 and deleted_at is null limit $2
               ) counted"#,
            organization.uuid(),
            MAX_COUNT + 1,
        )
        .fetch_one(&self.pool())
        .await?;
        let rows = registry_query!(
            "r.deleted_at is null order by r.name limit $2 offset $3",
            organization.uuid(),
            page.limit,
            page.offset,
        )
        .fetch_all(&self.pool())
        .await?;
        let rows = rows.into_iter().map(RegistryRecord::try_from).collect::<Result<_, _>>()?;
        Ok(PageResult { rows, total: Total::counted(total) })
    }

    /// Returns a registry, also if it was deleted.
    pub async fn step_registry(
        &self,
        organization: OrganizationId,
        id: RegistryId,
    ) -> Result<Option<RegistryRecord>, StoreError> {
        let row = registry_query!("r.id = $2", organization.uuid(), id.uuid());
        row.fetch_optional(&self.pool()).await?.map(RegistryRecord::try_from).transpose()
    }

    /// Returns all registries that are not deleted. Their number is limited.
    pub async fn all_step_registries(
        &self,
        organization: OrganizationId,
    ) -> Result<Vec<RegistryRecord>, StoreError> {
        let rows = registry_query!("r.deleted_at is null order by r.name", organization.uuid());
        rows.fetch_all(&self.pool()).await?.into_iter().map(RegistryRecord::try_from).collect()
    }
}

#[boxed_futures]
impl Command {
    /// Returns a registry, also if it was deleted, and locks its row.
    pub async fn step_registry_for_update(
        &mut self,
        id: RegistryId,
    ) -> Result<Option<RegistryRecord>, StoreError> {
        let organization = self.organization();
        let row = registry_query!("r.id = $2 for update of r", organization, id.uuid());
        row.fetch_optional(self.connection()).await?.map(RegistryRecord::try_from).transpose()
    }
}
