//! Browser sessions. They belong to a person and reach all organizations of that person, so these queries have
//! no organization, except the check in a command's transaction.

use std::collections::HashMap;
use std::sync::Arc;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::browser_session::{BrowserPrincipal, BrowserSession};
use greenroom_domain::id::{BrowserSessionId, OrganizationId, UserId};
use greenroom_domain::principal::{Credential, Principal};
use greenroom_domain::role::Role;
use greenroom_domain::scope::Scopes;
use greenroom_domain::token::{TokenHash, TokenKind};
use greenroom_domain::token_grant::PipelineLimit;
use sqlx::PgConnection;

use crate::error::parse_column;
use crate::{Store, StoreError};

struct MemberRow {
    organization_id: uuid::Uuid,
    organization_slug: String,
    user_name: String,
    role: String,
}

impl MemberRow {
    /// Returns the principal of a browser session in one organization.
    fn principal(self, session: BrowserSessionId, user: UserId) -> Result<Principal, StoreError> {
        Ok(Principal {
            organization_id: self.organization_id.into(),
            organization_slug: self.organization_slug,
            user_id: user,
            user_name: self.user_name,
            role: parse_column("memberships.role", &self.role)?,
            credential: Credential::Browser(session),
            token_kind: TokenKind::User,
            token_allow_force: true,
            token_expires_at: None,
            scopes: Scopes::ALL,
            pipelines: PipelineLimit::All,
            max_sessions: None,
            service_token: None,
            lineage: Vec::new(),
        })
    }
}

#[boxed_futures]
impl Store {
    /// Returns the principal of a browser session that is neither ended, expired nor idle for too long.
    pub async fn authenticate_browser(
        &self,
        hash: &TokenHash,
    ) -> Result<Option<BrowserPrincipal>, StoreError> {
        let session = sqlx::query!(
            r#"select b.id as "id!", u.id as user_id, u.email as "email!", u.enrolled_in
               from live_browser_sessions b join users u on u.id = b.user_id where b.secret_hash = $1"#,
            hash.as_slice(),
        )
        .fetch_optional(&self.pool())
        .await?;
        let Some(session) = session else { return Ok(None) };
        let rows = sqlx::query_as!(
            MemberRow,
            "select m.organization_id, o.slug as organization_slug, m.name as user_name, m.role from memberships m
             join organizations o on o.id = m.organization_id
             where m.user_id = $1 and m.removed_at is null and ($2::uuid is null or m.organization_id = $2)
             order by o.slug",
            session.user_id,
            session.enrolled_in,
        )
        .fetch_all(&self.pool())
        .await?;
        let (session_id, user_id) = (session.id.into(), session.user_id.into());
        let memberships = rows.into_iter().map(|row| row.principal(session_id, user_id).map(Arc::new));
        let memberships = memberships.collect::<Result<_, _>>()?;
        Ok(Some(BrowserPrincipal { session_id, user_id, email: session.email, memberships }))
    }

    /// Returns those of these browser sessions that are still valid in the given organizations, with the
    /// current roles of their users there.
    pub async fn browser_roles(
        &self,
        sessions: &[(BrowserSessionId, OrganizationId)],
    ) -> Result<HashMap<(BrowserSessionId, OrganizationId), Role>, StoreError> {
        let (ids, organizations): (Vec<uuid::Uuid>, Vec<uuid::Uuid>) =
            sessions.iter().map(|(session, organization)| (session.uuid(), organization.uuid())).unzip();
        let rows = sqlx::query!(
            r#"select b.id as "id!", m.organization_id, m.role
               from unnest($1::uuid[], $2::uuid[]) as watched (session_id, organization_id)
               join live_browser_sessions b on b.id = watched.session_id
               join users u on u.id = b.user_id
               join memberships m on m.organization_id = watched.organization_id and m.user_id = u.id
                   and m.removed_at is null and (u.enrolled_in is null or u.enrolled_in = m.organization_id)"#,
            &ids,
            &organizations,
        )
        .fetch_all(&self.pool())
        .await?;
        rows.into_iter()
            .map(|row| {
                let role = parse_column("memberships.role", &row.role)?;
                Ok(((row.id.into(), row.organization_id.into()), role))
            })
            .collect()
    }

    /// Records that browser sessions were used just now, with a precision of a minute.
    pub async fn record_browser_use(&self, sessions: &[BrowserSessionId]) -> Result<(), StoreError> {
        let ids: Vec<uuid::Uuid> = sessions.iter().map(|session| session.uuid()).collect();
        sqlx::query!(
            "update browser_sessions set last_used_at = clock_timestamp()
             where id = any($1) and ended_at is null and last_used_at < clock_timestamp() - interval '1 minute'",
            &ids,
        )
        .execute(&self.pool())
        .await?;
        Ok(())
    }

    /// Returns the valid browser sessions of a user, newest first.
    pub async fn browser_sessions(&self, user: UserId) -> Result<Vec<BrowserSession>, StoreError> {
        let rows = sqlx::query!(
            r#"select id as "id!", method as "method!", user_agent as "user_agent!", created_at as "created_at!",
                      last_used_at as "last_used_at!", expires_at as "expires_at!"
               from live_browser_sessions where user_id = $1 order by created_at desc, id desc"#,
            user.uuid(),
        )
        .fetch_all(&self.pool())
        .await?;
        rows.into_iter()
            .map(|row| {
                Ok(BrowserSession {
                    id: row.id.into(),
                    method: parse_column("browser_sessions.method", &row.method)?,
                    user_agent: row.user_agent,
                    created_at: row.created_at.to_jiff(),
                    last_used_at: row.last_used_at.to_jiff(),
                    expires_at: row.expires_at.to_jiff(),
                })
            })
            .collect()
    }

    /// Deletes up to `limit` browser sessions that expired more than a day ago, and all expired sign-in links.
    /// Returns the number of sessions.
    pub async fn delete_expired_browser_sessions(&self, limit: i64) -> Result<u64, StoreError> {
        sqlx::query!("delete from sign_in_links where expires_at < clock_timestamp()")
            .execute(&self.pool())
            .await?;
        let deleted = sqlx::query!(
            "delete from browser_sessions where id = any(array(
                 select id from browser_sessions where expires_at < clock_timestamp() - interval '1 day' limit $1
             ))",
            limit,
        )
        .execute(&self.pool())
        .await?;
        Ok(deleted.rows_affected())
    }
}

/// Like [`Store::authenticate_browser`], by the session's id and for one organization, in a command's
/// transaction.
pub(crate) async fn principal_of_browser(
    connection: &mut PgConnection,
    organization_id: OrganizationId,
    session_id: BrowserSessionId,
) -> Result<Option<Principal>, StoreError> {
    let row = sqlx::query!(
        r#"select m.organization_id, o.slug as organization_slug, m.user_id, m.name as user_name, m.role
           from memberships m
           join organizations o on o.id = m.organization_id
           join users u on u.id = m.user_id and (u.enrolled_in is null or u.enrolled_in is not distinct from m.organization_id)
           join live_browser_sessions b on b.user_id = u.id
           where m.organization_id = $1 and b.id = $2 and m.removed_at is null"#,
        organization_id.uuid(),
        session_id.uuid(),
    )
    .fetch_optional(connection)
    .await?;
    row.map(|row| {
        let member = MemberRow {
            organization_id: row.organization_id,
            organization_slug: row.organization_slug,
            user_name: row.user_name,
            role: row.role,
        };
        member.principal(session_id, row.user_id.into())
    })
    .transpose()
}
