//! Creates, changes and deletes groups.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::GroupId;

use super::{GroupRecord, Row};
use crate::{Command, StoreError};

#[boxed_futures]
impl Command {
    /// Returns the number of groups. Takes an advisory lock, so that no concurrent transaction adds one.
    pub async fn lock_group_count(&mut self) -> Result<i64, StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "select pg_advisory_xact_lock(hashtextextended('groups ' || $1::uuid, 0))",
            organization,
        )
        .execute(self.connection())
        .await?;
        Ok(sqlx::query_scalar!(
            r#"select count(*) as "count!" from groups where organization_id = $1 and deleted_at is null"#,
            organization,
        )
        .fetch_one(self.connection())
        .await?)
    }

    /// Fails with `groups_live_name` if another group has the name.
    pub async fn create_group(
        &mut self,
        id: GroupId,
        name: &str,
        description: Option<&str>,
    ) -> Result<GroupRecord, StoreError> {
        let organization = self.organization();
        let by = self.principal().user_id.uuid();
        let row = sqlx::query_as!(
            Row,
            "insert into groups (organization_id, id, name, description, created_by) values ($1, $2, $3, $4, $5)
             returning id, name, description, revision, created_at, created_by, updated_at, deleted_at",
            organization,
            id.uuid(),
            name,
            description,
            by,
        )
        .fetch_one(self.connection())
        .await?;
        Ok(row.into())
    }

    /// Fails with `groups_live_name` if another group has the name.
    pub async fn update_group(
        &mut self,
        id: GroupId,
        name: &str,
        description: Option<&str>,
    ) -> Result<GroupRecord, StoreError> {
        let organization = self.organization();
        let row = sqlx::query_as!(
            Row,
            "update groups
             set name = $3, description = $4, revision = revision + 1, updated_at = clock_timestamp()
             where organization_id = $1 and id = $2
             returning id, name, description, revision, created_at, created_by, updated_at, deleted_at",
            organization,
            id.uuid(),
            name,
            description,
        )
        .fetch_one(self.connection())
        .await?;
        Ok(row.into())
    }

    /// Deletes a group with its members and its grants. Its record stays.
    pub async fn delete_group(&mut self, id: GroupId) -> Result<GroupRecord, StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "delete from grants where organization_id = $1 and group_id = $2",
            organization,
            id.uuid()
        )
        .execute(self.connection())
        .await?;
        sqlx::query!(
            "delete from group_members where organization_id = $1 and group_id = $2",
            organization,
            id.uuid(),
        )
        .execute(self.connection())
        .await?;
        let row = sqlx::query_as!(
            Row,
            "update groups
             set deleted_at = clock_timestamp(), revision = revision + 1, updated_at = clock_timestamp()
             where organization_id = $1 and id = $2
             returning id, name, description, revision, created_at, created_by, updated_at, deleted_at",
            organization,
            id.uuid(),
        )
        .fetch_one(self.connection())
        .await?;
        Ok(row.into())
    }
}
