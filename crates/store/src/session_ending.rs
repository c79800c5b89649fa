//! Ends sessions of a member who may no longer hold sessions, of users who have lost a grant, or of a pipeline
//! that is archived. Rows are locked in the same order as everywhere: the group, the member or the pipeline
//! first, then environments by their ids.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::environment::{Effect, LockCommand};
use greenroom_domain::id::{EnvironmentId, PipelineId, SessionId, UserId};
use greenroom_domain::session::SessionStatus;

use crate::StoreError;
use crate::error::parse_column;
use crate::grant::holder_roles;
use crate::lock::NewSession;
use crate::transaction::OrgTransaction;

/// The maximum number of sessions that one transaction ends. The rest are ended afterwards, in the
/// background.
pub const MAX_PER_TRANSACTION: i64 = 500;

/// Whose sessions are ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionsOf {
    /// Those of a member whose role is not enough any more, except where a grant is.
    Member(UserId),
    Pipeline(PipelineId),
    /// Those in these pipelines whose users may not hold sessions there, neither by their role nor by a grant.
    WithoutRight(Vec<PipelineId>),
}

impl SessionsOf {
    fn user(&self) -> Option<uuid::Uuid> {
        match self {
            Self::Member(user) => Some(user.uuid()),
            Self::Pipeline(_) | Self::WithoutRight(_) => None,
        }
    }

    fn pipelines(&self) -> Option<Vec<uuid::Uuid>> {
        match self {
            Self::Member(_) => None,
            Self::Pipeline(pipeline) => Some(vec![pipeline.uuid()]),
            Self::WithoutRight(pipelines) => Some(pipelines.iter().map(|pipeline| pipeline.uuid()).collect()),
        }
    }
}

/// A session that is waiting or active.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveSession {
    pub id: SessionId,
    pub environment_id: EnvironmentId,
    pub pipeline_id: PipelineId,
    pub env_name: String,
    pub status: SessionStatus,
    pub user_id: UserId,
    pub user_name: String,
}

#[boxed_futures]
impl OrgTransaction {
    /// Returns the waiting and active sessions, ordered by environment. Within an environment, waiting
    /// sessions come first.
    pub async fn live_sessions(&mut self, of: &SessionsOf) -> Result<Vec<LiveSession>, StoreError> {
        let organization = self.organization();
        let pipelines = of.pipelines();
        // Active sessions are found through their environments, and waiting ones by an index, so ended
        // sessions are not read.
        let rows = sqlx::query!(
            r#"select e.id as "environment_id!", e.pipeline_id as "pipeline_id!", e.name as "name!", s.id as "id!",
                      s.status as "status!", s.user_id as "user_id!", s.user_name as "user_name!"
               from environments e
               join sessions s on s.organization_id = $1 and s.id = e.session_id
               where e.organization_id = $1 and e.session_id is not null and e.expires_at > clock_timestamp()
                 and ($2::uuid is null or e.holder_id = $2) and ($3::uuid[] is null or e.pipeline_id = any($3))
                 and (not $5 or not exists (select 1 from user_grants g
                     where g.organization_id = $1 and g.pipeline_id = e.pipeline_id and g.user_id = e.holder_id
                       and g.role = any($7)))
                 and (not $6 or not exists (select 1 from memberships m
                     where m.organization_id = $1 and m.user_id = e.holder_id and m.removed_at is null
                       and m.role = any($7)))
               union all
               select e.id, e.pipeline_id, e.name, s.id, s.status, s.user_id, s.user_name
               from sessions s
               join environments e on e.organization_id = $1 and e.id = s.environment_id
               where s.organization_id = $1 and s.waiting
                 and ($2::uuid is null or s.user_id = $2) and ($3::uuid[] is null or e.pipeline_id = any($3))
                 and (not $5 or not exists (select 1 from user_grants g
                     where g.organization_id = $1 and g.pipeline_id = e.pipeline_id and g.user_id = s.user_id
                       and g.role = any($7)))
                 and (not $6 or not exists (select 1 from memberships m
                     where m.organization_id = $1 and m.user_id = s.user_id and m.removed_at is null
                       and m.role = any($7)))
               order by 1, 5 desc, 4
               limit $4"#,
            organization,
            of.user(),
            pipelines.as_deref(),
            MAX_PER_TRANSACTION,
            !matches!(of, SessionsOf::Pipeline(_)),
            matches!(of, SessionsOf::WithoutRight(_)),
            &holder_roles(),
        )
        .fetch_all(self.connection())
        .await?;
        rows.into_iter()
            .map(|row| {
                Ok(LiveSession {
                    id: row.id.into(),
                    environment_id: row.environment_id.into(),
                    pipeline_id: row.pipeline_id.into(),
                    env_name: row.name,
                    status: parse_column("sessions.status", &row.status)?,
                    user_id: row.user_id.into(),
                    user_name: row.user_name,
                })
            })
            .collect()
    }

