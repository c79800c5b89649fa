//! Grants: roles of groups and users on single pipelines. The view `user_grants` has those of each user, their own
//! and those of their groups.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{GroupId, OrganizationId, PipelineId, UserId};
use greenroom_domain::role::Role;
use greenroom_domain::role_grant::{Grantee, can_raise, role_on_pipeline};
use jiff::Timestamp;

use crate::error::parse_column;
use crate::page::{MAX_COUNT, Page, PageResult, Total};
use crate::transaction::OrgTransaction;
use crate::{Command, Store, StoreError};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantRecord {
    pub pipeline_id: PipelineId,
    pub grantee: Grantee,
    /// The name of the group or of the user.
    pub name: String,
    pub role: Role,
    pub created_at: Timestamp,
    pub created_by: UserId,
    pub updated_at: Timestamp,
}

struct Row {
    pipeline_id: uuid::Uuid,
    group_id: Option<uuid::Uuid>,
    user_id: Option<uuid::Uuid>,
    name: Option<String>,
    role: String,
    created_at: jiff_sqlx::Timestamp,
    created_by: uuid::Uuid,
    updated_at: jiff_sqlx::Timestamp,
}

impl TryFrom<Row> for GrantRecord {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let unreadable = || StoreError::Unreadable { column: "grants.user_id", value: "null".to_owned() };
        let grantee = match (row.group_id, row.user_id) {
            (Some(group), _) => Grantee::Group(group.into()),
            (None, user) => Grantee::User(user.ok_or_else(unreadable)?.into()),
        };
        Ok(Self {
            pipeline_id: row.pipeline_id.into(),
            grantee,
            name: row.name.unwrap_or_default(),
            role: parse_column("grants.role", &row.role)?,
            created_at: row.created_at.to_jiff(),
            created_by: row.created_by.into(),
            updated_at: row.updated_at.to_jiff(),
        })
    }
}

/// Parses granted roles.
pub(crate) fn granted_roles(roles: Option<Vec<String>>) -> Result<Vec<Role>, StoreError> {
    roles.unwrap_or_default().iter().map(|role| parse_column("grants.role", role)).collect()
}

/// Returns the roles that a grant can raise, as the database stores them.
pub(crate) fn raisable_roles() -> Vec<String> {
    let raisable = Role::ALL.iter().filter(|role| can_raise(**role));
    raisable.map(|role| role.as_str().to_owned()).collect()
}

fn grantee_columns(grantee: Grantee) -> (Option<uuid::Uuid>, Option<uuid::Uuid>) {
    match grantee {
        Grantee::Group(id) => (Some(id.uuid()), None),
        Grantee::User(id) => (None, Some(id.uuid())),
    }
}

#[boxed_futures]
impl Store {
    /// Returns a user's role on a pipeline, given the role in the organization. No query is made if no grant
    /// could raise it.
    pub async fn role_on_pipeline(
        &self,
        organization: OrganizationId,
        pipeline: PipelineId,
        (user, role): (UserId, Role),
    ) -> Result<Role, StoreError> {
        if !can_raise(role) {
            return Ok(role);
        }
        let granted = sqlx::query_scalar!(
            r#"select distinct role as "role!" from user_grants
               where organization_id = $1 and pipeline_id = $2 and user_id = $3"#,
            organization.uuid(),
            pipeline.uuid(),
            user.uuid(),
        )
        .fetch_all(&self.pool())
        .await?;
        Ok(role_on_pipeline(role, granted_roles(Some(granted))?))
    }

    /// Returns the grants on a pipeline: those of groups first, each sorted by name.
    pub async fn grants(
        &self,
        organization: OrganizationId,
        pipeline: PipelineId,
        page: Page,
    ) -> Result<PageResult<GrantRecord>, StoreError> {
        let total = sqlx::query_scalar!(
            r#"select count(*) as "count!" from (
                   select 1 from grants where organization_id = $1 and pipeline_id = $2 limit $3
               ) counted"#,
            organization.uuid(),
            pipeline.uuid(),
            MAX_COUNT + 1,
        )
        .fetch_one(&self.pool())
        .await?;
        let rows = sqlx::query_as!(
            Row,
            r#"select g.pipeline_id, g.group_id, g.user_id, coalesce(o.name, m.name) as name, g.role, g.created_at,
                      g.created_by, g.updated_at
               from grants g
               left join groups o on o.organization_id = $1 and o.id = g.group_id
               left join memberships m on m.organization_id = $1 and m.user_id = g.user_id
               where g.organization_id = $1 and g.pipeline_id = $2
               order by g.group_id is null, coalesce(o.name, m.name), g.grantee_id limit $3 offset $4"#,
            organization.uuid(),
            pipeline.uuid(),
            page.limit,
            page.offset,
        )
        .fetch_all(&self.pool())
        .await?;
        let rows = rows.into_iter().map(GrantRecord::try_from).collect::<Result<_, _>>()?;
        Ok(PageResult { rows, total: Total::counted(total) })
    }
}

