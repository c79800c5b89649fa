//! Sign-in links: a person signs in with one for the first time, or after a reset. They belong to a person, and
//! who may make one depends on all memberships of that person.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::event::EventType;
use greenroom_domain::id::{OrganizationId, UserId};
use greenroom_domain::policy::{Action, is_allowed};
use greenroom_domain::sign_in::Enrollment;
use greenroom_domain::text::Email;
use greenroom_domain::token::TokenHash;
use jiff::Timestamp;
use serde_json::json;
use sqlx::PgConnection;

use crate::error::parse_column;
use crate::system::sign_in::SignInTransaction;
use crate::{Command, Store, StoreError};

/// A link that is being used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsedLink {
    /// The organization and the admin who made the link; `None`: the operator.
    pub made_by: Option<(OrganizationId, UserId)>,
}

#[boxed_futures]
impl Command {
    /// Returns what decides whether the command's user may enroll a member; `None` if there is no such member.
    /// Locks the row of the person, so that a concurrent sign-in or a new membership is either seen or waits.
    pub async fn enrollment_of(&mut self, user: UserId) -> Result<Option<Enrollment>, StoreError> {
        let organization = self.organization();
        let is_requester = self.principal().user_id == user;
        let has_signed_in = sqlx::query_scalar!(
            r#"select u.signed_in_at is not null as "has_signed_in!" from users u
               where u.id = $2 and u.kind = 'person' and exists (select 1 from memberships m
                   where m.organization_id = $1 and m.user_id = u.id and m.removed_at is null)
               for no key update of u"#,
            organization,
            user.uuid(),
        )
        .fetch_optional(self.connection())
        .await?;
        let Some(has_signed_in) = has_signed_in else { return Ok(None) };
        // Statements of their own: they have to see what was committed while the first one waited for the lock.
        let Some(member) = self.member_for_update(user).await? else { return Ok(None) };
        let is_member_elsewhere = is_member_elsewhere(self.connection(), user, organization).await?;
        Ok(Some(Enrollment { role: member.role, is_requester, has_signed_in, is_member_elsewhere }))
    }

    /// Creates the link of a member, and voids the one that the member had. Returns when it expires.
    pub async fn create_sign_in_link(
        &mut self,
        user: UserId,
        secret: &TokenHash,
    ) -> Result<Timestamp, StoreError> {
        let maker = (self.organization(), self.principal().user_id.uuid());
        insert(self.connection(), user.uuid(), secret, Some(maker)).await
    }
}

#[boxed_futures]
impl Store {
    /// Creates a link for the person with this address, on behalf of the operator. Returns `None` if there is no
    /// such person.
    pub async fn create_sign_in_link_for(
        &self,
        email: &Email,
        secret: &TokenHash,
    ) -> Result<Option<(UserId, Timestamp)>, StoreError> {
        let mut transaction = self.pool().begin().await?;
        let user = sqlx::query_scalar!(
            "select id from users where email_key = lower($1) for no key update",
            email.as_str()
        )
        .fetch_optional(&mut *transaction)
        .await?;
        let Some(user) = user else { return Ok(None) };
        let expires_at = insert(&mut transaction, user, secret, None).await?;
        let event_type = EventType::MemberSignInLinkCreated;
        sqlx::query!(
            "insert into event_intake (organization_id, type, category, subject, data)
             select m.organization_id, $2, $3, 'members/usr_' || m.user_id, jsonb_build_object(
                 'actor', jsonb_build_object('id', null, 'name', 'operator', 'kind', 'operator', 'tokenId', null),
                 'context', jsonb_build_object(), 'before', null, 'after', $4::jsonb, 'reason', null)
             from memberships m where m.user_id = $1 and m.removed_at is null order by m.organization_id",
            user,
            event_type.as_str(),
            event_type.category().as_str(),
            json!({ "userId": UserId::from(user), "expiresAt": expires_at }),
        )
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(Some((user.into(), expires_at)))
    }

    /// Returns the person whose link has this secret, if it has not expired.
    pub async fn user_of_sign_in_link(&self, secret: &TokenHash) -> Result<Option<UserId>, StoreError> {
        let user = sqlx::query_scalar!(
            "select user_id from sign_in_links where secret_hash = $1 and expires_at > clock_timestamp()",
            secret.as_slice(),
        )
        .fetch_optional(&self.pool())
        .await?;
        Ok(user.map(UserId::from))
    }
}

