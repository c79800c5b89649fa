//! Responses stored under an Idempotency-Key, in the transaction of the command that they belong to.

use std::time::Duration;

use greenroom_boxed_futures::boxed_futures;

use crate::token_columns::lineage_ids;
use crate::{Command, StoreError};

const MAX_ATTEMPTS: u32 = 5;
const RETRY_DELAY: Duration = Duration::from_millis(50);

/// A key is unique per owner (a person, or a token of a service account), method and path. A token of a service account
/// finds the responses of those from which it descends as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyScope<'a> {
    pub method: &'a str,
    pub path: &'a str,
    pub key: &'a str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredResponse {
    pub fingerprint: Vec<u8>,
    pub status: i16,
    pub body: String,
    pub etag: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyClaim {
    /// The key is unused: the command continues and stores its response.
    New,
    Completed(StoredResponse),
    /// Another request with this key is still running.
    Running,
}

#[boxed_futures]
impl Command {
    pub async fn claim_key(&mut self, scope: &KeyScope<'_>) -> Result<KeyClaim, StoreError> {
        let (organization, owner) = (self.organization(), self.principal().owner().uuid());
        let lineage = lineage_ids(&self.principal().lineage);
        let owners = if lineage.is_empty() { vec![owner] } else { lineage };
        // Tokens with a common ancestor share the lock, so that a request of a token and the same one of its descendant
        // are serialized.
        let lock = format!("{organization}\n{}\n{}\n{}\n{}", owners[0], scope.method, scope.path, scope.key);
        // The advisory lock of the key is held until the transaction ends, so a concurrent request with this
        // key does not get it and returns `Running`. Retry a few times, because a request that was rejected,
        // or that only replayed its response, may release the lock slightly after responding.
        let mut attempts = 0;
        while !self.try_lock(&lock).await? {
            attempts += 1;
            if attempts == MAX_ATTEMPTS {
                return Ok(KeyClaim::Running);
            }
            tokio::time::sleep(RETRY_DELAY).await;
        }
        let stored = sqlx::query_as!(
            StoredResponse,
            "select fingerprint, status, body, etag from idempotency_keys
             where organization_id = $1 and user_id = any($2) and method = $3 and path = $4 and key = $5
               and created_at > clock_timestamp() - interval '24 hours'
             order by array_position($2, user_id) desc limit 1",
            organization,
            &owners,
            scope.method,
            scope.path,
            scope.key,
        )
        .fetch_optional(self.connection())
        .await?;
        Ok(stored.map_or(KeyClaim::New, KeyClaim::Completed))
    }

    async fn try_lock(&mut self, name: &str) -> Result<bool, StoreError> {
        Ok(sqlx::query_scalar!(
            r#"select pg_try_advisory_xact_lock(hashtextextended($1, 0)) as "free!""#,
            name
        )
        .fetch_one(self.connection())
        .await?)
    }

    pub async fn store_response(
        &mut self,
        scope: &KeyScope<'_>,
        response: &StoredResponse,
    ) -> Result<(), StoreError> {
        let (organization, owner) = (self.organization(), self.principal().owner().uuid());
        sqlx::query!(
            "insert into idempotency_keys
                 (organization_id, user_id, method, path, key, fingerprint, status, body, etag)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
             on conflict (organization_id, user_id, method, path, key) do update
                 set fingerprint = excluded.fingerprint, status = excluded.status, body = excluded.body,
                     etag = excluded.etag, created_at = clock_timestamp()",
            organization,
            owner,
            scope.method,
            scope.path,
            scope.key,
            response.fingerprint,
            response.status,
            response.body,
            response.etag,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }
}
