//! The fast path for the most frequent requests: a plain claim of a free lock, and the release of a lock with
//! an empty queue. Each is one statement, which is either its own transaction or a part of a command's.
//!
//! A grant reads only columns of the environment's own row, because PostgreSQL evaluates only that row again
//! after waiting for its lock. In every other case (held, queued for, expired lease, deployment in the work
//! slot, token with a session limit, role that only a grant on the pipeline raises, unknown environment) it changes
//! nothing and returns `None`. Then the caller takes the slow path (`lock`), which also finds the reason of a refusal.
//! The fast path never grants what the domain's machine would not grant; `tests/model` checks that both agree.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{PipelineId, SessionId};
use greenroom_domain::policy::{Action, is_allowed};
use greenroom_domain::principal::Principal;
use greenroom_domain::role::Role;
use greenroom_domain::session::SessionStatus;
use sqlx::{PgConnection, PgPool};

use crate::environment::{Holder, LockView};
use crate::pipeline::PipelineName;
use crate::session::Session;
use crate::token_columns::service_token;
use crate::transaction::Actor;
use crate::{Command, Store, StoreError};

/// Who requests a grant or a release, and of which environment. The statement checks the token and the right
/// again. The id of a browser session is no token's, so people in a browser take the slow path.
#[derive(Clone, Copy, Debug)]
pub struct GrantRequest<'a> {
    pub principal: &'a Principal,
    pub request_id: &'a str,
    pub pipeline: &'a PipelineName,
    pub environment: &'a str,
}

#[derive(Clone, Copy, Debug)]
pub struct PlainClaim<'a> {
    pub session: SessionId,
    pub context: Option<&'a str>,
    /// `None` uses the environment's default.
    pub ttl_seconds: Option<i64>,
}

/// The session after the statement, and its environment's lock at that moment.
#[derive(Clone, Debug)]
pub struct FastPathResult {
    pub session: Session,
    pub pipeline_id: PipelineId,
    pub lock: LockView,
    /// The session has deployments, which the caller has to read.
    pub deployed: bool,
}

#[boxed_futures]
impl Store {
    /// Grants a free lock in its own transaction.
    pub async fn grant(
        &self,
        request: GrantRequest<'_>,
        claim: PlainClaim<'_>,
    ) -> Result<Option<FastPathResult>, StoreError> {
        let pool = self.pool();
        let mut cached = self.connection_cache.acquire(&pool).await?;
        let granted = grant(&mut cached.connection, request, claim).await?;
        self.connection_cache.put_back(cached, max_cached_connections(&pool));
        Ok(granted)
    }

    /// Releases a lock with an empty queue in its own transaction.
    pub async fn release(
        &self,
        request: GrantRequest<'_>,
        session: SessionId,
    ) -> Result<Option<FastPathResult>, StoreError> {
        let pool = self.pool();
        let mut cached = self.connection_cache.acquire(&pool).await?;
        let released = release(&mut cached.connection, request, session).await?;
        self.connection_cache.put_back(cached, max_cached_connections(&pool));
        Ok(released)
    }
}

#[boxed_futures]
impl Command {
    /// Grants a free lock within the command.
    pub async fn grant(
        &mut self,
        request: GrantRequest<'_>,
        claim: PlainClaim<'_>,
    ) -> Result<Option<FastPathResult>, StoreError> {
        grant(self.connection(), request, claim).await
    }

    /// Releases a lock with an empty queue within the command.
    pub async fn release(
        &mut self,
        request: GrantRequest<'_>,
        session: SessionId,
    ) -> Result<Option<FastPathResult>, StoreError> {
        release(self.connection(), request, session).await
    }
}

