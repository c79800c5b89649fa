//! API tokens of one organization. The lookup of a request's token is in `system/token.rs`.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{OrganizationId, PipelineId, TokenId, UserId};
use greenroom_domain::owner::Owner;
use greenroom_domain::text::Name;
use greenroom_domain::token::{Token, TokenSecret};
use greenroom_domain::token_grant::{PipelineLimit, TokenGrant};

use crate::error::parse_column;
use crate::page::{MAX_COUNT, Page, PageResult, Total};
use crate::token_columns::{
    limit_ids, lineage, lineage_ids, max_sessions, pipeline_limit, scope_names, scopes,
};
use crate::{Command, Store, StoreError};

pub(crate) struct Row {
    pub(crate) id: uuid::Uuid,
    pub(crate) user_id: uuid::Uuid,
    pub(crate) user_name: String,
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) allow_force: bool,
    pub(crate) scopes: Vec<String>,
    pub(crate) pipelines: Option<Vec<uuid::Uuid>>,
    pub(crate) max_sessions: Option<i32>,
    pub(crate) lineage: Option<Vec<uuid::Uuid>>,
    pub(crate) hint: String,
    pub(crate) created_at: jiff_sqlx::Timestamp,
    pub(crate) expires_at: Option<jiff_sqlx::Timestamp>,
    pub(crate) last_used_at: Option<jiff_sqlx::Timestamp>,
    pub(crate) revoked_at: Option<jiff_sqlx::Timestamp>,
}

impl TryFrom<Row> for Token {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.id.into(),
            user_id: row.user_id.into(),
            user_name: row.user_name,
            name: row.name,
            kind: parse_column("api_tokens.kind", &row.kind)?,
            allow_force: row.allow_force,
            scopes: scopes(&row.scopes)?,
            pipelines: pipeline_limit(row.pipelines),
            max_sessions: max_sessions(row.max_sessions)?,
            lineage: lineage(row.lineage),
            hint: row.hint,
            created_at: row.created_at.to_jiff(),
            expires_at: row.expires_at.map(jiff_sqlx::Timestamp::to_jiff),
            last_used_at: row.last_used_at.map(jiff_sqlx::Timestamp::to_jiff),
            revoked_at: row.revoked_at.map(jiff_sqlx::Timestamp::to_jiff),
        })
    }
}

/// Whose tokens are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokensOf {
    Everyone,
    User(UserId),
    /// A person's; or, of a service account, a token and those that descend from it.
    Owner(Owner),
}

impl TokensOf {
    fn columns(self) -> (Option<uuid::Uuid>, Option<uuid::Uuid>) {
        match self {
            Self::Everyone => (None, None),
            Self::User(user) => (Some(user.uuid()), None),
            Self::Owner(owner) => (Some(owner.user.uuid()), owner.token.map(TokenId::uuid)),
        }
    }
}

/// Whom a new token is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewTokenOf<'a> {
    /// The caller. The token is a child of the caller's token, if the caller has one.
    Caller,
    /// A service account. The token has no parent, so that it stays when the admin who makes it leaves.
    ServiceAccount { id: UserId, name: &'a str },
}

