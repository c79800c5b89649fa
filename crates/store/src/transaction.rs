//! A transaction within one organization. It carries the actor of the change and records events.

use std::collections::BTreeSet;
use std::sync::Arc;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::event::NewEvent;
use greenroom_domain::id::{OrganizationId, PipelineId, RunnerId, UserId};
use greenroom_domain::principal::Principal;
use greenroom_domain::token::TokenKind;
use jiff::Timestamp;
use serde_json::{Value, json};
use sqlx::{PgConnection, Postgres, Transaction};

use crate::definitions::Definitions;
use crate::{Store, StoreError};

/// Rolls back when it is dropped without [`OrgTransaction::commit`].
pub struct OrgTransaction {
    transaction: Transaction<'static, Postgres>,
    organization_id: OrganizationId,
    actor: Actor,
    /// The transaction has added wake-ups to the outbox.
    has_wake_ups: bool,
    /// The transaction has made failures due, for a worker to collect their evidence.
    has_due_failures: bool,
    /// Pipelines in which one more deployment can start after the commit.
    pub(crate) pipelines_with_room: BTreeSet<PipelineId>,
    /// Events that are recorded together; `None` if events are recorded one by one.
    event_batch: Option<Vec<(Actor, NewEvent)>>,
    definitions: Arc<Definitions>,
}

/// Who makes a change.
#[derive(Clone, Debug)]
pub enum Actor {
    /// A user, through a request.
    Principal { principal: Box<Principal>, request_id: String },
    /// A runner, through its report of a job.
    Runner { id: RunnerId, name: String },
    /// A service account whose CI job exchanges a token. It has no credential of ours.
    Exchange { account: UserId, name: String, request_id: String },
    /// Greenroom itself, for example when a lease expires or the engine advances a deployment.
    System,
    /// An operator at the console, without a token.
    Operator,
}

#[boxed_futures]
impl Store {
    /// Opens a transaction that no user requested, for example for an expired lease or a runner's report.
    pub async fn system_transaction(
        &self,
        organization_id: OrganizationId,
    ) -> Result<OrgTransaction, StoreError> {
        let transaction = self.pool().begin().await?;
        Ok(OrgTransaction::new(transaction, organization_id, Actor::System, self))
    }
}

