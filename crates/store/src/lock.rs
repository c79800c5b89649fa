//! The lock in SQL: takes the environment's row, lets the domain's machine decide, and writes down what it said. Whatever
//! looks at other rows than the environment's own (the queue) reads them after that row is locked.

use greenroom_domain::environment::{self, Applied, Command, Effect, EnvironmentState};
use greenroom_domain::event::{EventType, NewEvent};
use greenroom_domain::id::{DeploymentId, EnvironmentId, PipelineId, SessionId};
use greenroom_domain::lease::{Lease, LeaseTerms};
use greenroom_domain::lock::{Held, Lock};
use greenroom_domain::queue::{Queue, Waiting};
use greenroom_domain::role::Role;
use greenroom_domain::session::SessionEnd;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::StoreError;
use crate::change::{Actor, Change};
use crate::error::word;

/// An environment whose row this transaction holds.
#[derive(Clone, Debug)]
pub struct LockedEnvironment {
    pub id: EnvironmentId,
    pub pipeline_id: PipelineId,
    pub name: String,
    pub listed: bool,
    pub force_role: Role,
    pub default_lease_seconds: i64,
    pub longest_lease_seconds: i64,
    pub state: EnvironmentState,
    /// The moment of the decision, read after the row was locked.
    pub now: Timestamp,
    sessions: i64,
}

/// What a new session brings with it.
#[derive(Clone, Debug, Default)]
pub struct NewSession {
    pub user_name: String,
    pub user_kind: String,
    pub context: Option<String>,
    pub commit_id: Option<String>,
}

/// What is being done to an environment, and how it was before.
struct Doing<'a> {
    before: &'a EnvironmentState,
    command: Command,
    new: &'a NewSession,
}

impl LockedEnvironment {
    /// What its events are about: its path below the organization.
    pub(crate) fn subject(&self) -> String {
        format!("pipelines/{}/ephemeral-environments/{}", self.pipeline_id, self.name)
    }
}

struct Row {
    id: uuid::Uuid,
    pipeline_id: uuid::Uuid,
    name: String,
    listed: bool,
    force_role: String,
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
}

