//! Members of groups. Only members of the organization can be members of its groups: the rows of a member are
//! deleted with the membership (`store/member.rs`).

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{GroupId, OrganizationId, UserId};
use jiff::Timestamp;

use crate::page::{MAX_COUNT, Page, PageResult, Total};
use crate::{Command, Store, StoreError};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupMemberRecord {
    pub user_id: UserId,
    pub name: String,
    pub added_at: Timestamp,
    pub added_by: UserId,
}

struct Row {
    user_id: uuid::Uuid,
    name: String,
    added_at: jiff_sqlx::Timestamp,
    added_by: uuid::Uuid,
}

impl From<Row> for GroupMemberRecord {
    fn from(row: Row) -> Self {
        Self {
            user_id: row.user_id.into(),
            name: row.name,
            added_at: row.added_at.to_jiff(),
            added_by: row.added_by.into(),
        }
    }
}

#[boxed_futures]
impl Store {
    /// Returns the members of a group, ordered by their ids.
    pub async fn group_members(
        &self,
        organization: OrganizationId,
        group: GroupId,
        page: Page,
    ) -> Result<PageResult<GroupMemberRecord>, StoreError> {
        let total = sqlx::query_scalar!(
            r#"select count(*) as "count!" from (
                   select 1 from group_members where organization_id = $1 and group_id = $2 limit $3
               ) counted"#,
            organization.uuid(),
            group.uuid(),
            MAX_COUNT + 1,
        )
        .fetch_one(&self.pool())
        .await?;
        let rows = sqlx::query_as!(
            Row,
            "select g.user_id, m.name, g.added_at, g.added_by
             from group_members g
             join memberships m on m.organization_id = $1 and m.user_id = g.user_id
             where g.organization_id = $1 and g.group_id = $2
             order by g.user_id limit $3 offset $4",
            organization.uuid(),
            group.uuid(),
            page.limit,
            page.offset,
        )
        .fetch_all(&self.pool())
        .await?;
        Ok(PageResult { rows: rows.into_iter().map(Row::into).collect(), total: Total::counted(total) })
    }
}

#[boxed_futures]
impl Command {
    pub async fn group_member_count(&mut self, group: GroupId) -> Result<i64, StoreError> {
        let organization = self.organization();
        Ok(sqlx::query_scalar!(
            r#"select count(*) as "count!" from group_members where organization_id = $1 and group_id = $2"#,
            organization,
            group.uuid(),
        )
        .fetch_one(self.connection())
        .await?)
    }

    pub async fn group_member(
        &mut self,
        group: GroupId,
        user: UserId,
    ) -> Result<Option<GroupMemberRecord>, StoreError> {
        let organization = self.organization();
        let row = sqlx::query_as!(
            Row,
            "select g.user_id, m.name, g.added_at, g.added_by
             from group_members g
             join memberships m on m.organization_id = $1 and m.user_id = g.user_id
             where g.organization_id = $1 and g.group_id = $2 and g.user_id = $3",
            organization,
            group.uuid(),
            user.uuid(),
        )
        .fetch_optional(self.connection())
        .await?;
        Ok(row.map(Row::into))
    }

    /// Adds a member. The rows of the group and of the membership must be locked.
    pub async fn add_group_member(&mut self, group: GroupId, user: UserId) -> Result<(), StoreError> {
        let organization = self.organization();
        let by = self.principal().user_id.uuid();
        sqlx::query!(
            "insert into group_members (organization_id, group_id, user_id, added_by) values ($1, $2, $3, $4)",
            organization,
            group.uuid(),
            user.uuid(),
            by,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    pub async fn remove_group_member(&mut self, group: GroupId, user: UserId) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "delete from group_members where organization_id = $1 and group_id = $2 and user_id = $3",
            organization,
            group.uuid(),
            user.uuid(),
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }
}
