//! Writes of the lock: sessions that are created, granted and ended, the lock in the environment's row, and
//! their events.

use greenroom_domain::environment::{EnvironmentState, LockCommand};
use greenroom_domain::event::{EventType, NewEvent};
use greenroom_domain::id::{SessionId, TokenId};
use greenroom_domain::lease::Lease;
use greenroom_domain::lock::OnSilence;
use greenroom_domain::principal::Credential;
use greenroom_domain::queue::{Waiter, timeout_of};
use greenroom_domain::session::SessionEnd;
use jiff::Timestamp;

use crate::StoreError;
use crate::error::to_column;
use crate::lock::LockedEnvironment;
use crate::lock::context::{ClaimDetails, LockCommandContext};
use crate::lock::event_lock::LockRow;
use crate::transaction::{Actor, OrgTransaction};

/// A session that is queued, claimed or granted.
pub(super) struct ClaimEvent {
    pub(super) event_type: EventType,
    pub(super) session: SessionId,
    /// `None` while it waits.
    pub(super) fence: Option<i64>,
    pub(super) details: ClaimDetails,
    pub(super) reason: Option<String>,
}

/// A session that ends.
#[derive(Clone, Copy)]
pub(super) struct SessionEnding<'a> {
    pub(super) session: SessionId,
    pub(super) end: SessionEnd,
    /// The session that takes the environment over by force, and its reason.
    pub(super) overridden_by: Option<SessionId>,
    pub(super) reason: Option<&'a str>,
}

impl OrgTransaction {
    pub(super) async fn insert_session(
        &mut self,
        environment: &mut LockedEnvironment,
        command_context: &LockCommandContext<'_>,
        session: SessionId,
        fence: Option<i64>,
    ) -> Result<(), StoreError> {
        let new = command_context.new;
        let (LockCommand::Claim(claim)
        | LockCommand::Queue(claim)
        | LockCommand::Force(claim)
        | LockCommand::RequestHandover { by: claim, .. }
        | LockCommand::Transfer { to: claim, .. }) = command_context.command
        else {
            return Ok(());
        };
        environment.sessions += 1;
        let organization = self.organization();
        let lease = environment
            .state
            .lock
            .held
            .as_ref()
            .filter(|held| held.session == session)
            .map(|held| held.lease);
        let now = environment.now;
        sqlx::query!(
            "insert into sessions
                 (organization_id, id, environment_id, ordinal, status, user_id, user_name, user_kind, context, commit_id,
                  lease_seconds, longest_seconds, fence, queued_at, heard_at, claimed_at, expires_at, max_expires_at,
                  waiting, token_id, owner_token_id, token_name, stay_seconds)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $14, $15, $16, $17, $13::bigint is null,
                     $18, $19, $20, $21)",
            organization,
            session.uuid(),
            environment.id.uuid(),
            environment.sessions,
            if fence.is_some() { "active" } else { "queued" },
            claim.owner.user.uuid(),
            new.user_name,
            new.user_kind,
            new.context,
            new.commit_id,
            claim.terms.length.as_secs(),
            claim.terms.max_length.as_secs(),
            fence,
            time(fence.is_none().then_some(now)) as Option<jiff_sqlx::Timestamp>,
            time(fence.map(|_| now)) as Option<jiff_sqlx::Timestamp>,
            time(lease.map(|lease| lease.expires_at)) as Option<jiff_sqlx::Timestamp>,
            time(lease.map(|lease| lease.max_expires_at)) as Option<jiff_sqlx::Timestamp>,
            new.credential.map(Credential::uuid),
            claim.owner.token.map(TokenId::uuid),
            new.token_name,
            timeout_of(claim.kind, claim.max_stay).as_secs(),
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// Grants a waiting session. Returns what it was queued with.
    pub(super) async fn grant_waiter(
        &mut self,
        environment: &LockedEnvironment,
        waiting: &Waiter,
        fence: i64,
    ) -> Result<ClaimDetails, StoreError> {
        let organization = self.organization();
        // Computed again and not read from the environment's state, which no longer contains this session if
        // the same command has ended it.
        let lease = Lease::from_queue(environment.now, waiting.terms);
        let granted = sqlx::query!(
            "update sessions
             set status = 'active', fence = $3, claimed_at = $4, expires_at = $5, max_expires_at = $6, waiting = false
             where organization_id = $1 and id = $2 and status = 'queued'
             returning context, commit_id",
            organization,
            waiting.session.uuid(),
            fence,
            time(Some(environment.now)) as Option<jiff_sqlx::Timestamp>,
            time(Some(lease.expires_at)) as Option<jiff_sqlx::Timestamp>,
            time(Some(lease.max_expires_at)) as Option<jiff_sqlx::Timestamp>,
        )
        .fetch_optional(self.connection())
        .await?;
        Ok(granted
            .map(|row| ClaimDetails { context: row.context, commit_id: row.commit_id })
            .unwrap_or_default())
    }

    pub(super) async fn end_session(
        &mut self,
        environment: &LockedEnvironment,
        before: &EnvironmentState,
        actor: &Actor,
        ending: SessionEnding<'_>,
    ) -> Result<(), StoreError> {
        let SessionEnding { session, end, overridden_by, reason } = ending;
        let organization = self.organization();
        let lease = before.lock.held.as_ref().filter(|held| held.session == session).map(|held| held.lease);
        // An expired lease ended at its expiry time, not when the expiry was recorded.
        let over = lease.filter(|lease| lease.is_over(environment.now)).map(|lease| lease.expires_at);
        let handover =
            before.lock.held.as_ref().filter(|held| held.session == session).and_then(|held| held.handover);
        let handover = handover.filter(|handover| handover.is_accepted_by_silence());
        let due = handover.map(|handover| handover.due_at).filter(|due_at| *due_at <= environment.now);
        let over = if end == SessionEnd::Released { due.or(over) } else { over };
        let (ended_by, ended_by_name) = (actor.user(), actor.name().map(str::to_owned));
        sqlx::query!(
            "update sessions
             set status = $3, waiting = false, ended_at = $4, ended_by = $5, ended_by_name = $6,
                 expires_at = coalesce($7, expires_at), override_session_id = $8, override_reason = $9
             where organization_id = $1 and id = $2 and status in ('queued', 'active')",
            organization,
            session.uuid(),
            end.status().as_str(),
            time(over.or(Some(environment.now))) as Option<jiff_sqlx::Timestamp>,
            ended_by,
            ended_by_name,
            time(lease.map(|lease| lease.expires_at)) as Option<jiff_sqlx::Timestamp>,
            overridden_by.map(SessionId::uuid),
            reason,
        )
        .execute(self.connection())
        .await?;
        self.cancel_deployments_of(actor, environment, session, end).await
    }

    /// Writes the requester of a hand-over, and the context of the request.
    pub(super) async fn write_handover(
        &mut self,
        environment: &LockedEnvironment,
        command_context: &LockCommandContext<'_>,
        by: SessionId,
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "update environments e
             set handover_user_id = s.user_id, handover_user_name = s.user_name, handover_user_kind = s.user_kind,
                 handover_token_name = s.token_name, handover_context = $4, handover_requested_at = $5,
                 handover_token_id = $6
             from sessions s
             where e.organization_id = $1 and e.id = $2 and s.organization_id = $1 and s.id = $3",
            organization,
            environment.id.uuid(),
            by.uuid(),
            command_context.new.context,
            time(Some(environment.now)) as Option<jiff_sqlx::Timestamp>,
            command_context.new.credential.map(Credential::uuid),
        )
        .execute(self.connection())
        .await?;
        if command_context.before.queue.find(by).is_some() {
            self.write_heartbeat(environment, LockCommand::Heartbeat(by)).await?;
        }
        Ok(())
    }