impl Change {
    pub async fn lock_environment(
        &mut self,
        pipeline: PipelineId,
        name: &str,
    ) -> Result<Option<LockedEnvironment>, StoreError> {
        let organization = self.organization();
        let row = sqlx::query_as!(
            Row,
            "select id, pipeline_id, name, listed, force_role, default_lease_seconds, longest_lease_seconds, fence,
                    session_id, holder_id, expires_at, max_expires_at, lease_seconds, confirmed, waiters, sessions
             from environments
             where organization_id = $1 and pipeline_id = $2 and name = $3 for update",
            organization,
            pipeline.uuid(),
            name,
        )
        .fetch_optional(self.connection())
        .await?;
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
            "select id, pipeline_id, name, listed, force_role, default_lease_seconds, longest_lease_seconds, fence,
                    session_id, holder_id, expires_at, max_expires_at, lease_seconds, confirmed, waiters, sessions
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

    async fn locked(&mut self, row: Row) -> Result<LockedEnvironment, StoreError> {
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
                    })
                }
                _ => None,
            };
        let queue = if row.waiters > 0 { self.waiting(row.id.into()).await? } else { Queue::default() };
        Ok(LockedEnvironment {
            id: row.id.into(),
            pipeline_id: row.pipeline_id.into(),
            name: row.name,
            listed: row.listed,
            force_role: word("environments.force_role", &row.force_role)?,
            default_lease_seconds: row.default_lease_seconds,
            longest_lease_seconds: row.longest_lease_seconds,
            state: EnvironmentState { lock: Lock { fence: row.fence, held }, queue },
            // After the wait for the row, not before it.
            now: self.now().await?,
            sessions: row.sessions,
        })
    }

    async fn waiting(&mut self, environment: EnvironmentId) -> Result<Queue, StoreError> {
        let organization = self.organization();
        let rows = sqlx::query!(
            r#"select id, user_id, lease_seconds, longest_seconds, heard_at as "heard_at!" from sessions
               where organization_id = $1 and environment_id = $2 and status = 'queued'
               order by ordinal"#,
            organization,
            environment.uuid(),
        )
        .fetch_all(self.connection())
        .await?;
        Ok(rows.into_iter().fold(Queue::default(), |queue, row| {
            queue.joined(Waiting {
                session: row.id.into(),
                user: row.user_id.into(),
                terms: LeaseTerms {
                    length: SignedDuration::from_secs(row.lease_seconds),
                    longest: SignedDuration::from_secs(row.longest_seconds),
                },
                heard_at: row.heard_at.to_jiff(),
            })
        }))
    }

    /// Settles a locked environment, and carries out a command on it. A refusal changes nothing beyond the settling.
    pub async fn apply(
        &mut self,
        environment: &mut LockedEnvironment,
        command: Command,
        new: &NewSession,
    ) -> Result<Applied, StoreError> {
        let before = environment.state.clone();
        let (state, settled, applied) = environment::apply(before.clone(), environment.now, command);
        environment.state = state;
        let doing = Doing { before: &before, command, new };
        let actor = self.actor().clone();
        for effect in &settled {
            self.write_effect(environment, &doing, *effect, &Actor::Clock).await?;
        }
        for effect in applied.iter().flatten() {
            self.write_effect(environment, &doing, *effect, &actor).await?;
        }
        self.write_heard(environment, command).await?;
        if environment.state != before {
            self.write_lock(environment).await?;
        }
        self.deploy_granted(environment, settled.iter().chain(applied.iter().flatten()), &before).await?;
        Ok(applied)
    }

    async fn write_effect(
        &mut self,
        environment: &mut LockedEnvironment,
        doing: &Doing<'_>,
        effect: Effect,
        actor: &Actor,
    ) -> Result<(), StoreError> {
        match effect {
            Effect::Queued { session } => {
                self.insert_session(environment, doing, session, None).await?;
                self.tell_session(environment, (actor, EventType::SessionQueued), session, None, None).await
            }
            Effect::Granted { session, fence } => {
                let waited = doing.before.queue.position(session).is_some();
                if waited {
                    self.grant_waiter(environment, session, fence).await?;
                } else {
                    self.insert_session(environment, doing, session, Some(fence)).await?;
                }
                let event_type = if waited { EventType::SessionGranted } else { EventType::SessionClaimed };
                self.tell_session(environment, (actor, event_type), session, Some(fence), None).await
            }
            Effect::Ended { session, end } => {
                let by = match doing.command {
                    Command::Force(claim) if end == SessionEnd::Overridden => Some(claim.session),
                    _ => None,
                };
                let reason = doing.new.context.as_deref().filter(|_| by.is_some());
                self.end_session(environment, doing.before, session, end, (actor, by, reason)).await?;
                let event_type = match end {
                    SessionEnd::Released => EventType::SessionReleased,
                    SessionEnd::Expired => EventType::SessionExpired,
                    SessionEnd::Overridden => EventType::SessionOverridden,
                    SessionEnd::Canceled => EventType::SessionCanceled,
                };
                self.tell_session(environment, (actor, event_type), session, None, reason).await
            }
        }
    }

    /// A waiter that asked for a commit gets it deployed when its turn has come.
    async fn deploy_granted<'a>(
        &mut self,
        environment: &LockedEnvironment,
        effects: impl Iterator<Item = &'a Effect>,
        before: &EnvironmentState,
    ) -> Result<(), StoreError> {
        for effect in effects {
            if let Effect::Granted { session, .. } = *effect
                && before.queue.position(session).is_some()
                && environment.state.lock.held.as_ref().is_some_and(|held| held.session == session)
                && let Some(waited) = self.session(environment.id, session).await?
                && let Some(commit) = waited.commit_id
            {
                let id = DeploymentId::from(uuid::Uuid::now_v7());
                self.create_deployment(environment, id, (session, waited.user_id), &commit).await?;
            }
        }
        Ok(())
    }

    async fn insert_session(
        &mut self,
        environment: &mut LockedEnvironment,
        doing: &Doing<'_>,
        session: SessionId,
        fence: Option<i64>,
    ) -> Result<(), StoreError> {
        let new = doing.new;
        let (Command::Claim(claim)
        | Command::Queue(claim)
        | Command::Force(claim)
        | Command::Transfer { to: claim, .. }) = doing.command
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
        let due = lease.map_or_else(|| now + greenroom_domain::queue::SILENCE, |lease| lease.expires_at);
        sqlx::query!(
            "insert into sessions
                 (organization_id, id, environment_id, ordinal, status, user_id, user_name, user_kind, context, commit_id,
                  lease_seconds, longest_seconds, fence, queued_at, heard_at, claimed_at, expires_at, max_expires_at,
                  due_at, previous_session_id)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $14, $15, $16, $17, $18,
                 (select id from sessions where organization_id = $1 and environment_id = $3 and ordinal = $4::bigint - 1))",
            organization,
            session.uuid(),
            environment.id.uuid(),
            environment.sessions,
            if fence.is_some() { "active" } else { "queued" },
            claim.user.uuid(),
            new.user_name,
            new.user_kind,
            new.context,
            new.commit_id,
            claim.terms.length.as_secs(),
            claim.terms.longest.as_secs(),
            fence,
            time(fence.is_none().then_some(now)) as Option<jiff_sqlx::Timestamp>,
            time(fence.map(|_| now)) as Option<jiff_sqlx::Timestamp>,
            time(lease.map(|lease| lease.expires_at)) as Option<jiff_sqlx::Timestamp>,
            time(lease.map(|lease| lease.max_expires_at)) as Option<jiff_sqlx::Timestamp>,
            time(Some(due)) as Option<jiff_sqlx::Timestamp>,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    async fn grant_waiter(
        &mut self,
        environment: &LockedEnvironment,
        session: SessionId,
        fence: i64,
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        let lease = environment.state.lock.held.as_ref().map(|held| held.lease);
        sqlx::query!(
            "update sessions
             set status = 'active', fence = $3, claimed_at = $4, expires_at = $5, max_expires_at = $6, due_at = $5
             where organization_id = $1 and id = $2 and status = 'queued'",
            organization,
            session.uuid(),
            fence,
            time(Some(environment.now)) as Option<jiff_sqlx::Timestamp>,
            time(lease.map(|lease| lease.expires_at)) as Option<jiff_sqlx::Timestamp>,
            time(lease.map(|lease| lease.max_expires_at)) as Option<jiff_sqlx::Timestamp>,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    async fn end_session(
        &mut self,
        environment: &LockedEnvironment,
        before: &EnvironmentState,
        session: SessionId,
        end: SessionEnd,
        (actor, by, reason): (&Actor, Option<SessionId>, Option<&str>),
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        let lease = before.lock.held.as_ref().filter(|held| held.session == session).map(|held| held.lease);
        // A lease that ran out ended then, not when somebody noticed.
        let over = lease.filter(|lease| lease.is_over(environment.now)).map(|lease| lease.expires_at);
        let (ended_by, ended_by_name) = (actor.user(), actor.name().map(str::to_owned));
        sqlx::query!(
            "update sessions
             set status = $3, ended_at = $4, ended_by = $5, ended_by_name = $6,
                 expires_at = coalesce($7, expires_at), override_session_id = $8, override_reason = $9
             where organization_id = $1 and id = $2 and status in ('queued', 'active')",
            organization,
            session.uuid(),
            end.status().as_str(),
            time(over.or(Some(environment.now))) as Option<jiff_sqlx::Timestamp>,
            ended_by,
            ended_by_name,
            time(lease.map(|lease| lease.expires_at)) as Option<jiff_sqlx::Timestamp>,
            by.map(SessionId::uuid),
            reason,
        )
        .execute(self.connection())
        .await?;
        self.cancel_deployments_of(environment, session, end).await
    }

    async fn write_heard(
        &mut self,
        environment: &LockedEnvironment,
        command: Command,
    ) -> Result<(), StoreError> {
        let Command::Hear(session) = command else { return Ok(()) };
        if environment.state.queue.position(session).is_none() {
            return Ok(());
        }
        let (organization, now) = (self.organization(), environment.now);
        sqlx::query!(
            "update sessions set heard_at = $3, due_at = $4
             where organization_id = $1 and id = $2 and status = 'queued'",
            organization,
            session.uuid(),
            time(Some(now)) as Option<jiff_sqlx::Timestamp>,
            time(Some(now + greenroom_domain::queue::SILENCE)) as Option<jiff_sqlx::Timestamp>,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// Sets when the environment's live sessions are to be looked at next: renewals move a lease's end in the
    /// environment's row alone, and this catches up with them.
    pub(crate) async fn put_off(&mut self, environment: &LockedEnvironment) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "update sessions s
             set due_at = case when s.status = 'queued' then s.heard_at + interval '120 seconds' else e.expires_at end
             from environments e
             where s.organization_id = $1 and s.environment_id = $2 and s.status in ('queued', 'active')
               and s.due_at <= clock_timestamp() and e.organization_id = $1 and e.id = $2",
            organization,
            environment.id.uuid(),
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// Writes the machine's state into the environment's row; who the holder is comes from its session.
    async fn write_lock(&mut self, environment: &LockedEnvironment) -> Result<(), StoreError> {
        let organization = self.organization();
        let EnvironmentState { lock, queue } = &environment.state;
        let held = lock.held.as_ref();
        sqlx::query!(
            "update environments e
             set fence = $3, waiters = $4, sessions = $5, confirmed = $6, expires_at = $7, max_expires_at = $8,
                 session_id = s.id, holder_id = s.user_id, holder_name = s.user_name, holder_kind = s.user_kind,
                 context = s.context, claimed_at = s.claimed_at,
                 commit_id = case when e.session_id = s.id then e.commit_id else s.commit_id end,
                 lease_seconds = s.lease_seconds, used_at = coalesce(s.claimed_at, e.used_at)
             from (select 1) present
             left join sessions s on s.organization_id = $1 and s.id = $9
             where e.organization_id = $1 and e.id = $2",
            organization,
            environment.id.uuid(),
            lock.fence,
            i32::try_from(queue.len()).unwrap_or(i32::MAX),
            environment.sessions,
            held.is_none_or(|held| held.lease.confirmed),
            time(held.map(|held| held.lease.expires_at)) as Option<jiff_sqlx::Timestamp>,
            time(held.map(|held| held.lease.max_expires_at)) as Option<jiff_sqlx::Timestamp>,
            held.map(|held| held.session.uuid()),
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    async fn tell_session(
        &mut self,
        environment: &LockedEnvironment,
        (actor, event_type): (&Actor, EventType),
        session: SessionId,
        fence: Option<i64>,
        reason: Option<&str>,
    ) -> Result<(), StoreError> {
        let event = NewEvent {
            event_type,
            subject: environment.subject(),
            before: None,
            after: Some(json!({
                "sessionId": session,
                "envName": environment.name,
                "pipelineId": environment.pipeline_id,
                "fence": fence,
                "queueLength": environment.state.queue.len(),
            })),
            reason: reason.map(str::to_owned),
        };
        self.tell_as(actor, event).await
    }
}

fn time(at: Option<Timestamp>) -> Option<jiff_sqlx::Timestamp> {
    at.map(jiff_sqlx::Timestamp::from)
}
