//! Waiting within a request: what has to be undone when whoever waited is gone.

use greenroom_domain::environment::Command;
use greenroom_domain::id::{EnvironmentId, OrganizationId, SessionId, UserId};

use crate::change::Change;
use crate::idempotency::KeyScope;
use crate::lock::NewSession;
use crate::{Store, StoreError};

/// A session that a request waits with, and the answer that it keeps so far.
#[derive(Clone, Debug)]
pub struct Waiter<'a> {
    pub organization_id: OrganizationId,
    pub environment_id: EnvironmentId,
    pub session_id: SessionId,
    pub user_id: UserId,
    pub key: Option<KeyScope<'a>>,
}

impl Store {
    /// Nobody waits any more: the session leaves the queue, or lets go of what it was just granted.
    pub async fn abandon(&self, waiter: &Waiter<'_>) -> Result<(), StoreError> {
        let mut change = self.change_by_clock(waiter.organization_id).await?;
        if let Some(mut locked) = change.lock_environment_by_id(waiter.environment_id).await? {
            let release = Command::Release(waiter.session_id);
            let _never_refused = change.apply(&mut locked, release, &NewSession::default()).await?;
        }
        if let Some(key) = &waiter.key {
            change.forget_answer(waiter.user_id, key).await?;
        }
        change.commit().await
    }
}

impl Change {
    /// As if nothing had been answered under this key.
    pub async fn forget_answer(&mut self, user: UserId, scope: &KeyScope<'_>) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "delete from idempotency_keys
             where organization_id = $1 and user_id = $2 and method = $3 and path = $4 and key = $5",
            organization,
            user.uuid(),
            scope.method,
            scope.path,
            scope.key,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }
}
