//! The slow path of the lock: locks the environment's row, lets the domain's machine decide (`apply`), and
//! writes the result (`write`). Rows other than the environment's own (the queue) are read only after that
//! row is locked.

mod apply;
mod context;
mod departure;
mod event_lock;
mod rights;
mod session_limit;
mod write;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::absence::Absence;
use greenroom_domain::environment::{self, EnvironmentState};
use greenroom_domain::id::{EnvironmentId, PipelineId, SessionId, TokenId};
use greenroom_domain::lease::Lease;
use greenroom_domain::lock::{Handover, Lock, LockHolder, OnSilence};
use greenroom_domain::owner::Owner;
use greenroom_domain::queue::Queue;
use greenroom_domain::role::Role;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::StoreError;
use crate::error::parse_column;
use crate::transaction::OrgTransaction;

pub use self::context::NewSession;

/// An environment whose row this transaction has locked.
#[derive(Clone, Debug)]
pub struct LockedEnvironment {
    pub id: EnvironmentId,
    pub pipeline_id: PipelineId,
    pub name: String,
    pub listed: bool,
    pub force_role: Role,
    /// A force claim has to give a reason.
    pub force_reason_required: bool,
    /// Default and minimum of the grace time of a hand-over request, if the definition has one.
    pub handover_grace_seconds: Option<i64>,
    /// How long a person keeps a place in the queue without a heartbeat.
    pub max_stay: SignedDuration,
    pub default_lease_seconds: i64,
    pub longest_lease_seconds: i64,
    pub state: EnvironmentState,
    /// The time of the decision, read after the row was locked.
    pub now: Timestamp,
    sessions: i64,
}

impl LockedEnvironment {
    /// Returns the payload of an event of one of its sessions.
    fn event_payload(&self, session: SessionId, fence: Option<i64>) -> Value {
        json!({
            "sessionId": session,
            "envName": self.name,
            "pipelineId": self.pipeline_id,
            "fence": fence,
            "queueLength": self.state.queue.len(),
        })
    }

    /// Returns the subject of its events.
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
    max_stay_seconds: i64,
    default_lease_seconds: i64,
    longest_lease_seconds: i64,
    fence: i64,
    session_id: Option<uuid::Uuid>,
    holder_id: Option<uuid::Uuid>,
    owner_token_id: Option<uuid::Uuid>,
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

#[boxed_futures]
impl OrgTransaction {
    pub async fn lock_environment(
        &mut self,
        pipeline: PipelineId,
        name: &str,
    ) -> Result<Option<LockedEnvironment>, StoreError> {
        let organization = self.organization();
        let row = sqlx::query_as!(
            Row,
            "select id, pipeline_id, name, listed, force_role, force_reason_required, handover_grace_seconds,
                    max_stay_seconds, default_lease_seconds, longest_lease_seconds, fence,
                    session_id, holder_id, owner_token_id, expires_at, max_expires_at, lease_seconds, confirmed, waiters, sessions,
                    handover_session_id, handover_due_at, handover_user_id, handover_token_id, handover_accepts
             from environments
             where organization_id = $1 and pipeline_id = $2 and name = $3 for update",
            organization,
            pipeline.uuid(),
            name,
        )
        .fetch_optional(self.connection())
        .await?;
        match row {
            Some(row) => Ok(Some(self.locked_environment(row).await?)),
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
                    max_stay_seconds, default_lease_seconds, longest_lease_seconds, fence,
                    session_id, holder_id, owner_token_id, expires_at, max_expires_at, lease_seconds, confirmed, waiters, sessions,
                    handover_session_id, handover_due_at, handover_user_id, handover_token_id, handover_accepts
             from environments
             where organization_id = $1 and id = $2 for update",
            organization,
            id.uuid(),
        )
        .fetch_optional(self.connection())
        .await?;
        match row {
            Some(row) => Ok(Some(self.locked_environment(row).await?)),
            None => Ok(None),
        }
    }

    async fn locked_environment(&mut self, row: Row) -> Result<LockedEnvironment, StoreError> {
        let force_role = parse_column("environments.force_role", &row.force_role)?;
        let pipeline = row.pipeline_id.into();
        let handover = match row.handover_session_id.zip(row.handover_due_at) {
            Some((session, due_at)) => Some(Handover {
                session: session.into(),
                due_at: due_at.to_jiff(),
                on_silence: OnSilence::of(row.handover_accepts == Some(true)),
                can_force: self
                    .requester_can_force(pipeline, (row.handover_user_id, row.handover_token_id), force_role)
                    .await?,
            }),
            None => None,
        };
        let held =
            match (row.session_id, row.holder_id, row.expires_at, row.max_expires_at, row.lease_seconds) {
                (Some(session), Some(user), Some(expires_at), Some(max_expires_at), Some(seconds)) => {
                    Some(LockHolder {
                        session: session.into(),
                        owner: Owner { user: user.into(), token: row.owner_token_id.map(TokenId::from) },
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
        let queue = if row.waiters > 0 {
            self.load_queue((pipeline, row.id.into()), force_role).await?
        } else {
            Queue::default()
        };
        // Read after waiting for the row's lock, not before. A sweep that extends something of this environment locks its row
        // first, so it is either recorded with all that it has extended, or not at all.
        let clock =
            sqlx::query!(r#"select clock_timestamp() as "now!", (select swept_at from sweeps) as swept_at"#)
                .fetch_one(self.connection())
                .await?;
        let now = clock.now.to_jiff();
        let absence = Absence::since(clock.swept_at.map(jiff_sqlx::Timestamp::to_jiff), now);
        let state = EnvironmentState { lock: Lock { fence: row.fence, held }, queue };
        Ok(LockedEnvironment {
            id: row.id.into(),
            pipeline_id: pipeline,
            name: row.name,
            listed: row.listed,
            force_role,
            force_reason_required: row.force_reason_required,
            handover_grace_seconds: row.handover_grace_seconds,
            max_stay: SignedDuration::from_secs(row.max_stay_seconds),
            default_lease_seconds: row.default_lease_seconds,
            longest_lease_seconds: row.longest_lease_seconds,
            state: match absence {
                Some(absence) => state.after_absence(absence),
                None => state,
            },
            now,
            sessions: row.sessions,
        })
    }
}