#[boxed_futures]
impl SignInTransaction {
    /// Deletes the person's link, so that it is used once. Returns `None` if the person has no such link.
    pub async fn use_link(&mut self, secret: &TokenHash) -> Result<Option<UsedLink>, StoreError> {
        let user = self.user_id.uuid();
        let row = sqlx::query!(
            "delete from sign_in_links where user_id = $1 and secret_hash = $2 and expires_at > clock_timestamp()
             returning enrolls_in, made_by",
            user,
            secret.as_slice(),
        )
        .fetch_optional(self.connection())
        .await?;
        Ok(row.map(|row| {
            let made_by = row.enrolls_in.zip(row.made_by);
            UsedLink { made_by: made_by.map(|(organization, admin)| (organization.into(), admin.into())) }
        }))
    }

    /// Returns what decides whether an admin's link may enroll the person now; `None` if the person is not a
    /// member of the organization any more, or the admin may not manage members any more.
    pub async fn enrollment(
        &mut self,
        organization: OrganizationId,
        admin: UserId,
    ) -> Result<Option<Enrollment>, StoreError> {
        let user = self.user_id;
        let row = sqlx::query!(
            "select m.role, admin.role as admin_role from memberships m
             join memberships admin on admin.organization_id = $1 and admin.user_id = $3 and admin.removed_at is null
             where m.organization_id = $1 and m.user_id = $2 and m.removed_at is null",
            organization.uuid(),
            user.uuid(),
            admin.uuid(),
        )
        .fetch_optional(self.connection())
        .await?;
        let Some(row) = row else { return Ok(None) };
        let admin_role = parse_column("memberships.role", &row.admin_role)?;
        if !is_allowed(admin_role, Action::MemberManage) {
            return Ok(None);
        }
        let is_member_elsewhere = is_member_elsewhere(self.connection(), user, organization.uuid()).await?;
        Ok(Some(Enrollment {
            role: parse_column("memberships.role", &row.role)?,
            is_requester: user == admin,
            has_signed_in: self.has_signed_in,
            is_member_elsewhere,
        }))
    }

    /// Records the admin who has enrolled the person, and restricts the person's browser sessions to this organization.
    pub async fn enroll_in(&mut self, organization: OrganizationId, admin: UserId) -> Result<(), StoreError> {
        let user = self.user_id.uuid();
        sqlx::query!(
            "update users set enrolled_in = $2, enrolled_by = $3, enrolled_at = clock_timestamp() where id = $1",
            user,
            organization.uuid(),
            admin.uuid(),
        )
        .execute(self.connection())
        .await?;
        self.enrolled_in = Some(organization);
        Ok(())
    }

    /// Resets the account on behalf of the operator or after a provider has confirmed the person: what was set up
    /// before becomes invalid, and browser sessions reach every organization of the person.
    pub async fn reset(&mut self) -> Result<(), StoreError> {
        let user = self.user_id.uuid();
        self.delete_password().await?;
        self.end_sessions(None).await?;
        sqlx::query!("delete from sign_in_links where user_id = $1", user).execute(self.connection()).await?;
        sqlx::query!(
            "update users set enrolled_in = null, enrolled_by = null, enrolled_at = null where id = $1",
            user
        )
        .execute(self.connection())
        .await?;
        self.enrolled_in = None;
        Ok(())
    }
}

async fn is_member_elsewhere(
    connection: &mut PgConnection,
    user: UserId,
    organization: uuid::Uuid,
) -> Result<bool, StoreError> {
    Ok(sqlx::query_scalar!(
        r#"select exists (
               select 1 from memberships m
               where m.user_id = $1 and m.organization_id <> $2 and m.removed_at is null
           ) as "is_member_elsewhere!""#,
        user.uuid(),
        organization,
    )
    .fetch_one(connection)
    .await?)
}

/// `made_by` is the organization and the admin; `None`: the operator.
async fn insert(
    connection: &mut PgConnection,
    user: uuid::Uuid,
    secret: &TokenHash,
    made_by: Option<(uuid::Uuid, uuid::Uuid)>,
) -> Result<Timestamp, StoreError> {
    let (organization, admin) = made_by.unzip();
    let expires_at = sqlx::query_scalar!(
        "insert into sign_in_links (user_id, secret_hash, enrolls_in, made_by) values ($1, $2, $3, $4)
         on conflict (user_id) do update set secret_hash = excluded.secret_hash, enrolls_in = excluded.enrolls_in,
             made_by = excluded.made_by, created_at = excluded.created_at, expires_at = excluded.expires_at
         returning expires_at",
        user,
        secret.as_slice(),
        organization,
        admin,
    )
    .fetch_one(connection)
    .await?;
    Ok(expires_at.to_jiff())
}
