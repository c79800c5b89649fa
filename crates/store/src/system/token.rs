//! Authentication of users: from a token's hash to its principal.

use std::collections::HashMap;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{OrganizationId, TokenId};
use greenroom_domain::principal::{Credential, Principal};
use greenroom_domain::role::Role;
use greenroom_domain::token::TokenHash;
use sqlx::PgConnection;

use crate::error::parse_column;
use crate::token_columns::{lineage, max_sessions, pipeline_limit, scopes, service_token};
use crate::{Store, StoreError};

struct Row {
    organization_id: uuid::Uuid,
    organization_slug: String,
    user_id: uuid::Uuid,
    user_name: String,
    role: String,
    token_id: uuid::Uuid,
    token_kind: String,
    token_allow_force: bool,
    token_expires_at: Option<jiff_sqlx::Timestamp>,
    scopes: Vec<String>,
    pipelines: Option<Vec<uuid::Uuid>>,
    max_sessions: Option<i32>,
    lineage: Option<Vec<uuid::Uuid>>,
    token_name: String,
}

impl TryFrom<Row> for Principal {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        Ok(Self {
            organization_id: row.organization_id.into(),
            organization_slug: row.organization_slug,
            user_id: row.user_id.into(),
            user_name: row.user_name,
            role: parse_column("memberships.role", &row.role)?,
            credential: Credential::Token(row.token_id.into()),
            token_kind: parse_column("api_tokens.kind", &row.token_kind)?,
            token_allow_force: row.token_allow_force,
            token_expires_at: row.token_expires_at.map(jiff_sqlx::Timestamp::to_jiff),
            scopes: scopes(&row.scopes)?,
            pipelines: pipeline_limit(row.pipelines),
            max_sessions: max_sessions(row.max_sessions)?,
            service_token: service_token(row.lineage.is_some().then_some(row.token_id), Some(row.token_name)),
            lineage: lineage(row.lineage),
        })
    }
}

#[boxed_futures]
impl Store {
    /// Returns the principal of a token that is neither expired nor revoked, and whose user is still a
    /// member.
    pub async fn authenticate(&self, hash: &TokenHash) -> Result<Option<Principal>, StoreError> {
        let row = sqlx::query_as!(
            Row,
            "select t.organization_id, o.slug as organization_slug, t.user_id, m.name as user_name, m.role,
                    t.id as token_id, t.kind as token_kind, t.allow_force as token_allow_force,
                    t.expires_at as token_expires_at, t.scopes, t.pipelines, t.max_sessions, t.lineage,
                    t.name as token_name
             from api_tokens t
             join organizations o on o.id = t.organization_id
             join memberships m on m.organization_id = t.organization_id and m.user_id = t.user_id
             where t.secret_hash = $1 and t.revoked_at is null and m.removed_at is null
               and (t.expires_at is null or t.expires_at > clock_timestamp())",
            hash.as_slice(),
        )
        .fetch_optional(&self.pool())
        .await?;
        row.map(Principal::try_from).transpose()
    }

    /// Returns those of these tokens that are still valid, with their current roles.
    pub async fn token_roles(&self, tokens: &[TokenId]) -> Result<HashMap<TokenId, Role>, StoreError> {
        let ids: Vec<uuid::Uuid> = tokens.iter().map(|token| token.uuid()).collect();
        let rows = sqlx::query!(
            "select t.id, m.role from api_tokens t
             join memberships m on m.organization_id = t.organization_id and m.user_id = t.user_id
             where t.id = any($1) and t.revoked_at is null and m.removed_at is null
               and (t.expires_at is null or t.expires_at > clock_timestamp())",
            &ids,
        )
        .fetch_all(&self.pool())
        .await?;
        rows.into_iter()
            .map(|row| Ok((row.id.into(), parse_column("memberships.role", &row.role)?)))
            .collect()
    }

    /// Records that tokens were used just now, with a precision of a minute, so most calls change nothing.
    pub async fn record_token_use(&self, tokens: &[TokenId]) -> Result<(), StoreError> {
        let ids: Vec<uuid::Uuid> = tokens.iter().map(|token| token.uuid()).collect();
        sqlx::query!(
            "update api_tokens set last_used_at = clock_timestamp()
             where id = any($1) and (last_used_at is null or last_used_at < clock_timestamp() - interval '1 minute')",
            &ids,
        )
        .execute(&self.pool())
        .await?;
        Ok(())
    }
}

/// Like [`Store::authenticate`], by the token's id, in a command's transaction.
pub(crate) async fn principal_of(
    connection: &mut PgConnection,
    organization_id: OrganizationId,
    token_id: TokenId,
) -> Result<Option<Principal>, StoreError> {
    let row = sqlx::query_as!(
        Row,
        "select t.organization_id, o.slug as organization_slug, t.user_id, m.name as user_name, m.role,
                t.id as token_id, t.kind as token_kind, t.allow_force as token_allow_force,
                t.expires_at as token_expires_at, t.scopes, t.pipelines, t.max_sessions, t.lineage,
                    t.name as token_name
         from api_tokens t
         join organizations o on o.id = t.organization_id
         join memberships m on m.organization_id = t.organization_id and m.user_id = t.user_id
         where t.organization_id = $1 and t.id = $2 and t.revoked_at is null and m.removed_at is null
           and (t.expires_at is null or t.expires_at > clock_timestamp())",
        organization_id.uuid(),
        token_id.uuid(),
    )
    .fetch_optional(connection)
    .await?;
    row.map(Principal::try_from).transpose()
}