    /// Writes the holder's refusal into the session that requested the hand-over.
    pub(super) async fn write_handover_declined(
        &mut self,
        environment: &LockedEnvironment,
        actor: &Actor,
        context: Option<&str>,
        by: SessionId,
    ) -> Result<(), StoreError> {
        let (organization, name) = (self.organization(), actor.name().map(str::to_owned));
        sqlx::query!(
            "update sessions
             set handover_declined_by = $3, handover_declined_by_name = $4, handover_declined_at = $5,
                 handover_declined_context = $6
             where organization_id = $1 and id = $2",
            organization,
            by.uuid(),
            actor.user(),
            name,
            time(Some(environment.now)) as Option<jiff_sqlx::Timestamp>,
            context,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    pub(super) async fn write_heartbeat(
        &mut self,
        environment: &LockedEnvironment,
        command: LockCommand<'_>,
    ) -> Result<(), StoreError> {
        let is_heartbeat_of = |waiter: &&Waiter| match command {
            LockCommand::Heartbeat(session) | LockCommand::StreamHeartbeat(session) => {
                waiter.session == session
            }
            _ => false,
        };
        let queue = environment.state.queue.iter();
        let sessions: Vec<uuid::Uuid> =
            queue.filter(is_heartbeat_of).map(|waiter| waiter.session.uuid()).collect();
        if sessions.is_empty() {
            return Ok(());
        }
        let (organization, now) = (self.organization(), environment.now);
        sqlx::query!(
            "update sessions set heard_at = $3
             where organization_id = $1 and id = any($2) and status = 'queued'",
            organization,
            &sessions,
            time(Some(now)) as Option<jiff_sqlx::Timestamp>,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// Sets when the environment is swept next. All other writes can only make this earlier; this one can also
    /// postpone it.
    pub(crate) async fn set_next_sweep(&mut self, environment: &LockedEnvironment) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "update environments set sweep_at = $3 where organization_id = $1 and id = $2",
            organization,
            environment.id.uuid(),
            time(environment.state.next_due_at()) as Option<jiff_sqlx::Timestamp>,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// Writes the machine's state into the environment's row. The columns of the holder are copied from its
    /// session. A lock that becomes free is free since the end of its lease, if that has passed. Returns the
    /// columns of the lock.
    pub(super) async fn write_lock(
        &mut self,
        environment: &LockedEnvironment,
    ) -> Result<LockRow, StoreError> {
        let organization = self.organization();
        let EnvironmentState { lock, queue } = &environment.state;
        let held = lock.held.as_ref();
        let handover = held.and_then(|held| held.handover);
        let waiters: i32 = to_column("environments.waiters", queue.len())?;
        Ok(sqlx::query_as!(
            LockRow,
            "update environments e
             set fence = $3, waiters = $4, sessions = $5, confirmed = $6, expires_at = $7, max_expires_at = $8,
                 session_id = s.id, holder_id = s.user_id, holder_name = s.user_name, holder_kind = s.user_kind,
                 owner_token_id = s.owner_token_id, holder_token_name = s.token_name, context = s.context, claimed_at = s.claimed_at,
                 commit_id = case when e.session_id = s.id then e.commit_id else s.commit_id end,
                 lease_seconds = s.lease_seconds, used_at = coalesce(s.claimed_at, e.used_at),
                 handover_session_id = $10, handover_due_at = $11, handover_accepts = $13,
                 handover_token_id = case when $10::uuid is null then null else e.handover_token_id end,
                 handover_user_id = case when $10::uuid is null then null else e.handover_user_id end,
                 handover_user_name = case when $10::uuid is null then null else e.handover_user_name end,
                 handover_user_kind = case when $10::uuid is null then null else e.handover_user_kind end,
                 handover_token_name = case when $10::uuid is null then null else e.handover_token_name end,
                 handover_context = case when $10::uuid is null then null else e.handover_context end,
                 handover_requested_at = case when $10::uuid is null then null else e.handover_requested_at end,
                 sweep_at = least(e.sweep_at, $12),
                 free_since = case when s.id is not null then null
                     when e.session_id is not null then least(e.expires_at, $14) else e.free_since end
             from (select 1) present
             left join sessions s on s.organization_id = $1 and s.id = $9
             where e.organization_id = $1 and e.id = $2
             returning e.session_id, e.holder_id, e.holder_name, e.holder_kind, e.holder_token_name, e.context, e.commit_id, e.claimed_at,
                 e.expires_at, e.max_expires_at, e.confirmed, e.fence, e.waiters, e.handover_session_id,
                 e.handover_user_id, e.handover_user_name, e.handover_user_kind, e.handover_token_name, e.handover_context,
                 e.handover_requested_at, e.handover_due_at, e.handover_accepts",
            organization,
            environment.id.uuid(),
            lock.fence,
            waiters,
            environment.sessions,
            held.is_none_or(|held| held.lease.confirmed),
            time(held.map(|held| held.lease.expires_at)) as Option<jiff_sqlx::Timestamp>,
            time(held.map(|held| held.lease.max_expires_at)) as Option<jiff_sqlx::Timestamp>,
            held.map(|held| held.session.uuid()),
            handover.map(|handover| handover.session.uuid()),
            time(handover.map(|handover| handover.due_at)) as Option<jiff_sqlx::Timestamp>,
            time(environment.state.next_due_at()) as Option<jiff_sqlx::Timestamp>,
            handover.map(|handover| handover.on_silence == OnSilence::Accept),
            time(Some(environment.now)) as Option<jiff_sqlx::Timestamp>,
        )
        .fetch_one(self.connection())
        .await?)
    }

    /// Records that a session was queued, claimed or granted, with its context and commit.
    pub(super) async fn record_claim_event(
        &mut self,
        environment: &LockedEnvironment,
        actor: &Actor,
        event: ClaimEvent,
    ) -> Result<(), StoreError> {
        let ClaimEvent { event_type, session, fence, details, reason } = event;
        let mut after = environment.event_payload(session, fence);
        after["context"] = details.context.into();
        after["commitId"] = details.commit_id.into();
        let subject = environment.subject();
        let event = NewEvent { event_type, subject, before: None, after: Some(after), reason };
        self.record_event_as(actor, event).await
    }

    pub(super) async fn record_session_event(
        &mut self,
        environment: &LockedEnvironment,
        actor: &Actor,
        event_type: EventType,
        session: SessionId,
        reason: Option<&str>,
    ) -> Result<(), StoreError> {
        let mut after = environment.event_payload(session, None);
        if event_type == EventType::SessionOverridden {
            after["reasonGiven"] = reason.is_some().into();
        }
        let event = NewEvent {
            event_type,
            subject: environment.subject(),
            before: None,
            after: Some(after),
            reason: reason.map(str::to_owned),
        };
        self.record_event_as(actor, event).await
    }
}

fn time(at: Option<Timestamp>) -> Option<jiff_sqlx::Timestamp> {
    at.map(jiff_sqlx::Timestamp::from)
}
