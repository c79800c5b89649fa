//! Ends sessions in the background that a concurrent grant created while the sessions of a member, of a
//! pipeline, or of users without a right there were ended, and those that were too many for one transaction.
//!
//! A grant reads membership and pipeline without locking them, so that it stays one cheap statement.
//! Therefore a grant that waits for its environment misses a removal that commits in the meantime. Endings
//! are repeated for much longer than the deadline of any request.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::OrganizationId;

use crate::grant::holder_roles;
use crate::session_ending::{MAX_PER_TRANSACTION, SessionsOf};
use crate::transaction::OrgTransaction;
use crate::{Store, StoreError};

/// An ending of sessions that may have to be repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionEnding {
    pub organization_id: OrganizationId,
    id: uuid::Uuid,
    of: SessionsOf,
    reason: String,
    /// No grant that could have missed the ending is still running.
    is_old: bool,
}

#[boxed_futures]
impl Store {
    /// Returns up to `limit` endings, the oldest first.
    pub async fn session_endings(&self, limit: i64) -> Result<Vec<SessionEnding>, StoreError> {
        let rows = sqlx::query!(
            r#"select organization_id as "organization_id!", id as "id!", user_id, pipeline_id, reason as "reason!",
                      of_grants as "of_grants!", created_at < clock_timestamp() - interval '2 minutes' as "is_old!"
               from (
                   select organization_id, id, user_id, pipeline_id, reason, created_at, false as of_grants
                   from session_endings
                   union all
                   select organization_id, id, null, pipeline_id, reason, created_at, true from grant_endings
               ) endings
               order by created_at limit $1"#,
            limit,
        )
        .fetch_all(&self.pool())
        .await?;
        let endings = rows.into_iter().filter_map(|row| {
            let of = match (row.user_id, row.pipeline_id) {
                (Some(user), _) => SessionsOf::Member(user.into()),
                (None, Some(pipeline)) if row.of_grants => SessionsOf::WithoutRight(vec![pipeline.into()]),
                (None, Some(pipeline)) => SessionsOf::Pipeline(pipeline.into()),
                (None, None) => return None,
            };
            let organization_id = row.organization_id.into();
            Some(SessionEnding { organization_id, id: row.id, of, reason: row.reason, is_old: row.is_old })
        });
        Ok(endings.collect())
    }

    /// Ends the sessions that were created since. Returns their number. Idempotent, and safe to call
    /// concurrently from several daemons.
    pub async fn repeat_session_ending(&self, ending: &SessionEnding) -> Result<usize, StoreError> {
        let mut transaction = self.system_transaction(ending.organization_id).await?;
        let ended = if transaction.may_hold(&ending.of).await? {
            // The member was restored or promoted again, so their sessions are valid.
            transaction.delete_session_ending(ending).await?;
            0
        } else {
            let ended = transaction.end_live_sessions(&ending.of, &ending.reason).await?.len();
            if ending.is_old && (ended as i64) < MAX_PER_TRANSACTION {
                transaction.delete_session_ending(ending).await?;
            }
            ended
        };
        transaction.commit().await?;
        Ok(ended)
    }
}

impl OrgTransaction {
    async fn may_hold(&mut self, of: &SessionsOf) -> Result<bool, StoreError> {
        let SessionsOf::Member(user) = of else { return Ok(false) };
        let organization = self.organization();
        let may_hold = sqlx::query_scalar!(
            r#"select exists (select 1 from memberships
                   where organization_id = $1 and user_id = $2 and removed_at is null and role = any($3)) as "may!""#,
            organization,
            user.uuid(),
            &holder_roles(),
        )
        .fetch_one(self.connection())
        .await?;
        Ok(may_hold)
    }

    async fn delete_session_ending(&mut self, ending: &SessionEnding) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "delete from grant_endings where organization_id = $1 and id = $2",
            organization,
            ending.id
        )
        .execute(self.connection())
        .await?;
        sqlx::query!(
            "delete from session_endings where organization_id = $1 and id = $2",
            organization,
            ending.id
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }
}
