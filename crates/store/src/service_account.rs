//! Service accounts: memberships of kind `service`, each with a user of its own. A removal is that of a member
//! (`member.rs`).

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{OrganizationId, UserId};
use greenroom_domain::role::Role;
use greenroom_domain::service_account::ServiceAccount;

use crate::error::parse_column;
use crate::page::{MAX_COUNT, Page, PageResult, Total};
use crate::{Command, Store, StoreError};

/// What can be changed of a service account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceAccountContent {
    pub name: String,
    pub description: Option<String>,
    pub role: Role,
}

struct Row {
    user_id: uuid::Uuid,
    name: String,
    description: Option<String>,
    role: String,
    revision: i64,
    created_at: jiff_sqlx::Timestamp,
    created_by: uuid::Uuid,
    updated_at: jiff_sqlx::Timestamp,
}

impl TryFrom<Row> for ServiceAccount {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.user_id.into(),
            name: row.name,
            description: row.description,
            role: parse_column("memberships.role", &row.role)?,
            revision: row.revision,
            created_at: row.created_at.to_jiff(),
            created_by: row.created_by.into(),
            updated_at: row.updated_at.to_jiff(),
        })
    }
}

/// Selects the service account `$2` of organization `$1`.
macro_rules! service_account_query {
    ($end:literal, $organization:expr, $id:expr) => {
        sqlx::query_as!(
            Row,
            r#"select m.user_id, m.name, m.description, m.role, m.revision, m.created_at,
                      m.created_by as "created_by!", m.updated_at
               from memberships m
               where m.organization_id = $1 and m.user_id = $2 and m.kind = 'service' and m.removed_at is null"#
                + $end,
            $organization,
            $id,
        )
    };
}

#[boxed_futures]
impl Store {
    /// Returns the service accounts that are not deleted, ordered by name.
    pub async fn service_accounts(
        &self,
        organization: OrganizationId,
        page: Page,
    ) -> Result<PageResult<ServiceAccount>, StoreError> {
        let total = sqlx::query_scalar!(
            r#"select count(*) as "count!" from (
                   select 1 from memberships
                   where organization_id = $1 and kind = 'service' and removed_at is null limit $2
               ) counted"#,
            organization.uuid(),
            MAX_COUNT + 1,
        )
        .fetch_one(&self.pool())
        .await?;
        let rows = sqlx::query_as!(
            Row,
            r#"select m.user_id, m.name, m.description, m.role, m.revision, m.created_at,
                      m.created_by as "created_by!", m.updated_at
               from memberships m
               where m.organization_id = $1 and m.kind = 'service' and m.removed_at is null
               order by lower(m.name) limit $2 offset $3"#,
            organization.uuid(),
            page.limit,
            page.offset,
        )
        .fetch_all(&self.pool())
        .await?;
        let rows = rows.into_iter().map(ServiceAccount::try_from).collect::<Result<_, _>>()?;
        Ok(PageResult { rows, total: Total::counted(total) })
    }

    pub async fn service_account(
        &self,
        organization: OrganizationId,
        id: UserId,
    ) -> Result<Option<ServiceAccount>, StoreError> {
        let row =
            service_account_query!("", organization.uuid(), id.uuid()).fetch_optional(&self.pool()).await?;
        row.map(ServiceAccount::try_from).transpose()
    }
}

#[boxed_futures]
impl Command {
    /// Creates a service account. Violates `service_accounts_name` if there is one of this name.
    pub async fn create_service_account(
        &mut self,
        id: UserId,
        content: &ServiceAccountContent,
    ) -> Result<ServiceAccount, StoreError> {
        let (organization, user) = (self.organization(), self.principal().user_id.uuid());
        sqlx::query!("insert into users (id, kind) values ($1, 'service')", id.uuid())
            .execute(self.connection())
            .await?;
        let row = sqlx::query_as!(
            Row,
            r#"insert into memberships as m (organization_id, user_id, kind, name, description, role, created_by)
               values ($1, $2, 'service', $3, $4, $5, $6)
               returning m.user_id, m.name, m.description, m.role, m.revision, m.created_at,
                         m.created_by as "created_by!", m.updated_at"#,
            organization,
            id.uuid(),
            content.name,
            content.description,
            content.role.as_str(),
            user,
        )
        .fetch_one(self.connection())
        .await?;
        row.try_into()
    }

    pub async fn service_account_for_update(
        &mut self,
        id: UserId,
    ) -> Result<Option<ServiceAccount>, StoreError> {
        let organization = self.organization();
        let row = service_account_query!(" for no key update of m", organization, id.uuid())
            .fetch_optional(self.connection())
            .await?;
        row.map(ServiceAccount::try_from).transpose()
    }

    /// Changes a service account. Violates `service_accounts_name` if there is another one of this name.
    pub async fn update_service_account(
        &mut self,
        id: UserId,
        content: &ServiceAccountContent,
    ) -> Result<ServiceAccount, StoreError> {
        let organization = self.organization();
        let row = sqlx::query_as!(
            Row,
            r#"update memberships m
               set name = $3, description = $4, role = $5, revision = m.revision + 1, updated_at = clock_timestamp()
               where m.organization_id = $1 and m.user_id = $2 and m.kind = 'service'
               returning m.user_id, m.name, m.description, m.role, m.revision, m.created_at,
                         m.created_by as "created_by!", m.updated_at"#,
            organization,
            id.uuid(),
            content.name,
            content.description,
            content.role.as_str(),
        )
        .fetch_one(self.connection())
        .await?;
        row.try_into()
    }
}
