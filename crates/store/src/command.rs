//! A command: the transaction of a principal's request.

use std::ops::{Deref, DerefMut};

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::OrganizationId;
use greenroom_domain::principal::{Credential, Principal};

use crate::system::browser_session::principal_of_browser;
use crate::system::token::principal_of;
use crate::transaction::{Actor, OrgTransaction};
use crate::{Store, StoreError};

/// Rolls back when it is dropped without [`Command::commit`].
pub struct Command {
    transaction: OrgTransaction,
    principal: Principal,
}

#[boxed_futures]
impl Store {
    /// Opens a command for a token or browser session that was authenticated before. Returns `None` if it or
    /// its user's membership is no longer valid.
    pub async fn command(
        &self,
        organization_id: OrganizationId,
        credential: Credential,
        request_id: &str,
    ) -> Result<Option<Command>, StoreError> {
        let mut transaction = self.pool().begin().await?;
        let principal = match credential {
            Credential::Token(token) => principal_of(&mut transaction, organization_id, token).await?,
            Credential::Browser(session) => {
                principal_of_browser(&mut transaction, organization_id, session).await?
            }
        };
        let Some(principal) = principal else { return Ok(None) };
        let actor =
            Actor::Principal { principal: Box::new(principal.clone()), request_id: request_id.to_owned() };
        let transaction = OrgTransaction::new(transaction, organization_id, actor, self);
        Ok(Some(Command { transaction, principal }))
    }
}

#[boxed_futures]
impl Command {
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    pub async fn commit(self) -> Result<(), StoreError> {
        self.transaction.commit().await
    }
}

impl Deref for Command {
    type Target = OrgTransaction;

    fn deref(&self) -> &OrgTransaction {
        &self.transaction
    }
}

impl DerefMut for Command {
    fn deref_mut(&mut self) -> &mut OrgTransaction {
        &mut self.transaction
    }
}
