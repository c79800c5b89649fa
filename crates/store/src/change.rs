//! A change to one organization: a transaction that knows who makes it, and tells what it changed.

use std::collections::BTreeSet;
use std::sync::Arc;

use greenroom_domain::event::NewEvent;
use greenroom_domain::id::{OrganizationId, PipelineId, RunnerId};
use greenroom_domain::principal::Principal;
use jiff::Timestamp;
use serde_json::{Value, json};
use sqlx::{PgConnection, PgPool, Postgres, Transaction};

use crate::definitions::Definitions;
use crate::planted::{self, Bug};
use crate::{Store, StoreError};

/// Dropped without [`Change::commit`], it never happened.
pub struct Change {
    transaction: Transaction<'static, Postgres>,
    organization_id: OrganizationId,
    actor: Actor,
    /// It wakes somebody's workflow.
    wakes: bool,
    /// Pipelines in which one more deployment may begin, once this is committed.
    pub(crate) made_room: BTreeSet<PipelineId>,
    /// Where events are written if that bug was planted.
    beside: Option<PgPool>,
    definitions: Arc<Definitions>,
}

/// Who changes something.
#[derive(Clone, Debug)]
pub enum Actor {
    /// Somebody, by a request.
    Principal { principal: Box<Principal>, request_id: String },
    /// A runner, by what it reported of a job.
    Runner { id: RunnerId, name: String },
    /// The system: time has passed, or the engine took a deployment on.
    Clock,
    /// An operator at the console, who is nobody's token.
    Operator,
}

impl Store {
    /// A change that nobody asked for, such as the end of a lease.
    pub async fn change_by_clock(&self, organization_id: OrganizationId) -> Result<Change, StoreError> {
        let transaction = self.pool().begin().await?;
        Ok(Change::new(transaction, organization_id, Actor::Clock, self))
    }
}

impl Change {
    pub(crate) fn new(
        transaction: Transaction<'static, Postgres>,
        organization_id: OrganizationId,
        actor: Actor,
        store: &Store,
    ) -> Self {
        let beside = planted::is(Bug::EventOutsideTransaction).then(|| store.pool());
        let definitions = Arc::clone(&store.definitions);
        let made_room = BTreeSet::new();
        Self { transaction, organization_id, actor, wakes: false, made_room, beside, definitions }
    }

    pub(crate) fn organization(&self) -> uuid::Uuid {
        self.organization_id.uuid()
    }

    pub(crate) fn definitions(&self) -> &Definitions {
        &self.definitions
    }

    pub(crate) fn connection(&mut self) -> &mut PgConnection {
        &mut self.transaction
    }

    /// Whether the relay has something to deliver once this is committed.
    pub const fn wakes(&self) -> bool {
        self.wakes
    }

    pub(crate) const fn note_wake(&mut self) {
        self.wakes = true;
    }

    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    /// The moment by the clock that decides: the database's.
    pub async fn now(&mut self) -> Result<Timestamp, StoreError> {
        if planted::is(Bug::ClientClockForExpiry) {
            return Ok(planted::local_clock());
        }
        let now = if planted::is(Bug::NowOfWaitingTransaction) {
            sqlx::query_scalar!(r#"select now() as "now!""#).fetch_one(self.connection()).await?
        } else {
            sqlx::query_scalar!(r#"select clock_timestamp() as "now!""#).fetch_one(self.connection()).await?
        };
        Ok(now.to_jiff())
    }

    /// Tells what has changed. It is seen if and only if the change is.
    pub async fn tell(&mut self, event: NewEvent) -> Result<(), StoreError> {
        let actor = self.actor.clone();
        self.tell_as(&actor, event).await
    }

    /// Tells what somebody else has changed, which this change merely wrote down.
    pub(crate) async fn tell_as(&mut self, actor: &Actor, event: NewEvent) -> Result<(), StoreError> {
        let data = data(actor, &event);
        let (organization, actor_id) = (self.organization(), actor.user());
        let insert = sqlx::query!(
            "insert into event_intake (organization_id, type, category, subject, actor_id, data)
             values ($1, $2, $3, $4, $5, $6)",
            organization,
            event.event_type.as_str(),
            event.event_type.category().as_str(),
            event.subject,
            actor_id,
            data,
        );
        match &self.beside {
            None => insert.execute(self.connection()).await?,
            Some(pool) => insert.execute(pool).await?,
        };
        Ok(())
    }

    /// Records many events of one type and subject, in their order, with one statement.
    pub(crate) async fn tell_all_as(
        &mut self,
        actor: &Actor,
        events: Vec<NewEvent>,
    ) -> Result<(), StoreError> {
        let Some(first) = events.first() else { return Ok(()) };
        let (event_type, subject) = (first.event_type, first.subject.clone());
        let data: Vec<Value> = events.iter().map(|event| data(actor, event)).collect();
        let (organization, actor_id) = (self.organization(), actor.user());
        let insert = sqlx::query!(
            "insert into event_intake (organization_id, type, category, subject, actor_id, data)
             select $1, $2, $3, $4, $5, e.data from unnest($6::jsonb[]) with ordinality as e (data, place)
             order by e.place",
            organization,
            event_type.as_str(),
            event_type.category().as_str(),
            subject,
            actor_id,
            &data,
        );
        match &self.beside {
            None => insert.execute(self.connection()).await?,
            Some(pool) => insert.execute(pool).await?,
        };
        Ok(())
    }

    pub async fn commit(mut self) -> Result<(), StoreError> {
        self.hand_out_room().await?;
        Ok(self.transaction.commit().await?)
    }
}

fn data(actor: &Actor, event: &NewEvent) -> Value {
    json!({
        "actor": actor.told(),
        "context": actor.context(),
        "before": event.before,
        "after": event.after,
        "reason": event.reason,
    })
}

impl Actor {
    pub(crate) fn user(&self) -> Option<uuid::Uuid> {
        match self {
            Self::Principal { principal, .. } => Some(principal.user_id.uuid()),
            Self::Runner { .. } | Self::Clock | Self::Operator => None,
        }
    }

    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Self::Principal { principal, .. } => Some(&principal.user_name),
            Self::Runner { .. } | Self::Clock | Self::Operator => None,
        }
    }

    pub(crate) fn kind(&self) -> Option<&str> {
        match self {
            Self::Principal { principal, .. } => Some(principal.token_kind.as_str()),
            Self::Runner { .. } | Self::Clock | Self::Operator => None,
        }
    }

    pub(crate) fn told(&self) -> Value {
        match self {
            Self::Principal { principal, .. } => json!({
                "id": principal.user_id,
                "name": principal.user_name,
                "kind": principal.token_kind,
                "tokenId": principal.token_id,
            }),
            Self::Runner { id, name } => {
                json!({ "id": id, "name": name, "kind": "runner", "tokenId": null })
            }
            Self::Clock => json!({ "id": null, "name": "system", "kind": "system", "tokenId": null }),
            Self::Operator => json!({ "id": null, "name": "operator", "kind": "operator", "tokenId": null }),
        }
    }

    pub(crate) fn context(&self) -> Value {
        match self {
            Self::Principal { request_id, .. } => json!({ "requestId": request_id }),
            Self::Runner { .. } | Self::Clock | Self::Operator => json!({}),
        }
    }
}
