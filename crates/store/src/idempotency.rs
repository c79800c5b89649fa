//! Answers kept under an Idempotency-Key, in the transaction of the command that they answer.

use std::time::Duration;

use crate::planted::{self, Bug};
use crate::{Command, StoreError};

const TRIES: u32 = 5;
const BETWEEN_TRIES: Duration = Duration::from_millis(50);

/// Whose key it is: one user's, for one method and path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyScope<'a> {
    pub method: &'a str,
    pub path: &'a str,
    pub key: &'a str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptAnswer {
    pub fingerprint: Vec<u8>,
    pub status: i16,
    pub body: String,
    pub etag: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claimed {
    /// Nobody has used the key: the command goes on, and keeps its answer.
    New,
    Answered(KeptAnswer),
    /// Another request with this key is still running.
    Running,
}

impl Command {
    pub async fn claim_key(&mut self, scope: &KeyScope<'_>) -> Result<Claimed, StoreError> {
        let (organization, user) = (self.organization(), self.principal().user_id.uuid());
        let lock = format!("{organization}\n{user}\n{}\n{}\n{}", scope.method, scope.path, scope.key);
        // Held until the transaction ends: who comes second learns that the first is running. A moment's patience, because
        // a request that was refused, or only read its answer, may be a little longer in letting go than in answering.
        let mut tries = 0;
        while !self.try_lock(&lock).await? {
            tries += 1;
            if tries == TRIES {
                return Ok(Claimed::Running);
            }
            tokio::time::sleep(BETWEEN_TRIES).await;
        }
        let kept = sqlx::query_as!(
            KeptAnswer,
            "select fingerprint, status, body, etag from idempotency_keys
             where organization_id = $1 and user_id = $2 and method = $3 and path = $4 and key = $5
               and created_at > clock_timestamp() - interval '24 hours'",
            organization,
            user,
            scope.method,
            scope.path,
            scope.key,
        )
        .fetch_optional(self.connection())
        .await?;
        Ok(kept.map_or(Claimed::New, Claimed::Answered))
    }

    async fn try_lock(&mut self, name: &str) -> Result<bool, StoreError> {
        Ok(sqlx::query_scalar!(
            r#"select pg_try_advisory_xact_lock(hashtextextended($1, 0)) as "free!""#,
            name
        )
        .fetch_one(self.connection())
        .await?)
    }

    pub async fn keep_answer(&mut self, scope: &KeyScope<'_>, answer: &KeptAnswer) -> Result<(), StoreError> {
        if planted::is(Bug::KeyForgotten) {
            return Ok(());
        }
        let (organization, user) = (self.organization(), self.principal().user_id.uuid());
        sqlx::query!(
            "insert into idempotency_keys
                 (organization_id, user_id, method, path, key, fingerprint, status, body, etag)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
             on conflict (organization_id, user_id, method, path, key) do update
                 set fingerprint = excluded.fingerprint, status = excluded.status, body = excluded.body,
                     etag = excluded.etag, created_at = clock_timestamp()",
            organization,
            user,
            scope.method,
            scope.path,
            scope.key,
            answer.fingerprint,
            answer.status,
            answer.body,
            answer.etag,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }
}