#[boxed_futures]
impl OrgTransaction {
    pub(crate) fn new(
        transaction: Transaction<'static, Postgres>,
        organization_id: OrganizationId,
        actor: Actor,
        store: &Store,
    ) -> Self {
        let definitions = Arc::clone(&store.definitions);
        Self {
            transaction,
            organization_id,
            actor,
            has_wake_ups: false,
            has_due_failures: false,
            pipelines_with_room: BTreeSet::new(),
            event_batch: None,
            definitions,
        }
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

    /// Returns whether the relay has wake-ups to deliver after the commit.
    pub const fn has_wake_ups(&self) -> bool {
        self.has_wake_ups
    }

    pub(crate) const fn mark_wake_up(&mut self) {
        self.has_wake_ups = true;
    }

    /// Returns whether a worker has evidence to collect after the commit.
    pub const fn has_due_failures(&self) -> bool {
        self.has_due_failures
    }

    pub(crate) const fn mark_failure(&mut self) {
        self.has_due_failures = true;
    }

    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    /// Returns the database's time. All leases and deadlines are decided by this clock.
    pub async fn now(&mut self) -> Result<Timestamp, StoreError> {
        let now =
            sqlx::query_scalar!(r#"select clock_timestamp() as "now!""#).fetch_one(self.connection()).await?;
        Ok(now.to_jiff())
    }

    /// Records an event. It becomes visible if and only if the transaction commits.
    pub async fn record_event(&mut self, event: NewEvent) -> Result<(), StoreError> {
        let actor = self.actor.clone();
        self.record_event_as(&actor, event).await
    }

    /// Records an event of another actor, whose action this transaction only writes down.
    pub(crate) async fn record_event_as(&mut self, actor: &Actor, event: NewEvent) -> Result<(), StoreError> {
        if let Some(batch) = &mut self.event_batch {
            batch.push((actor.clone(), event));
            return Ok(());
        }
        self.insert_events(&[(actor.clone(), event)]).await
    }

    /// Collects all events from now on, until [`Self::record_event_batch`] records them.
    pub(crate) fn begin_event_batch(&mut self) {
        self.event_batch = Some(Vec::new());
    }

    /// Records the collected events in their order, with one statement. `complete` adds to each event what is
    /// known only after all of them have happened.
    pub(crate) async fn record_event_batch(
        &mut self,
        complete: impl Fn(&mut NewEvent),
    ) -> Result<(), StoreError> {
        let mut events = self.event_batch.take().unwrap_or_default();
        for (_, event) in &mut events {
            complete(event);
        }
        self.insert_events(&events).await
    }

    async fn insert_events(&mut self, events: &[(Actor, NewEvent)]) -> Result<(), StoreError> {
        if events.is_empty() {
            return Ok(());
        }
        let organization = self.organization();
        let text = |text: &str| text.to_owned();
        let types: Vec<String> = events.iter().map(|(_, event)| text(event.event_type.as_str())).collect();
        let categories: Vec<String> =
            events.iter().map(|(_, event)| text(event.event_type.category().as_str())).collect();
        let subjects: Vec<String> = events.iter().map(|(_, event)| event.subject.clone()).collect();
        let actors: Vec<Option<uuid::Uuid>> = events.iter().map(|(actor, _)| actor.user()).collect();
        let data: Vec<Value> = events.iter().map(|(actor, event)| data(actor, event)).collect();
        sqlx::query!(
            "insert into event_intake (organization_id, type, category, subject, actor_id, data)
             select $1, e.type, e.category, e.subject, e.actor_id, e.data
             from unnest($2::text[], $3::text[], $4::text[], $5::uuid[], $6::jsonb[])
                 with ordinality as e (type, category, subject, actor_id, data, place)
             order by e.place",
            organization,
            &types,
            &categories,
            &subjects,
            &actors as &[Option<uuid::Uuid>],
            &data,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    pub async fn commit(mut self) -> Result<(), StoreError> {
        self.wake_deployments_with_room().await?;
        Ok(self.transaction.commit().await?)
    }
}

fn data(actor: &Actor, event: &NewEvent) -> Value {
    json!({
        "actor": actor.event_payload(),
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
            Self::Exchange { account, .. } => Some(account.uuid()),
            Self::Runner { .. } | Self::System | Self::Operator => None,
        }
    }

    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Self::Principal { principal, .. } => Some(&principal.user_name),
            Self::Exchange { name, .. } => Some(name),
            Self::Runner { .. } | Self::System | Self::Operator => None,
        }
    }

    pub(crate) fn kind(&self) -> Option<&str> {
        match self {
            Self::Principal { principal, .. } => Some(principal.token_kind.as_str()),
            Self::Exchange { .. } => Some(TokenKind::Ci.as_str()),
            Self::Runner { .. } | Self::System | Self::Operator => None,
        }
    }

    pub(crate) fn event_payload(&self) -> Value {
        match self {
            Self::Principal { principal, .. } => json!({
                "id": principal.user_id,
                "name": principal.user_name,
                "kind": principal.token_kind,
                "tokenId": principal.credential.token(),
            }),
            Self::Exchange { account, name, .. } => {
                json!({ "id": account, "name": name, "kind": TokenKind::Ci, "tokenId": null })
            }
            Self::Runner { id, name } => {
                json!({ "id": id, "name": name, "kind": "runner", "tokenId": null })
            }
            Self::System => json!({ "id": null, "name": "system", "kind": "system", "tokenId": null }),
            Self::Operator => json!({ "id": null, "name": "operator", "kind": "operator", "tokenId": null }),
        }
    }

    pub(crate) fn context(&self) -> Value {
        match self {
            Self::Principal { principal, request_id } => match principal.credential.browser_session() {
                None => json!({ "requestId": request_id }),
                Some(session) => json!({ "requestId": request_id, "browserSessionId": session }),
            },
            Self::Exchange { request_id, .. } => json!({ "requestId": request_id }),
            Self::Runner { .. } | Self::System | Self::Operator => json!({}),
        }
    }
}
