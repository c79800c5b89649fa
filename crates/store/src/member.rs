//! Members: a person's role and name in one organization. Service accounts have memberships too, which
//! `service_account.rs` reads and changes; only a removal is the same for both.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{OrganizationId, UserId};
use greenroom_domain::member::Member;
use greenroom_domain::role::Role;
use greenroom_domain::text::{Email, Name};

use crate::error::parse_column;
use crate::page::{MAX_COUNT, Page, PageResult, Total};
use crate::{Command, Store, StoreError};

struct Row {
    user_id: uuid::Uuid,
    email: String,
    name: String,
    role: String,
    revision: i64,
    created_at: jiff_sqlx::Timestamp,
    updated_at: jiff_sqlx::Timestamp,
}

impl TryFrom<Row> for Member {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        Ok(Self {
            user_id: row.user_id.into(),
            email: row.email,
            name: row.name,
            role: parse_column("memberships.role", &row.role)?,
            revision: row.revision,
            created_at: row.created_at.to_jiff(),
            updated_at: row.updated_at.to_jiff(),
        })
    }
}

#[boxed_futures]
impl Store {
    pub async fn members(
        &self,
        organization: OrganizationId,
        page: Page,
    ) -> Result<PageResult<Member>, StoreError> {
        let total = sqlx::query_scalar!(
            r#"select count(*) as "count!" from (
                   select 1 from memberships
                   where organization_id = $1 and kind = 'person' and removed_at is null limit $2
               ) counted"#,
            organization.uuid(),
            MAX_COUNT + 1,
        )
        .fetch_one(&self.pool())
        .await?;
        let rows = sqlx::query_as!(
            Row,
            r#"select m.user_id, m.email as "email!", m.name, m.role, m.revision, m.created_at, m.updated_at
               from memberships m
               where m.organization_id = $1 and m.kind = 'person' and m.removed_at is null
               order by m.user_id limit $2 offset $3"#,
            organization.uuid(),
            page.limit,
            page.offset,
        )
        .fetch_all(&self.pool())
        .await?;
        let rows = rows.into_iter().map(Member::try_from).collect::<Result<_, _>>()?;
        Ok(PageResult { rows, total: Total::counted(total) })
    }

    pub async fn member(
        &self,
        organization: OrganizationId,
        user: UserId,
    ) -> Result<Option<Member>, StoreError> {
        let row = sqlx::query_as!(
            Row,
            r#"select m.user_id, m.email as "email!", m.name, m.role, m.revision, m.created_at, m.updated_at
               from memberships m
               where m.organization_id = $1 and m.user_id = $2 and m.kind = 'person' and m.removed_at is null"#,
            organization.uuid(),
            user.uuid(),
        )
        .fetch_optional(&self.pool())
        .await?;
        row.map(Member::try_from).transpose()
    }
}

#[boxed_futures]
impl Command {
    /// Adds a member, or restores one who was removed. Returns `None` if the user is already a member.
    pub async fn add_member(
        &mut self,
        new_user_id: UserId,
        email: &Email,
        name: &Name,
        role: Role,
    ) -> Result<Option<Member>, StoreError> {
        let (organization, by) = (self.organization(), self.principal().user_id.uuid());
        let user_id = sqlx::query_scalar!(
            "insert into users (id, email) values ($1, $2)
             on conflict (email_key) do update set email = users.email returning id",
            new_user_id.uuid(),
            email.as_str(),
        )
        .fetch_one(self.connection())
        .await?;
        let row = sqlx::query_as!(
            Row,
            r#"insert into memberships as m (organization_id, user_id, email, name, role, added_by) values ($1, $2, $3, $4, $5, $6)
               on conflict (organization_id, user_id) do update
                   set email = excluded.email, name = excluded.name, role = excluded.role, removed_at = null,
                       added_by = excluded.added_by, restored_at = clock_timestamp(), role_given_by = null, role_given_at = null,
                       revision = m.revision + 1, updated_at = clock_timestamp()
                   where m.removed_at is not null
               returning m.user_id, m.email as "email!", m.name, m.role, m.revision, m.created_at, m.updated_at"#,
            organization,
            user_id,
            email.as_str(),
            name.as_str(),
            role.as_str(),
            by,
        )
        .fetch_optional(self.connection())
        .await?;
        // A token that was created concurrently with the removal of its user must not become valid again with
        // the membership.
        if row.is_some() {
            self.revoke_tokens_of(user_id.into()).await?;
        }
        row.map(Member::try_from).transpose()
    }

