//! Reads forges.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::forge::{ForgeRepository, serving};
use greenroom_domain::id::OrganizationId;

use super::{ForgeRecord, Row};
use crate::page::{MAX_COUNT, Page, PageResult, Total};
use crate::{Command, Store, StoreError};

/// Selects the forges of organization `$1` that fulfill a condition.
macro_rules! forge_query {
    ($condition:literal, $($argument:expr),* $(,)?) => {
        sqlx::query_as!(
            Row,
            r#"select f.id, f.name, f.kind, f.address, f.repositories, f.credential_key_id, f.credential_nonce,
                      f.credential_sealed, f.last_used_at, f.last_error, f.revision, f.created_at, f.created_by,
                      f.updated_at
               from forges f where f.organization_id = $1 "# + $condition,
            $($argument),*
        )
    };
}

#[boxed_futures]
impl Store {
    /// Returns a page of forges, ordered by name.
    pub async fn forges(
        &self,
        organization: OrganizationId,
        page: Page,
    ) -> Result<PageResult<ForgeRecord>, StoreError> {
        let total = sqlx::query_scalar!(
            r#"select count(*) as "count!" from (
                   select 1 from forges where organization_id = $1 limit $2
               ) counted"#,
            organization.uuid(),
            MAX_COUNT + 1,
        )
        .fetch_one(&self.pool())
        .await?;
        let rows =
            forge_query!("order by f.name limit $2 offset $3", organization.uuid(), page.limit, page.offset);
        let rows = rows.fetch_all(&self.pool()).await?;
        let rows = rows.into_iter().map(ForgeRecord::try_from).collect::<Result<_, _>>()?;
        Ok(PageResult { rows, total: Total::counted(total) })
    }

    pub async fn forge(
        &self,
        organization: OrganizationId,
        name: &str,
    ) -> Result<Option<ForgeRecord>, StoreError> {
        let row = forge_query!("and f.name = $2", organization.uuid(), name);
        row.fetch_optional(&self.pool()).await?.map(ForgeRecord::try_from).transpose()
    }

    /// Returns the forge of the organization that serves a repository (`domain/forge`).
    pub async fn forge_of(
        &self,
        organization: OrganizationId,
        repository: &ForgeRepository,
    ) -> Result<Option<ForgeRecord>, StoreError> {
        // Their number is limited.
        let rows = forge_query!("order by f.name", organization.uuid()).fetch_all(&self.pool()).await?;
        let forges: Vec<ForgeRecord> =
            rows.into_iter().map(ForgeRecord::try_from).collect::<Result<_, _>>()?;
        let found = serving(forges.iter().map(|forge| (forge, forge.repositories.as_slice())), repository);
        Ok(found.cloned())
    }
}

#[boxed_futures]
impl Command {
    /// Returns a forge, and locks its row.
    pub async fn forge_for_update(&mut self, name: &str) -> Result<Option<ForgeRecord>, StoreError> {
        let organization = self.organization();
        let row = forge_query!("and f.name = $2 for update of f", organization, name);
        row.fetch_optional(self.connection()).await?.map(ForgeRecord::try_from).transpose()
    }
}
