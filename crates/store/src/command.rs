//! A command: one transaction in which a principal changes something, and in which the change is told.

use greenroom_domain::event::NewEvent;
use greenroom_domain::id::{OrganizationId, TokenId};
use greenroom_domain::principal::Principal;
use jiff::Timestamp;
use serde_json::json;
use sqlx::{PgConnection, Postgres, Transaction};

use crate::system::token::principal_of;
use crate::{Store, StoreError};

/// Dropped without [`Command::commit`], it never happened.
pub struct Command {
    transaction: Transaction<'static, Postgres>,
    principal: Principal,
    request_id: String,
}

impl Store {
    /// Opens a command for a token that was good a moment ago; `None` if it, or its user's membership, is so no longer.
    pub async fn command(
        &self,
        organization_id: OrganizationId,
        token_id: TokenId,
        request_id: &str,
    ) -> Result<Option<Command>, StoreError> {
        let mut transaction = self.pool.begin().await?;
        let principal = principal_of(&mut transaction, organization_id, token_id).await?;
        Ok(principal.map(|principal| Command { transaction, principal, request_id: request_id.to_owned() }))
    }
}

impl Command {
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    pub(crate) fn organization(&self) -> uuid::Uuid {
        self.principal.organization_id.uuid()
    }

    pub(crate) fn connection(&mut self) -> &mut PgConnection {
        &mut self.transaction
    }

    /// The moment by the clock that decides: the database's.
    pub async fn now(&mut self) -> Result<Timestamp, StoreError> {
        let now =
            sqlx::query_scalar!(r#"select clock_timestamp() as "now!""#).fetch_one(self.connection()).await?;
        Ok(now.to_jiff())
    }

    /// Tells what has changed. It is seen if and only if the change is.
    pub async fn tell(&mut self, event: NewEvent) -> Result<(), StoreError> {
        let principal = &self.principal;
        let data = json!({
            "actor": {
                "id": principal.user_id,
                "name": principal.user_name,
                "kind": principal.token_kind,
                "tokenId": principal.token_id,
            },
            "context": { "requestId": self.request_id },
            "before": event.before,
            "after": event.after,
            "reason": event.reason,
        });
        sqlx::query!(
            "insert into event_intake (organization_id, type, category, subject, actor_id, data)
             values ($1, $2, $3, $4, $5, $6)",
            principal.organization_id.uuid(),
            event.event_type.as_str(),
            event.event_type.category().as_str(),
            event.subject,
            principal.user_id.uuid(),
            data,
        )
        .execute(&mut *self.transaction)
        .await?;
        Ok(())
    }

    pub async fn commit(self) -> Result<(), StoreError> {
        Ok(self.transaction.commit().await?)
    }
}