    pub async fn member_for_update(&mut self, user: UserId) -> Result<Option<Member>, StoreError> {
        let organization = self.organization();
        let row = sqlx::query_as!(
            Row,
            r#"select m.user_id, m.email as "email!", m.name, m.role, m.revision, m.created_at, m.updated_at
               from memberships m
               where m.organization_id = $1 and m.user_id = $2 and m.kind = 'person' and m.removed_at is null
               for no key update of m"#,
            organization,
            user.uuid(),
        )
        .fetch_optional(self.connection())
        .await?;
        row.map(Member::try_from).transpose()
    }

    /// Locks the owners' rows, so that two of them can't leave concurrently. Returns the number of owners.
    pub async fn lock_owners(&mut self) -> Result<usize, StoreError> {
        let organization = self.organization();
        let owners = sqlx::query_scalar!(
            "select user_id from memberships
             where organization_id = $1 and role = 'owner' and removed_at is null order by user_id for no key update",
            organization
        )
        .fetch_all(self.connection())
        .await?;
        Ok(owners.len())
    }

    pub async fn change_member(
        &mut self,
        user: UserId,
        name: &str,
        role: Role,
    ) -> Result<Member, StoreError> {
        let (organization, by) = (self.organization(), self.principal().user_id.uuid());
        let row = sqlx::query_as!(
            Row,
            r#"update memberships m
               set name = $3, role = $4, revision = m.revision + 1, updated_at = clock_timestamp(),
                   role_given_by = case when m.role <> $4 then $5 else m.role_given_by end,
                   role_given_at = case when m.role <> $4 then clock_timestamp() else m.role_given_at end
               where m.organization_id = $1 and m.user_id = $2 and m.kind = 'person'
               returning m.user_id, m.email as "email!", m.name, m.role, m.revision, m.created_at, m.updated_at"#,
            organization,
            user.uuid(),
            name,
            role.as_str(),
            by,
        )
        .fetch_one(self.connection())
        .await?;
        row.try_into()
    }

    /// Locks the membership of a user, a person or a service account. Returns the user's name.
    pub async fn lock_user(&mut self, user: UserId) -> Result<Option<String>, StoreError> {
        let organization = self.organization();
        Ok(sqlx::query_scalar!(
            "select name from memberships where organization_id = $1 and user_id = $2 and removed_at is null
             for no key update",
            organization,
            user.uuid(),
        )
        .fetch_optional(self.connection())
        .await?)
    }

    /// Removes a member or a service account, from groups too, deletes their grants and revokes their tokens. None of
    /// that comes back if the membership is restored.
    pub async fn remove_member(&mut self, user: UserId) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "update memberships set removed_at = clock_timestamp(), revision = revision + 1
             where organization_id = $1 and user_id = $2",
            organization,
            user.uuid(),
        )
        .execute(self.connection())
        .await?;
        sqlx::query!(
            "delete from group_members where organization_id = $1 and user_id = $2",
            organization,
            user.uuid(),
        )
        .execute(self.connection())
        .await?;
        sqlx::query!(
            "delete from grants where organization_id = $1 and user_id = $2",
            organization,
            user.uuid()
        )
        .execute(self.connection())
        .await?;
        self.revoke_tokens_of(user).await
    }

    async fn revoke_tokens_of(&mut self, user: UserId) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "update api_tokens set revoked_at = clock_timestamp()
             where organization_id = $1 and user_id = $2 and revoked_at is null",
            organization,
            user.uuid(),
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }
}
