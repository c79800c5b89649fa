//! Sessions that a concurrent grant made while the sessions of a member or of a pipeline were ended, and those that were too
//! many for one transaction: found and ended in the background.
//!
//! A grant reads membership and pipeline without locking them, so that it stays one cheap statement. A removal that commits
//! while a grant waits for its environment is therefore not seen by the grant. Requests have deadlines far shorter than
//! the time for which this looks again.

use greenroom_domain::id::OrganizationId;
use greenroom_domain::policy::{Action, allowed};
use greenroom_domain::role::Role;

use crate::change::Change;
use crate::session_ending::{MAX_PER_TRANSACTION, SessionsOf};
use crate::{Store, StoreError};

/// What was ended, and may have to be looked at again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionEnding {
    pub organization_id: OrganizationId,
    id: uuid::Uuid,
    of: SessionsOf,
    reason: String,
    /// No grant that could have missed it runs any more.
    is_old: bool,
}

impl Store {
    /// The oldest first.
    pub async fn session_endings(&self, at_most: i64) -> Result<Vec<SessionEnding>, StoreError> {
        let rows = sqlx::query!(
            r#"select organization_id, id, user_id, pipeline_id, reason,
                      created_at < clock_timestamp() - interval '2 minutes' as "is_old!"
               from session_endings order by created_at limit $1"#,
            at_most,
        )
        .fetch_all(&self.pool())
        .await?;
        let endings = rows.into_iter().filter_map(|row| {
            let of = match (row.user_id, row.pipeline_id) {
                (Some(user), _) => SessionsOf::Member(user.into()),
                (None, Some(pipeline)) => SessionsOf::Pipeline(pipeline.into()),
                (None, None) => return None,
            };
            let organization_id = row.organization_id.into();
            Some(SessionEnding { organization_id, id: row.id, of, reason: row.reason, is_old: row.is_old })
        });
        Ok(endings.collect())
    }

    /// Ends what has come since; returns how many. Safe to do at any time, from any number of daemons.
    pub async fn follow_session_ending(&self, ending: &SessionEnding) -> Result<usize, StoreError> {
        let mut change = self.change_by_clock(ending.organization_id).await?;
        let ended = if change.may_hold(ending.of).await? {
            // The member came back, or was promoted again: their sessions are good.
            change.forget_session_ending(ending).await?;
            0
        } else {
            let ended = change.end_live_sessions(ending.of, &ending.reason).await?.len();
            if ending.is_old && (ended as i64) < MAX_PER_TRANSACTION {
                change.forget_session_ending(ending).await?;
            }
            ended
        };
        change.commit().await?;
        Ok(ended)
    }
}

impl Change {
    async fn may_hold(&mut self, of: SessionsOf) -> Result<bool, StoreError> {
        let SessionsOf::Member(user) = of else { return Ok(false) };
        let may = |role: &Role| allowed(*role, Action::SessionHold);
        let roles: Vec<String> =
            Role::ALL.into_iter().filter(may).map(|role| role.as_str().to_owned()).collect();
        let organization = self.organization();
        let held = sqlx::query_scalar!(
            r#"select exists (select 1 from memberships
                   where organization_id = $1 and user_id = $2 and removed_at is null and role = any($3)) as "may!""#,
            organization,
            user.uuid(),
            &roles,
        )
        .fetch_one(self.connection())
        .await?;
        Ok(held)
    }

    async fn forget_session_ending(&mut self, ending: &SessionEnding) -> Result<(), StoreError> {
        let organization = self.organization();
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