#[boxed_futures]
impl OrgTransaction {
    /// Like [`Store::role_on_pipeline`], in this transaction.
    pub async fn role_on_pipeline(
        &mut self,
        pipeline: PipelineId,
        (user, role): (UserId, Role),
    ) -> Result<Role, StoreError> {
        if !can_raise(role) {
            return Ok(role);
        }
        let organization = self.organization();
        let granted = sqlx::query_scalar!(
            r#"select distinct role as "role!" from user_grants
               where organization_id = $1 and pipeline_id = $2 and user_id = $3"#,
            organization,
            pipeline.uuid(),
            user.uuid(),
        )
        .fetch_all(self.connection())
        .await?;
        Ok(role_on_pipeline(role, granted_roles(Some(granted))?))
    }
}

#[boxed_futures]
impl Command {
    /// Returns the principal's role on a pipeline.
    pub async fn own_role_on(&mut self, pipeline: PipelineId) -> Result<Role, StoreError> {
        let (user, role) = (self.principal().user_id, self.principal().role);
        self.role_on_pipeline(pipeline, (user, role)).await
    }

    /// Returns the number of grants on a pipeline, whose row must be locked.
    pub async fn grant_count(&mut self, pipeline: PipelineId) -> Result<i64, StoreError> {
        let organization = self.organization();
        Ok(sqlx::query_scalar!(
            r#"select count(*) as "count!" from grants where organization_id = $1 and pipeline_id = $2"#,
            organization,
            pipeline.uuid(),
        )
        .fetch_one(self.connection())
        .await?)
    }

    pub async fn grant_of(
        &mut self,
        pipeline: PipelineId,
        grantee: Grantee,
    ) -> Result<Option<GrantRecord>, StoreError> {
        let organization = self.organization();
        let (group, user) = grantee_columns(grantee);
        let row = sqlx::query_as!(
            Row,
            r#"select g.pipeline_id, g.group_id, g.user_id, coalesce(o.name, m.name) as name, g.role, g.created_at,
                      g.created_by, g.updated_at
               from grants g
               left join groups o on o.organization_id = $1 and o.id = g.group_id
               left join memberships m on m.organization_id = $1 and m.user_id = g.user_id
               where g.organization_id = $1 and g.pipeline_id = $2
                 and (g.group_id = $3 or g.user_id = $4) for update of g"#,
            organization,
            pipeline.uuid(),
            group,
            user,
        )
        .fetch_optional(self.connection())
        .await?;
        row.map(GrantRecord::try_from).transpose()
    }

    /// Creates a grant, or changes its role. The pipeline, and the group or the member, must be locked.
    pub async fn set_grant(
        &mut self,
        pipeline: PipelineId,
        grantee: Grantee,
        role: Role,
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        let by = self.principal().user_id.uuid();
        let (group, user) = grantee_columns(grantee);
        sqlx::query!(
            "insert into grants (organization_id, pipeline_id, group_id, user_id, role, created_by)
             values ($1, $2, $3, $4, $5, $6)
             on conflict (organization_id, pipeline_id, grantee_id)
                 do update set role = excluded.role, updated_at = clock_timestamp()",
            organization,
            pipeline.uuid(),
            group,
            user,
            role.as_str(),
            by,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    pub async fn delete_grant(&mut self, pipeline: PipelineId, grantee: Grantee) -> Result<(), StoreError> {
        let organization = self.organization();
        let (group, user) = grantee_columns(grantee);
        sqlx::query!(
            "delete from grants
             where organization_id = $1 and pipeline_id = $2 and (group_id = $3 or user_id = $4)",
            organization,
            pipeline.uuid(),
            group,
            user,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// Returns the pipelines on which a group has a grant.
    pub async fn pipelines_granted_to(&mut self, group: GroupId) -> Result<Vec<PipelineId>, StoreError> {
        let organization = self.organization();
        let pipelines = sqlx::query_scalar!(
            "select pipeline_id from grants where organization_id = $1 and group_id = $2 order by pipeline_id",
            organization,
            group.uuid(),
        )
        .fetch_all(self.connection())
        .await?;
        Ok(pipelines.into_iter().map(PipelineId::from).collect())
    }
}
