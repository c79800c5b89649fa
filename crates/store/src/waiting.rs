//! Waiting within a request: what has to be undone when the client disconnects.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::environment::LockCommand;
use greenroom_domain::id::{EnvironmentId, OrganizationId, SessionId};
use greenroom_domain::owner::Owner;

use crate::idempotency::KeyScope;
use crate::lock::NewSession;
use crate::transaction::OrgTransaction;
use crate::{Store, StoreError};

/// A queued session whose turn a request waits for, and the idempotency key under which the request has
/// stored a response so far.
#[derive(Clone, Debug)]
pub struct Waiter<'a> {
    pub organization_id: OrganizationId,
    pub environment_id: EnvironmentId,
    pub session_id: SessionId,
    pub owner: Owner,
    pub key: Option<KeyScope<'a>>,
}

#[boxed_futures]
impl Store {
    /// Removes the session of a disconnected client from the queue, or releases it if it was just granted.
    pub async fn abandon(&self, waiter: &Waiter<'_>) -> Result<(), StoreError> {
        let mut transaction = self.system_transaction(waiter.organization_id).await?;
        if let Some(mut locked) = transaction.lock_environment_by_id(waiter.environment_id).await? {
            let release = LockCommand::Release(waiter.session_id);
            let _never_refused = transaction.apply(&mut locked, release, &NewSession::default()).await?;
        }
        if let Some(key) = &waiter.key {
            transaction.delete_response(waiter.owner, key).await?;
        }
        transaction.commit().await
    }
}

#[boxed_futures]
impl OrgTransaction {
    /// Deletes the response that is stored under this key, so that the key counts as unused.
    pub async fn delete_response(&mut self, owner: Owner, scope: &KeyScope<'_>) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "delete from idempotency_keys
             where organization_id = $1 and user_id = $2 and method = $3 and path = $4 and key = $5",
            organization,
            owner.uuid(),
            scope.method,
            scope.path,
            scope.key,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }
}
