//! People as they are now: who may approve, and who is behind a deployment.

use std::collections::BTreeMap;

use greenroom_domain::approval::{Actor, Behind, Excluded, Person, Requirement, excluded};
use greenroom_domain::id::{DeploymentId, OrganizationId, UserId};
use sqlx::PgConnection;

use crate::error::parse_column;
use crate::transaction::OrgTransaction;
use crate::{Store, StoreError};

struct Row {
    user_id: uuid::Uuid,
    kind: String,
    email: Option<String>,
    role: String,
    is_removed: bool,
    groups: Vec<String>,
}

impl TryFrom<Row> for Person {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let role = parse_column("memberships.role", &row.role)?;
        Ok(Self {
            id: row.user_id.into(),
            email: row.email,
            role: (!row.is_removed).then_some(role),
            groups: row.groups.into_iter().collect(),
            is_service: row.kind == "service",
        })
    }
}

/// Selects users of organization `$1` that fulfill a condition, with the groups that they are in now.
macro_rules! person_query {
    ($condition:literal, $($argument:expr),* $(,)?) => {
        sqlx::query_as!(
            Row,
            r#"select m.user_id, m.kind, m.email, m.role, m.removed_at is not null as "is_removed!",
                      array(select g.name from group_members n
                          join groups g on g.organization_id = $1 and g.id = n.group_id and g.deleted_at is null
                          where n.organization_id = $1 and n.user_id = m.user_id) as "groups!"
               from memberships m where m.organization_id = $1 and "# + $condition,
            $($argument),*
        )
    };
}

async fn members(connection: &mut PgConnection, organization: uuid::Uuid) -> Result<Vec<Person>, StoreError> {
    let rows = person_query!("m.kind = 'person' and m.removed_at is null", organization)
        .fetch_all(connection)
        .await?;
    rows.into_iter().map(Person::try_from).collect()
}

impl Store {
    /// Returns the people of an organization, who may approve if a rule names them.
    pub async fn approving_members(&self, organization: OrganizationId) -> Result<Vec<Person>, StoreError> {
        let mut connection = self.pool().acquire().await?;
        members(&mut connection, organization.uuid()).await
    }
}

impl OrgTransaction {
    /// Returns the people of the organization.
    pub(super) async fn approving_members(&mut self) -> Result<Vec<Person>, StoreError> {
        let organization = self.organization();
        members(self.connection(), organization).await
    }

    /// Returns these users. One that is no member any more has no role.
    pub(super) async fn people(
        &mut self,
        users: &[uuid::Uuid],
    ) -> Result<BTreeMap<UserId, Person>, StoreError> {
        let organization = self.organization();
        let rows =
            person_query!("m.user_id = any($2)", organization, users).fetch_all(self.connection()).await?;
        let people = rows.into_iter().map(Person::try_from);
        people.map(|person| person.map(|person| (person.id, person))).collect()
    }

    /// Returns who may not approve a deployment.
    pub(super) async fn excluded_from(
        &mut self,
        deployment: DeploymentId,
        requirement: &Requirement,
    ) -> Result<Excluded, StoreError> {
        let organization = self.organization();
        let row = sqlx::query!(
            r#"select d.created_by, d.retriers, d.on_behalf_of, s.user_id as "holder?",
                      array(select m.user_id from memberships m
                          where m.organization_id = $1 and m.kind = 'service'
                            and m.user_id = any(d.retriers || d.created_by || s.user_id)) as "services!"
               from deployments d
               left join sessions s on s.organization_id = $1 and s.id = d.session_id
               where d.organization_id = $1 and d.id = $2"#,
            organization,
            deployment.uuid(),
        )
        .fetch_one(self.connection())
        .await?;
        let actor = |id: uuid::Uuid| {
            if row.services.contains(&id) { Actor::Machine(id.into()) } else { Actor::Person(id.into()) }
        };
        let behind = Behind {
            started_by: actor(row.created_by),
            retried_by: row.retriers.into_iter().map(actor).collect(),
            session_holder: row.holder.map(actor),
            pusher: None,
            on_behalf_of: row.on_behalf_of.map(UserId::from),
        };
        Ok(excluded(&behind, requirement.self_approval))
    }
    /// Returns the name of a person who is a member.
    pub async fn name_of_person(&mut self, user: UserId) -> Result<Option<String>, StoreError> {
        let organization = self.organization();
        Ok(sqlx::query_scalar!(
            "select name from memberships
             where organization_id = $1 and user_id = $2 and kind = 'person' and removed_at is null",
            organization,
            user.uuid(),
        )
        .fetch_optional(self.connection())
        .await?)
    }
}