    /// Ends the sessions like a release, including their deployments and clean-ups. Returns the sessions that
    /// were ended. Until [`OrgTransaction::commit`], and for a while after it, a concurrent grant may create
    /// another session. It is ended in the background (`system::session_ending`).
    pub async fn end_sessions(
        &mut self,
        of: &SessionsOf,
        reason: &str,
    ) -> Result<Vec<LiveSession>, StoreError> {
        let organization = self.organization();
        match of {
            SessionsOf::Member(_) | SessionsOf::Pipeline(_) => {
                let pipeline = of.pipelines().and_then(|pipelines| pipelines.first().copied());
                sqlx::query!(
                    "insert into session_endings (organization_id, user_id, pipeline_id, reason) values ($1, $2, $3, $4)",
                    organization,
                    of.user(),
                    pipeline,
                    reason,
                )
                .execute(self.connection())
                .await?;
            }
            SessionsOf::WithoutRight(_) => {
                sqlx::query!(
                    "insert into grant_endings (organization_id, pipeline_id, reason) select $1, unnest($2::uuid[]), $3",
                    organization,
                    &of.pipelines().unwrap_or_default(),
                    reason,
                )
                .execute(self.connection())
                .await?;
            }
        }
        self.end_live_sessions(of, reason).await
    }

    pub(crate) async fn end_live_sessions(
        &mut self,
        of: &SessionsOf,
        reason: &str,
    ) -> Result<Vec<LiveSession>, StoreError> {
        let with_reason = NewSession { context: Some(reason.to_owned()), ..NewSession::default() };
        let live = self.live_sessions(of).await?;
        let mut ended = Vec::with_capacity(live.len());
        let environments = live.iter().map(|session| session.environment_id.uuid()).collect();
        self.lock_environment_rows(environments).await?;
        let mut locked = None;
        for session in live {
            if locked.as_ref().is_none_or(|(id, _)| *id != session.environment_id) {
                let environment = self.lock_environment_by_id(session.environment_id).await?;
                locked = environment.map(|environment| (session.environment_id, environment));
            }
            let Some((_, environment)) = &mut locked else { continue };
            let applied = self.apply(environment, LockCommand::Release(session.id), &with_reason).await?;
            // The session may have ended before its environment was locked.
            let effects = applied.unwrap_or_default();
            if effects
                .iter()
                .any(|effect| matches!(effect, Effect::Ended { session: id, .. } if *id == session.id))
            {
                ended.push(session);
            }
        }
        Ok(ended)
    }

    /// Locks the rows of all environments before the first one is changed: a change may grant a session to a waiter
    /// with a session limit, and the lock of those limits comes after all rows.
    async fn lock_environment_rows(&mut self, mut ids: Vec<uuid::Uuid>) -> Result<(), StoreError> {
        ids.sort_unstable();
        ids.dedup();
        let organization = self.organization();
        sqlx::query!(
            "select id from environments where organization_id = $1 and id = any($2) order by id for update",
            organization,
            &ids,
        )
        .fetch_all(self.connection())
        .await?;
        Ok(())
    }
}
