//! Operator commands outside of the API: creating an organization with its first owner, and a token for a
//! member.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{OrganizationId, TokenId, UserId};
use greenroom_domain::slug::Slug;
use greenroom_domain::text::{Email, Name};
use greenroom_domain::token::TokenSecret;
use greenroom_domain::token_grant::TokenGrant;
use jiff::Timestamp;
use serde_json::json;
use sqlx::PgConnection;

use crate::token_columns::{limit_ids, scope_names};
use crate::{Store, StoreError};

pub struct NewOrganization<'a> {
    pub id: OrganizationId,
    pub slug: &'a Slug,
    pub name: &'a Name,
    /// The id of the owner, if no user with this address exists yet.
    pub owner_id: UserId,
    pub owner_email: &'a Email,
    pub owner_name: &'a Name,
}

pub struct NewToken<'a> {
    pub id: TokenId,
    pub secret: &'a TokenSecret,
    pub name: &'a Name,
    pub grant: &'a TokenGrant,
}

#[boxed_futures]
impl Store {
    /// Creates an organization, its first owner and their first token. Fails with [`StoreError::Taken`] of
    /// `organizations_slug_key` if the slug is in use.
    pub async fn bootstrap(
        &self,
        organization: &NewOrganization<'_>,
        token: &NewToken<'_>,
    ) -> Result<UserId, StoreError> {
        let mut transaction = self.pool().begin().await?;
        void_setup_link(&mut transaction).await?;
        let user = insert_organization(&mut transaction, organization).await?;
        insert_token(&mut transaction, organization.id.uuid(), user.uuid(), token).await?;
        transaction.commit().await?;
        Ok(user)
    }

    /// Returns the organization with this slug, and the database's time.
    pub async fn organization_by_slug(
        &self,
        slug: &Slug,
    ) -> Result<Option<(OrganizationId, Timestamp)>, StoreError> {
        let row = sqlx::query!(
            r#"select o.id, clock_timestamp() as "now!" from organizations o where o.slug = $1"#,
            slug.as_str()
        )
        .fetch_optional(&self.pool())
        .await?;
        Ok(row.map(|row| (row.id.into(), row.now.to_jiff())))
    }

    /// Creates a token for a member. Returns `None` if there is no such organization, or it has no such
    /// member.
    pub async fn create_token_for(
        &self,
        organization: &Slug,
        email: &Email,
        token: &NewToken<'_>,
    ) -> Result<Option<UserId>, StoreError> {
        let mut transaction = self.pool().begin().await?;
        let member = sqlx::query!(
            "select m.organization_id, m.user_id from memberships m
             join organizations o on o.id = m.organization_id
             join users u on u.id = m.user_id
             where o.slug = $1 and u.email_key = lower($2) and m.removed_at is null",
            organization.as_str(),
            email.as_str(),
        )
        .fetch_optional(&mut *transaction)
        .await?;
        let Some(member) = member else { return Ok(None) };
        insert_token(&mut transaction, member.organization_id, member.user_id, token).await?;
        transaction.commit().await?;
        Ok(Some(member.user_id.into()))
    }
}

/// Voids the first owner's link, because an organization is being created.
async fn void_setup_link(connection: &mut PgConnection) -> Result<(), StoreError> {
    sqlx::query!("update installation set setup_secret_hash = null, setup_expires_at = null")
        .execute(connection)
        .await?;
    Ok(())
}

/// Creates an organization and its first owner, and records the event.
pub(super) async fn insert_organization(
    connection: &mut PgConnection,
    organization: &NewOrganization<'_>,
) -> Result<UserId, StoreError> {
    let id = organization.id.uuid();
    sqlx::query!(
        "insert into organizations (id, slug, name) values ($1, $2, $3)",
        id,
        organization.slug.as_str(),
        organization.name.as_str(),
    )
    .execute(&mut *connection)
    .await?;
    sqlx::query!("insert into organization_totals (organization_id) values ($1)", id)
        .execute(&mut *connection)
        .await?;
    sqlx::query!("insert into event_heads (organization_id) values ($1)", id)
        .execute(&mut *connection)
        .await?;
    let user_id = sqlx::query_scalar!(
        "insert into users (id, email) values ($1, $2)
         on conflict (email_key) do update set email = users.email returning id",
        organization.owner_id.uuid(),
        organization.owner_email.as_str(),
    )
    .fetch_one(&mut *connection)
    .await?;
    sqlx::query!(
        "insert into memberships (organization_id, user_id, email, name, role) values ($1, $2, $3, $4, 'owner')",
        id,
        user_id,
        organization.owner_email.as_str(),
        organization.owner_name.as_str(),
    )
    .execute(&mut *connection)
    .await?;
    let after = json!({ "slug": organization.slug, "name": organization.name.as_str(), "owner": UserId::from(user_id) });
    record_event(
        connection,
        id,
        "organization.created",
        &format!("organizations/{}", organization.id),
        after,
    )
    .await?;
    Ok(user_id.into())
}

async fn insert_token(
    connection: &mut PgConnection,
    organization: uuid::Uuid,
    user: uuid::Uuid,
    token: &NewToken<'_>,
) -> Result<(), StoreError> {
    let (hash, grant) = (token.secret.hash(), token.grant);
    sqlx::query!(
        "insert into api_tokens (organization_id, id, user_id, name, kind, allow_force, secret_hash, hint, expires_at,
                                 scopes, pipelines, max_sessions)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        organization,
        token.id.uuid(),
        user,
        token.name.as_str(),
        grant.kind.as_str(),
        grant.allow_force,
        hash.as_slice(),
        token.secret.hint(),
        grant.expires_at.map(jiff_sqlx::Timestamp::from) as Option<jiff_sqlx::Timestamp>,
        &scope_names(grant.scopes),
        limit_ids(&grant.pipelines) as Option<Vec<uuid::Uuid>>,
        grant.max_sessions.map(i32::from),
    )
    .execute(&mut *connection)
    .await?;
    let after = json!({
        "name": token.name.as_str(), "kind": grant.kind, "allowForce": grant.allow_force,
        "userId": UserId::from(user), "expiresAt": grant.expires_at, "scopes": grant.scopes,
        "pipelines": grant.pipelines.ids(), "maxSessions": grant.max_sessions,
    });
    record_event(connection, organization, "token.created", &format!("api-tokens/{}", token.id), after).await
}

/// Records an event of the operator, who has no token, so the event has no actor id.
async fn record_event(
    connection: &mut PgConnection,
    organization: uuid::Uuid,
    event_type: &str,
    subject: &str,
    after: serde_json::Value,
) -> Result<(), StoreError> {
    let data = json!({
        "actor": { "id": null, "name": "operator", "kind": "operator", "tokenId": null },
        "context": {}, "before": null, "after": after, "reason": null,
    });
    sqlx::query!(
        "insert into event_intake (organization_id, type, category, subject, data)
         values ($1, $2, 'audit', $3, $4)",
        organization,
        event_type,
        subject,
        data,
    )
    .execute(connection)
    .await?;
    Ok(())
}