#[boxed_futures]
impl Store {
    /// Returns the tokens of a user, of an owner or of all, including expired and revoked ones, newest first.
    pub async fn tokens(
        &self,
        organization: OrganizationId,
        of: TokensOf,
        page: Page,
    ) -> Result<PageResult<Token>, StoreError> {
        let (user, maker) = of.columns();
        let total = sqlx::query_scalar!(
            r#"select count(*) as "count!" from (
                   select 1 from api_tokens
                   where organization_id = $1 and ($2::uuid is null or user_id = $2)
                     and ($4::uuid is null or $4 = any(lineage)) limit $3
               ) counted"#,
            organization.uuid(),
            user,
            MAX_COUNT + 1,
            maker,
        )
        .fetch_one(&self.pool())
        .await?;
        let rows = sqlx::query_as!(
            Row,
            "select t.id, t.user_id, m.name as user_name, t.name, t.kind, t.allow_force, t.scopes, t.pipelines,
                    t.max_sessions, t.lineage, t.hint,
                    t.created_at, t.expires_at, t.last_used_at, t.revoked_at
             from api_tokens t
             join memberships m on m.organization_id = t.organization_id and m.user_id = t.user_id
             where t.organization_id = $1 and ($2::uuid is null or t.user_id = $2)
               and ($5::uuid is null or $5 = any(t.lineage))
             order by t.id desc limit $3 offset $4",
            organization.uuid(),
            user,
            page.limit,
            page.offset,
            maker,
        )
        .fetch_all(&self.pool())
        .await?;
        let rows = rows.into_iter().map(Token::try_from).collect::<Result<_, _>>()?;
        Ok(PageResult { rows, total: Total::counted(total) })
    }

    pub async fn token(
        &self,
        organization: OrganizationId,
        id: TokenId,
    ) -> Result<Option<Token>, StoreError> {
        let row = sqlx::query_as!(
            Row,
            "select t.id, t.user_id, m.name as user_name, t.name, t.kind, t.allow_force, t.scopes, t.pipelines,
                    t.max_sessions, t.lineage, t.hint,
                    t.created_at, t.expires_at, t.last_used_at, t.revoked_at
             from api_tokens t
             join memberships m on m.organization_id = t.organization_id and m.user_id = t.user_id
             where t.organization_id = $1 and t.id = $2",
            organization.uuid(),
            id.uuid(),
        )
        .fetch_optional(&self.pool())
        .await?;
        row.map(Token::try_from).transpose()
    }
}

#[boxed_futures]
impl Command {
    /// Returns one of the limit's pipelines that this organization does not have, if there is any.
    pub async fn unknown_pipeline(
        &mut self,
        limit: &PipelineLimit,
    ) -> Result<Option<PipelineId>, StoreError> {
        let Some(ids) = limit_ids(limit) else { return Ok(None) };
        let organization = self.organization();
        let unknown = sqlx::query_scalar!(
            r#"select named.id as "id!" from unnest($2::uuid[]) named (id)
               where not exists (select 1 from pipelines p where p.organization_id = $1 and p.id = named.id)
               limit 1"#,
            organization,
            &ids,
        )
        .fetch_optional(self.connection())
        .await?;
        Ok(unknown.map(PipelineId::from))
    }

    /// Returns the number of the caller's tokens that are valid. Takes an advisory lock, so that no concurrent transaction
    /// adds one.
    pub async fn lock_token_count(&mut self) -> Result<i64, StoreError> {
        let (organization, user) = (self.organization(), self.principal().user_id.uuid());
        sqlx::query!(
            "select pg_advisory_xact_lock(hashtextextended('tokens of ' || $1::uuid || ' ' || $2::uuid, 0))",
            organization,
            user,
        )
        .execute(self.connection())
        .await?;
        Ok(sqlx::query_scalar!(
            r#"select count(*) as "count!" from api_tokens
               where organization_id = $1 and user_id = $2 and revoked_at is null
                 and (expires_at is null or expires_at > clock_timestamp())"#,
            organization,
            user,
        )
        .fetch_one(self.connection())
        .await?)
    }

    /// Returns the valid token of the caller that was not used for the longest time.
    pub async fn longest_idle_token(&mut self) -> Result<Option<Token>, StoreError> {
        let (organization, user) = (self.organization(), self.principal().user_id.uuid());
        let row = sqlx::query_as!(
            Row,
            "select t.id, t.user_id, m.name as user_name, t.name, t.kind, t.allow_force, t.scopes, t.pipelines,
                    t.max_sessions, t.lineage, t.hint,
                    t.created_at, t.expires_at, t.last_used_at, t.revoked_at
             from api_tokens t
             join memberships m on m.organization_id = t.organization_id and m.user_id = t.user_id
             where t.organization_id = $1 and t.user_id = $2 and t.revoked_at is null
               and (t.expires_at is null or t.expires_at > clock_timestamp())
             order by coalesce(t.last_used_at, t.created_at), t.id limit 1",
            organization,
            user,
        )
        .fetch_optional(self.connection())
        .await?;
        row.map(Token::try_from).transpose()
    }

