//! Reads groups for the API.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{GroupId, OrganizationId};

use super::{GroupRecord, Row};
use crate::page::{MAX_COUNT, Page, PageResult, Total};
use crate::{Command, Store, StoreError};

#[boxed_futures]
impl Store {
    /// Returns the groups that are not deleted, ordered by name.
    pub async fn groups(
        &self,
        organization: OrganizationId,
        page: Page,
    ) -> Result<PageResult<GroupRecord>, StoreError> {
        let total = sqlx::query_scalar!(
            r#"select count(*) as "count!" from (
                   select 1 from groups where organization_id = $1 and deleted_at is null limit $2
               ) counted"#,
            organization.uuid(),
            MAX_COUNT + 1,
        )
        .fetch_one(&self.pool())
        .await?;
        let rows = sqlx::query_as!(
            Row,
            "select id, name, description, revision, created_at, created_by, updated_at, deleted_at
             from groups where organization_id = $1 and deleted_at is null
             order by name limit $2 offset $3",
            organization.uuid(),
            page.limit,
            page.offset,
        )
        .fetch_all(&self.pool())
        .await?;
        Ok(PageResult { rows: rows.into_iter().map(Row::into).collect(), total: Total::counted(total) })
    }

    /// Returns a group, also if it was deleted.
    pub async fn group(
        &self,
        organization: OrganizationId,
        id: GroupId,
    ) -> Result<Option<GroupRecord>, StoreError> {
        let row = sqlx::query_as!(
            Row,
            "select id, name, description, revision, created_at, created_by, updated_at, deleted_at
             from groups where organization_id = $1 and id = $2",
            organization.uuid(),
            id.uuid(),
        )
        .fetch_optional(&self.pool())
        .await?;
        Ok(row.map(Row::into))
    }
}

#[boxed_futures]
impl Command {
    /// Returns a group, also if it was deleted, and locks its row.
    pub async fn group_for_update(&mut self, id: GroupId) -> Result<Option<GroupRecord>, StoreError> {
        let organization = self.organization();
        let row = sqlx::query_as!(
            Row,
            "select id, name, description, revision, created_at, created_by, updated_at, deleted_at
             from groups where organization_id = $1 and id = $2 for update",
            organization,
            id.uuid(),
        )
        .fetch_optional(self.connection())
        .await?;
        Ok(row.map(Row::into))
    }
}