async fn grant(
    connection: &mut PgConnection,
    request: GrantRequest<'_>,
    claim: PlainClaim<'_>,
) -> Result<Option<FastPathResult>, StoreError> {
    let GrantRequest { principal, .. } = request;
    // The clock is read in the SET clause: PostgreSQL evaluates it again after waiting for the row's lock,
    // unlike a clock in FROM. It is read more than once, so the values can differ by a few microseconds. A
    // millisecond is subtracted from `sweep_at`, so that it is never after the end of the lease. The event's lock
    // is the same as on the slow path (`lock/event_lock.rs`), and so is the format of its times.
    let row = sqlx::query!(
        r#"with granted as (
               update environments e
               set fence = e.fence + 1, sessions = e.sessions + 1, confirmed = true, session_id = $5, context = $6,
                   holder_id = m.user_id, holder_name = m.name, holder_kind = t.kind, commit_id = null,
                   owner_token_id = case when t.lineage is not null then t.id end,
                   holder_token_name = case when t.lineage is not null then t.name end,
                   lease_seconds = coalesce($7, e.default_lease_seconds),
                   claimed_at = clock_timestamp(), used_at = clock_timestamp(), free_since = null,
                   expires_at = clock_timestamp() + coalesce($7, e.default_lease_seconds) * interval '1 second',
                   max_expires_at = clock_timestamp() + e.longest_lease_seconds * interval '1 second',
                   sweep_at = least(e.sweep_at, clock_timestamp() - interval '1 millisecond'
                       + coalesce($7, e.default_lease_seconds) * interval '1 second')
               from api_tokens t, memberships m, pipelines p
               where t.organization_id = $1 and t.id = $8 and t.revoked_at is null
                 and (t.expires_at is null or t.expires_at > clock_timestamp())
                 and m.organization_id = $1 and m.user_id = t.user_id and m.removed_at is null and m.role = any($9)
                 and $12 = any(t.scopes) and t.max_sessions is null
                 and p.organization_id = $1 and p.status <> 'archived'
                 and p.id = coalesce($2, (select id from pipelines
                     where organization_id = $1 and slug = $3 and status <> 'archived'))
                 and e.organization_id = $1 and e.pipeline_id = p.id and e.name = $4
                 and e.listed and e.session_id is null and e.waiters = 0 and e.cleanup_failed_deployment_id is null
                 and coalesce($7, e.default_lease_seconds) between 1 and e.longest_lease_seconds
               returning e.id, e.pipeline_id, e.name, e.fence, e.sessions, e.context, e.holder_id, e.holder_name,
                   e.holder_kind, e.owner_token_id, e.holder_token_name, e.lease_seconds, e.longest_lease_seconds, e.claimed_at, e.expires_at, e.max_expires_at
           ),
           held as (
               insert into sessions
                   (organization_id, id, environment_id, ordinal, status, user_id, user_name, user_kind, context,
                    lease_seconds, longest_seconds, fence, claimed_at, expires_at, max_expires_at, token_id,
                    owner_token_id, token_name)
               select $1, $5, g.id, g.sessions, 'active', g.holder_id, g.holder_name, g.holder_kind, g.context,
                      g.lease_seconds, g.longest_lease_seconds, g.fence, g.claimed_at, g.expires_at, g.max_expires_at, $8,
                      g.owner_token_id, g.holder_token_name
               from granted g
           ),
           told as (
               insert into event_intake (organization_id, type, category, subject, actor_id, data)
               select $1, 'session.claimed', 'deployment',
                      'pipelines/pip_' || g.pipeline_id || '/ephemeral-environments/' || g.name, g.holder_id,
                      jsonb_build_object('actor', $10::jsonb, 'context', $11::jsonb, 'before', null, 'reason', null,
                          'after', jsonb_build_object('sessionId', 'ses_' || $5::uuid, 'envName', g.name,
                              'pipelineId', 'pip_' || g.pipeline_id, 'fence', g.fence, 'queueLength', 0,
                              'context', g.context, 'commitId', null,
                              'lock', jsonb_strip_nulls(jsonb_build_object('status', 'locked',
                                  'sessionId', 'ses_' || $5::uuid,
                                  'holder', jsonb_build_object('id', 'usr_' || g.holder_id, 'name', g.holder_name,
                                      'kind', g.holder_kind, 'token', g.holder_token_name),
                                  'context', g.context,
                                  'claimedAt', to_jsonb(g.claimed_at at time zone 'UTC') #>> '{}' || 'Z',
                                  'expiresAt', to_jsonb(g.expires_at at time zone 'UTC') #>> '{}' || 'Z',
                                  'maxExpiresAt', to_jsonb(g.max_expires_at at time zone 'UTC') #>> '{}' || 'Z',
                                  'fence', g.fence, 'queueLength', 0))))
               from granted g
           )
           select g.pipeline_id, g.fence, g.holder_id as "holder_id!", g.holder_name as "holder_name!", g.holder_kind as "holder_kind!",
                  g.owner_token_id, g.holder_token_name,
                  g.claimed_at as "claimed_at!", g.expires_at as "expires_at!", g.max_expires_at as "max_expires_at!",
                  floor(extract(epoch from g.expires_at - clock_timestamp()) * 1000)::bigint as "lease_remaining_ms!",
                  floor(extract(epoch from g.max_expires_at - clock_timestamp()) * 1000)::bigint as "max_remaining_ms!"
           from granted g"#,
        principal.organization_id.uuid(),
        request.pipeline.id(),
        request.pipeline.slug(),
        request.environment,
        claim.session.uuid(),
        claim.context,
        claim.ttl_seconds,
        principal.credential.uuid(),
        &holder_roles(),
        actor_payload(request),
        context_payload(request),
        Action::SessionHold.scope().as_str(),
    )
    .fetch_optional(connection)
    .await?;
    Ok(row.map(|row| {
        let (claimed_at, expires_at) = (row.claimed_at.to_jiff(), row.expires_at.to_jiff());
        let max_expires_at = row.max_expires_at.to_jiff();
        let context = claim.context.map(str::to_owned);
        let token = service_token(row.owner_token_id, row.holder_token_name);
        let holder = Holder {
            session_id: claim.session,
            user_id: row.holder_id.into(),
            name: row.holder_name.clone(),
            kind: row.holder_kind.clone(),
            token: token.clone(),
            context: context.clone(),
            commit_id: None,
            claimed_at,
            expires_at,
            max_expires_at,
            confirmed: true,
            fence: row.fence,
        };
        let session = Session {
            id: claim.session,
            status: SessionStatus::Active,
            heartbeat_by: None,
            confirm_by: None,
            unsettled: false,
            user_id: row.holder_id.into(),
            user_name: row.holder_name,
            user_kind: row.holder_kind,
            token,
            context,
            commit_id: None,
            fence: Some(row.fence),
            position: None,
            queued_at: None,
            claimed_at: Some(claimed_at),
            expires_at: Some(expires_at),
            max_expires_at: Some(max_expires_at),
            lease_remaining_ms: Some(row.lease_remaining_ms.max(0)),
            max_remaining_ms: Some(row.max_remaining_ms.max(0)),
            ended_at: None,
            ended_by: None,
            ended_by_name: None,
            override_session_id: None,
            override_reason: None,
            handover_declined: None,
            previous_session_id: None,
        };
        FastPathResult {
            session,
            pipeline_id: row.pipeline_id.into(),
            lock: LockView { holder: Some(holder), queue_length: 0, handover: None, cleanup_failed: None },
            deployed: false,
        }
    }))
}

