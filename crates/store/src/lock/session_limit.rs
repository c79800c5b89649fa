//! The number of sessions that a token may hold. A session counts for the token that it was claimed with, and for each
//! token that this one was made by. Waiting sessions do not count.

use std::collections::HashSet;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{EnvironmentId, TokenId};

use crate::transaction::OrgTransaction;
use crate::{Command, StoreError};

#[boxed_futures]
impl Command {
    /// Returns whether the caller's token, or one that it was made by, holds as many sessions as it may in environments
    /// other than this one. Call this after the environment's row is locked.
    pub async fn is_at_session_limit(&mut self, environment: EnvironmentId) -> Result<bool, StoreError> {
        let principal = self.principal();
        let (Some(token), Some(_)) = (principal.credential.token(), principal.max_sessions) else {
            return Ok(false);
        };
        Ok(!self.tokens_at_session_limit(environment, &[token.uuid()]).await?.is_empty())
    }
}

impl OrgTransaction {
    /// Returns those of these tokens that may not hold this environment besides the sessions that they hold in others.
    ///
    /// Takes the organization's advisory lock of session limits, so that no concurrent transaction grants a session to a
    /// limited token. It is one lock, and comes after the rows of all environments, so that the order of the locks is
    /// the same everywhere.
    pub(super) async fn tokens_at_session_limit(
        &mut self,
        environment: EnvironmentId,
        tokens: &[uuid::Uuid],
    ) -> Result<HashSet<TokenId>, StoreError> {
        if tokens.is_empty() {
            return Ok(HashSet::new());
        }
        let organization = self.organization();
        sqlx::query!(
            "select pg_advisory_xact_lock(hashtextextended('session limits ' || $1::uuid, 0))",
            organization
        )
        .execute(self.connection())
        .await?;
        // A token that was made by a limited one is limited too, so the ancestors that count are those before the first
        // one without a limit. A session in this environment would end with the grant, so it does not count.
        let at_limit = sqlx::query_scalar!(
            r#"with recursive limits as (
                   select t.id as token_id, t.id, t.parent_id, t.user_id, t.max_sessions
                   from api_tokens t
                   where t.organization_id = $1 and t.id = any($2) and t.max_sessions is not null
                   union all
                   select l.token_id, p.id, p.parent_id, p.user_id, p.max_sessions
                   from limits l
                   join api_tokens p on p.organization_id = $1 and p.id = l.parent_id and p.max_sessions is not null
               ),
               held as (
                   select s.id as session_id, t.id, t.parent_id
                   from environments e
                   join sessions s on s.organization_id = $1 and s.id = e.session_id
                   join api_tokens t on t.organization_id = $1 and t.id = s.token_id and t.max_sessions is not null
                   where e.organization_id = $1 and e.id <> $3 and e.session_id is not null
                     and e.expires_at > clock_timestamp() and e.holder_id in (select l.user_id from limits l)
                   union all
                   select h.session_id, p.id, p.parent_id
                   from held h
                   join api_tokens p on p.organization_id = $1 and p.id = h.parent_id and p.max_sessions is not null
               )
               select distinct l.token_id as "token_id!" from limits l
               where l.max_sessions <= (select count(*) from held h where h.id = l.id)"#,
            organization,
            tokens,
            environment.uuid(),
        )
        .fetch_all(self.connection())
        .await?;
        Ok(at_limit.into_iter().map(TokenId::from).collect())
    }
}
