//! A command: a change that a principal asks for.

use std::ops::{Deref, DerefMut};

use greenroom_domain::id::{OrganizationId, TokenId};
use greenroom_domain::principal::Principal;

use crate::change::{Actor, Change};
use crate::system::token::principal_of;
use crate::{Store, StoreError};

/// Dropped without [`Command::commit`], it never happened.
pub struct Command {
    change: Change,
    principal: Principal,
}

impl Store {
    /// Opens a command for a token that was good a moment ago; `None` if it, or its user's membership, is so no longer.
    pub async fn command(
        &self,
        organization_id: OrganizationId,
        token_id: TokenId,
        request_id: &str,
    ) -> Result<Option<Command>, StoreError> {
        let mut transaction = self.pool().begin().await?;
        let Some(principal) = principal_of(&mut transaction, organization_id, token_id).await? else {
            return Ok(None);
        };
        let actor =
            Actor::Principal { principal: Box::new(principal.clone()), request_id: request_id.to_owned() };
        Ok(Some(Command { change: Change::new(transaction, organization_id, actor, self), principal }))
    }
}

impl Command {
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    pub async fn commit(self) -> Result<(), StoreError> {
        self.change.commit().await
    }
}

impl Deref for Command {
    type Target = Change;

    fn deref(&self) -> &Change {
        &self.change
    }
}

impl DerefMut for Command {
    fn deref_mut(&mut self) -> &mut Change {
        &mut self.change
    }
}