    /// Creates a token.
    pub async fn create_token(
        &mut self,
        id: TokenId,
        of: NewTokenOf<'_>,
        secret: &TokenSecret,
        name: &Name,
        grant: &TokenGrant,
    ) -> Result<Token, StoreError> {
        let principal = self.principal().clone();
        let (user, user_name, parent, lineage) = match of {
            NewTokenOf::Caller => (
                principal.user_id,
                principal.user_name.as_str(),
                principal.credential.token(),
                principal
                    .service_token
                    .is_some()
                    .then(|| [lineage_ids(&principal.lineage), vec![id.uuid()]].concat()),
            ),
            NewTokenOf::ServiceAccount { id: account, name } => (account, name, None, Some(vec![id.uuid()])),
        };
        let hash = secret.hash();
        let row = sqlx::query_as!(
            Row,
            r#"insert into api_tokens
                 (organization_id, id, user_id, name, kind, allow_force, secret_hash, hint, parent_id, expires_at,
                  scopes, pipelines, max_sessions, lineage)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $12, $13, $14, $15)
             returning id, user_id, $11 as "user_name!", name, kind, allow_force, scopes, pipelines, max_sessions,
                       lineage, hint, created_at, expires_at, last_used_at, revoked_at"#,
            principal.organization_id.uuid(),
            id.uuid(),
            user.uuid(),
            name.as_str(),
            grant.kind.as_str(),
            grant.allow_force,
            hash.as_slice(),
            secret.hint(),
            parent.map(TokenId::uuid),
            grant.expires_at.map(jiff_sqlx::Timestamp::from) as Option<jiff_sqlx::Timestamp>,
            user_name,
            &scope_names(grant.scopes),
            limit_ids(&grant.pipelines) as Option<Vec<uuid::Uuid>>,
            grant.max_sessions.map(i32::from),
            lineage as Option<Vec<uuid::Uuid>>,
        )
        .fetch_one(self.connection())
        .await?;
        row.try_into()
    }

    pub async fn token_for_update(&mut self, id: TokenId) -> Result<Option<Token>, StoreError> {
        let organization = self.organization();
        let row = sqlx::query_as!(
            Row,
            "select t.id, t.user_id, m.name as user_name, t.name, t.kind, t.allow_force, t.scopes, t.pipelines,
                    t.max_sessions, t.lineage, t.hint,
                    t.created_at, t.expires_at, t.last_used_at, t.revoked_at
             from api_tokens t
             join memberships m on m.organization_id = t.organization_id and m.user_id = t.user_id
             where t.organization_id = $1 and t.id = $2 for update of t",
            organization,
            id.uuid(),
        )
        .fetch_optional(self.connection())
        .await?;
        row.map(Token::try_from).transpose()
    }

    /// Revokes a token and all of its descendants. Returns the tokens that were revoked.
    pub async fn revoke_token(&mut self, id: TokenId) -> Result<Vec<TokenId>, StoreError> {
        let organization = self.organization();
        let revoked = sqlx::query_scalar!(
            "with recursive family as (
                 select id from api_tokens where organization_id = $1 and id = $2
                 union
                 select t.id from api_tokens t join family f on t.parent_id = f.id where t.organization_id = $1
             )
             update api_tokens set revoked_at = clock_timestamp()
             where organization_id = $1 and id in (select id from family) and revoked_at is null
             returning id",
            organization,
            id.uuid(),
        )
        .fetch_all(self.connection())
        .await?;
        Ok(revoked.into_iter().map(TokenId::from).collect())
    }
}
