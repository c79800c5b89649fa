//! People as they are now: who may approve, and who is behind a deployment.

use std::collections::BTreeMap;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::approval::{
    Actor, Admission, AdmissionKind, Behind, Confirmation, Excluded, Person, Requirement, excluded,
};
use greenroom_domain::id::{DeploymentId, OrganizationId, UserId};
use sqlx::PgConnection;

use super::authors::NewVersions;
use crate::error::parse_column;
use crate::transaction::OrgTransaction;
use crate::{Store, StoreError};

struct Row {
    user_id: uuid::Uuid,
    kind: String,
    email: Option<String>,
    role: String,
    is_removed: bool,
    is_confirmed: bool,
    member_since: jiff_sqlx::Timestamp,
    added_by: Option<uuid::Uuid>,
    enrolled_by: Option<uuid::Uuid>,
    enrolled_at: Option<jiff_sqlx::Timestamp>,
    role_given_by: Option<uuid::Uuid>,
    role_given_at: Option<jiff_sqlx::Timestamp>,
    groups: Vec<String>,
    group_givers: Vec<uuid::Uuid>,
    group_times: Vec<jiff_sqlx::Timestamp>,
}

impl Row {
    fn confirmation(&self) -> Confirmation {
        if self.is_confirmed {
            return Confirmation::Confirmed;
        }
        let admission = |kind, by: Option<uuid::Uuid>, at: Option<jiff_sqlx::Timestamp>| {
            by.zip(at).map(|(by, at)| Admission { kind, by: by.into(), at: at.to_jiff() })
        };
        let own = [
            admission(AdmissionKind::Membership, self.added_by, Some(self.member_since)),
            admission(AdmissionKind::SignInLink, self.enrolled_by, self.enrolled_at),
            admission(AdmissionKind::Role, self.role_given_by, self.role_given_at),
        ];
        let groups = self.groups.iter().zip(&self.group_givers).zip(&self.group_times);
        let groups = groups.filter_map(|((name, by), at)| {
            admission(AdmissionKind::Group(name.clone()), Some(*by), Some(*at))
        });
        Confirmation::Unconfirmed {
            member_since: self.member_since.to_jiff(),
            admissions: own.into_iter().flatten().chain(groups).collect(),
        }
    }
}

impl TryFrom<Row> for Person {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        let role = parse_column("memberships.role", &row.role)?;
        let confirmation = row.confirmation();
        Ok(Self {
            id: row.user_id.into(),
            email: row.email,
            role: (!row.is_removed).then_some(role),
            groups: row.groups.into_iter().collect(),
            is_service: row.kind == "service",
            confirmation,
        })
    }
}

/// Selects users of organization `$1` that fulfill a condition, with the groups that they are in now.
macro_rules! person_query {
    ($condition:literal, $($argument:expr),* $(,)?) => {
        sqlx::query_as!(
            Row,
            r#"select m.user_id, m.kind, m.email, m.role, m.removed_at is not null as "is_removed!",
                      u.signed_in_at is not null and u.enrolled_in is null as "is_confirmed!",
                      coalesce(m.restored_at, m.created_at) as "member_since!", m.added_by,
                      u.enrolled_by, u.enrolled_at, m.role_given_by, m.role_given_at,
                      g.names as "groups!", g.givers as "group_givers!", g.times as "group_times!: Vec<jiff_sqlx::Timestamp>"
               from memberships m
               join users u on u.id = m.user_id
               cross join lateral (
                   select coalesce(array_agg(o.name order by o.id), '{}') as names,
                          coalesce(array_agg(n.added_by order by o.id), '{}') as givers,
                          coalesce(array_agg(n.added_at order by o.id), '{}') as times
                   from group_members n
                   join groups o on o.organization_id = $1 and o.id = n.group_id and o.deleted_at is null
                   where n.organization_id = $1 and n.user_id = m.user_id
               ) g
               where m.organization_id = $1 and "# + $condition,
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

#[boxed_futures]
impl Store {
    /// Returns the people of an organization, who may approve if a rule names them.
    pub async fn approving_members(&self, organization: OrganizationId) -> Result<Vec<Person>, StoreError> {
        let mut connection = self.pool().acquire().await?;
        members(&mut connection, organization.uuid()).await
    }
}

#[boxed_futures]
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
        NewVersions { authors, last_success }: &NewVersions,
    ) -> Result<Excluded, StoreError> {
        let organization = self.organization();
        let row = sqlx::query!(
            r#"select d.created_by, d.retriers, d.on_behalf_of, d.created_at, d.accepted_at, s.user_id as "holder?",
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
            authors: authors.clone(),
            created_at: row.created_at.to_jiff(),
            accepted_at: row.accepted_at.to_jiff(),
            last_success: *last_success,
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