async fn release(
    connection: &mut PgConnection,
    request: GrantRequest<'_>,
    session: SessionId,
) -> Result<Option<FastPathResult>, StoreError> {
    let GrantRequest { principal, .. } = request;
    // `before` is the row before the update. Its values are used only if the updated row still has the same
    // ones. The session is found by its id alone: with an additional condition on its environment, a plan may
    // read all sessions of that environment.
    let row = sqlx::query!(
        r#"with released as (
               update environments e
               set fence = e.fence + 1, session_id = null, holder_id = null, holder_name = null, holder_kind = null,
                   owner_token_id = null, holder_token_name = null,
                   context = null, commit_id = null, lease_seconds = null, claimed_at = null, expires_at = null,
                   max_expires_at = null, confirmed = true, free_since = clock_timestamp()
               from api_tokens t, memberships m, pipelines p, environments before
               where t.organization_id = $1 and t.id = $6 and t.revoked_at is null
                 and (t.expires_at is null or t.expires_at > clock_timestamp())
                 and m.organization_id = $1 and m.user_id = t.user_id and m.removed_at is null and m.role = any($7)
                 and $10 = any(t.scopes)
                 and p.organization_id = $1
                 and p.id = coalesce($2, (select id from pipelines
                     where organization_id = $1 and slug = $3 and status <> 'archived'))
                 and e.organization_id = $1 and e.pipeline_id = p.id and e.name = $4
                 and before.organization_id = $1 and before.id = e.id
                 and before.session_id = e.session_id and before.expires_at = e.expires_at
                 and e.session_id = $5 and e.holder_id = m.user_id
                 and case when t.lineage is null then e.owner_token_id is null else e.owner_token_id = any(t.lineage) end
                 and e.expires_at > clock_timestamp()
                 and e.waiters = 0 and e.slot_deployment_id is null and not e.cleanup
               returning e.id, e.pipeline_id, e.name, m.user_id, m.name as user_name, before.expires_at, e.free_since
           ),
           ended as (
               update sessions s
               set status = 'released', ended_at = r.free_since, ended_by = r.user_id, ended_by_name = r.user_name,
                   expires_at = r.expires_at
               from released r
               where s.organization_id = $1 and s.id = $5 and s.status = 'active'
               returning s.user_id, s.user_name, s.user_kind, s.owner_token_id, s.token_name, s.context, s.commit_id, s.fence, s.queued_at, s.claimed_at,
                   s.expires_at, s.max_expires_at, s.ended_at, s.ended_by_name
           ),
           told as (
               insert into event_intake (organization_id, type, category, subject, actor_id, data)
               select $1, 'session.released', 'deployment',
                      'pipelines/pip_' || r.pipeline_id || '/ephemeral-environments/' || r.name, r.user_id,
                      jsonb_build_object('actor', $8::jsonb, 'context', $9::jsonb, 'before', null, 'reason', null,
                          'after', jsonb_build_object('sessionId', 'ses_' || $5::uuid, 'envName', r.name,
                              'pipelineId', 'pip_' || r.pipeline_id, 'fence', null, 'queueLength', 0,
                              'lock', jsonb_build_object('status', 'free', 'queueLength', 0)))
               from released r
           )
           select r.pipeline_id, s.user_id, s.user_name, s.user_kind, s.owner_token_id, s.token_name, s.context, s.commit_id, s.fence as "fence!", s.queued_at,
                  s.claimed_at, s.expires_at, s.max_expires_at, s.ended_at, s.ended_by_name,
                  exists (select 1 from deployments d where d.organization_id = $1 and d.session_id = $5) as "deployed!"
           from ended s, released r"#,
        principal.organization_id.uuid(),
        request.pipeline.id(),
        request.pipeline.slug(),
        request.environment,
        session.uuid(),
        principal.credential.uuid(),
        &holder_roles(),
        actor_payload(request),
        context_payload(request),
        Action::SessionHold.scope().as_str(),
    )
    .fetch_optional(connection)
    .await?;
    let time = |at: Option<jiff_sqlx::Timestamp>| at.map(jiff_sqlx::Timestamp::to_jiff);
    Ok(row.map(|row| FastPathResult {
        session: Session {
            id: session,
            status: SessionStatus::Released,
            heartbeat_by: None,
            confirm_by: None,
            unsettled: false,
            user_id: row.user_id.into(),
            user_name: row.user_name,
            user_kind: row.user_kind,
            token: service_token(row.owner_token_id, row.token_name),
            context: row.context,
            commit_id: row.commit_id,
            fence: Some(row.fence),
            position: None,
            queued_at: time(row.queued_at),
            claimed_at: time(row.claimed_at),
            expires_at: time(row.expires_at),
            max_expires_at: time(row.max_expires_at),
            lease_remaining_ms: None,
            max_remaining_ms: None,
            ended_at: time(row.ended_at),
            ended_by: Some(row.user_id.into()),
            ended_by_name: row.ended_by_name,
            override_session_id: None,
            override_reason: None,
            handover_declined: None,
            previous_session_id: None,
        },
        pipeline_id: row.pipeline_id.into(),
        lock: LockView { holder: None, queue_length: 0, handover: None, cleanup_failed: None },
        deployed: row.deployed,
    }))
}

/// Half of the pool's connections may be cached. The other half is for everything else.
fn max_cached_connections(pool: &PgPool) -> usize {
    pool.options().get_max_connections() as usize / 2
}

/// Returns the roles that may hold a session.
pub(crate) fn holder_roles() -> Vec<String> {
    let may_hold = |role: &&Role| is_allowed(**role, Action::SessionHold);
    Role::ALL.iter().filter(may_hold).map(|role| role.as_str().to_owned()).collect()
}

fn actor(request: GrantRequest<'_>) -> Actor {
    let (principal, request_id) = (Box::new(request.principal.clone()), request.request_id.to_owned());
    Actor::Principal { principal, request_id }
}

fn actor_payload(request: GrantRequest<'_>) -> serde_json::Value {
    actor(request).event_payload()
}

fn context_payload(request: GrantRequest<'_>) -> serde_json::Value {
    actor(request).context()
}
