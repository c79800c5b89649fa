//! The lock in SQL: takes the environment's row, lets the domain's machine decide (`apply`), and writes down what it said
//! (`write`). Whatever looks at other rows than the environment's own (the queue) reads them after that row is locked.

mod apply;
mod depart;
mod rights;
mod write;

use greenroom_domain::environment::{self, EnvironmentState};
use greenroom_domain::id::{EnvironmentId, PipelineId, SessionId};
use greenroom_domain::lease::Lease;
use greenroom_domain::lock::{Handover, Held, Lock, OnSilence};
use greenroom_domain::queue::Queue;
use greenroom_domain::role::Role;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::StoreError;
use crate::change::Change;
use crate::error::word;
use crate::planted::{self, Bug};

pub use self::apply::NewSession;

/// An environment whose row this transaction holds.
#[derive(Clone, Debug)]
pub struct LockedEnvironment {
    pub id: EnvironmentId,
    pub pipeline_id: PipelineId,
    pub name: String,
    pub listed: bool,
    pub force_role: Role,
    /// A force claim has to say why.
    pub force_reason_required: bool,
    /// Default and minimum of a request's grace time, if the definition has one.
    pub handover_grace_seconds: Option<i64>,
    pub default_lease_seconds: i64,
    pub longest_lease_seconds: i64,
    pub state: EnvironmentState,
    /// The moment of the decision, read after the row was locked.
    pub now: Timestamp,
    sessions: i64,
}

impl LockedEnvironment {
    /// What the events of its sessions show.
    fn after(&self, session: SessionId, fence: Option<i64>) -> Value {
        json!({
            "sessionId": session,
            "envName": self.name,
            "pipelineId": self.pipeline_id,
            "fence": fence,
            "queueLength": self.state.queue.len(),
        })
    }

    /// What its events are about.
    pub(crate) fn subject(&self) -> String {
        environment::subject(self.pipeline_id, &self.name)
    }
}

struct Row {
    id: uuid::Uuid,
    pipeline_id: uuid::Uuid,
    name: String,
    listed: bool,
    force_role: String,
    force_reason_required: bool,
    handover_grace_seconds: Option<i64>,
    default_lease_seconds: i64,
    longest_lease_seconds: i64,
    fence: i64,
    session_id: Option<uuid::Uuid>,
    holder_id: Option<uuid::Uuid>,
    expires_at: Option<jiff_sqlx::Timestamp>,
    max_expires_at: Option<jiff_sqlx::Timestamp>,
    lease_seconds: Option<i64>,
    confirmed: bool,
    waiters: i32,
    sessions: i64,
    handover_session_id: Option<uuid::Uuid>,
    handover_due_at: Option<jiff_sqlx::Timestamp>,
    handover_user_id: Option<uuid::Uuid>,
    handover_token_id: Option<uuid::Uuid>,
    handover_accepts: Option<bool>,
}

impl Change {
    pub async fn lock_environment(
        &mut self,
        pipeline: PipelineId,
        name: &str,
    ) -> Result<Option<LockedEnvironment>, StoreError> {
        let organization = self.organization();
        self.planted_peek("savepoint peek").await?;
        let row = sqlx::query_as!(
            Row,
            "select id, pipeline_id, name, listed, force_role, force_reason_required, handover_grace_seconds,
                    default_lease_seconds, longest_lease_seconds, fence,
                    session_id, holder_id, expires_at, max_expires_at, lease_seconds, confirmed, waiters, sessions,
                    handover_session_id, handover_due_at, handover_user_id, handover_token_id, handover_accepts
             from environments
             where organization_id = $1 and pipeline_id = $2 and name = $3 for update",
            organization,
            pipeline.uuid(),
            name,
        )
        .fetch_optional(self.connection())
        .await?;
        self.planted_peek("rollback to savepoint peek").await?;
        match row {
            Some(row) => Ok(Some(self.locked(row).await?)),
            None => Ok(None),
        }
    }

    pub async fn lock_environment_by_id(
        &mut self,
        id: EnvironmentId,
    ) -> Result<Option<LockedEnvironment>, StoreError> {
        let organization = self.organization();
        let row = sqlx::query_as!(
            Row,
            "select id, pipeline_id, name, listed, force_role, force_reason_required, handover_grace_seconds,
                    default_lease_seconds, longest_lease_seconds, fence,
                    session_id, holder_id, expires_at, max_expires_at, lease_seconds, confirmed, waiters, sessions,
                    handover_session_id, handover_due_at, handover_user_id, handover_token_id, handover_accepts
             from environments
             where organization_id = $1 and id = $2 for update",
            organization,
            id.uuid(),
        )
        .fetch_optional(self.connection())
        .await?;
        match row {
            Some(row) => Ok(Some(self.locked(row).await?)),
            None => Ok(None),
        }
    }

    /// Lets go of the row that was just locked, if that bug was planted.
    async fn planted_peek(&mut self, sql: &'static str) -> Result<(), StoreError> {
        if planted::is(Bug::NoRecheckAfterWait) {
            sqlx::Executor::execute(self.connection(), sql).await?;
        }
        Ok(())
    }

    async fn locked(&mut self, row: Row) -> Result<LockedEnvironment, StoreError> {
        let force_role = word("environments.force_role", &row.force_role)?;
        let handover = match row.handover_session_id.zip(row.handover_due_at) {
            Some((session, due_at)) => Some(Handover {
                session: session.into(),
                due_at: due_at.to_jiff(),
                on_silence: OnSilence::of(
                    row.handover_accepts == Some(true) || planted::is(Bug::SilenceAlwaysAccepts),
                ),
                can_force: planted::is(Bug::SilenceAlwaysAccepts)
                    || self
                        .requester_can_force(row.handover_user_id, row.handover_token_id, force_role)
                        .await?,
            }),
            None => None,
        };
        let held =
            match (row.session_id, row.holder_id, row.expires_at, row.max_expires_at, row.lease_seconds) {
                (Some(session), Some(user), Some(expires_at), Some(max_expires_at), Some(seconds)) => {
                    Some(Held {
                        session: session.into(),
                        user: user.into(),
                        lease: Lease {
                            expires_at: expires_at.to_jiff(),
                            max_expires_at: max_expires_at.to_jiff(),
                            length: SignedDuration::from_secs(seconds),
                            confirmed: row.confirmed,
                        },
                        handover,
                    })
                }
                _ => None,
            };
        let queue =
            if row.waiters > 0 { self.waiting(row.id.into(), force_role).await? } else { Queue::default() };
        Ok(LockedEnvironment {
            id: row.id.into(),
            pipeline_id: row.pipeline_id.into(),
            name: row.name,
            listed: row.listed,
            force_role,
            force_reason_required: row.force_reason_required,
            handover_grace_seconds: row.handover_grace_seconds,
            default_lease_seconds: row.default_lease_seconds,
            longest_lease_seconds: row.longest_lease_seconds,
            state: EnvironmentState { lock: Lock { fence: row.fence, held }, queue },
            // After the wait for the row, not before it.
            now: self.now().await?,
            sessions: row.sessions,
        })
    }
}
