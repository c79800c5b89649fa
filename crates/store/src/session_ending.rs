//! Ending sessions that their users did not end: when a member may not hold sessions any more, and when a pipeline is
//! archived. Rows are locked in the order of everything else: member or pipeline first, then environments by their ids.

use greenroom_domain::environment::{Command, Effect};
use greenroom_domain::id::{EnvironmentId, PipelineId, SessionId, UserId};
use greenroom_domain::session::SessionStatus;

use crate::StoreError;
use crate::change::Change;
use crate::error::word;
use crate::lock::NewSession;
use crate::planted::{self, Bug};

/// How many sessions are ended in one transaction; those beyond are ended after it, in the background.
pub const MAX_PER_TRANSACTION: i64 = 500;

/// Whose sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionsOf {
    Member(UserId),
    Pipeline(PipelineId),
}

impl SessionsOf {
    fn user(self) -> Option<uuid::Uuid> {
        match self {
            Self::Member(user) => Some(user.uuid()),
            Self::Pipeline(_) => None,
        }
    }

    fn pipeline(self) -> Option<uuid::Uuid> {
        match self {
            Self::Member(_) => None,
            Self::Pipeline(pipeline) => Some(pipeline.uuid()),
        }
    }
}

/// A session that waits or holds.
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

impl Change {
    /// The sessions that wait or hold, by environment; of one environment those that wait come first.
    pub async fn live_sessions(&mut self, of: SessionsOf) -> Result<Vec<LiveSession>, StoreError> {
        let organization = self.organization();
        // Held ones are found by their environments and waiting ones by their index: ended sessions are not looked at.
        let rows = sqlx::query!(
            r#"select e.id as "environment_id!", e.pipeline_id as "pipeline_id!", e.name as "name!", s.id as "id!",
                      s.status as "status!", s.user_id as "user_id!", s.user_name as "user_name!"
               from environments e
               join sessions s on s.organization_id = $1 and s.id = e.session_id
               where e.organization_id = $1 and e.session_id is not null and e.expires_at > clock_timestamp()
                 and ($2::uuid is null or e.holder_id = $2) and ($3::uuid is null or e.pipeline_id = $3)
               union all
               select e.id, e.pipeline_id, e.name, s.id, s.status, s.user_id, s.user_name
               from sessions s
               join environments e on e.organization_id = $1 and e.id = s.environment_id
               where s.organization_id = $1 and s.waiting
                 and ($2::uuid is null or s.user_id = $2) and ($3::uuid is null or e.pipeline_id = $3)
               order by 1, 5 desc, 4
               limit $4"#,
            organization,
            of.user(),
            of.pipeline(),
            MAX_PER_TRANSACTION,
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
                    status: word("sessions.status", &row.status)?,
                    user_id: row.user_id.into(),
                    user_name: row.user_name,
                })
            })
            .collect()
    }

    /// Ends the sessions as a release does, with their deployments and the clean-up after them. Returns those that this
    /// has ended. Until [`Change::commit`], and for a while after it, a concurrent grant may make another one: that one is
    /// ended in the background (`system::session_ending`).
    pub async fn end_sessions(
        &mut self,
        of: SessionsOf,
        reason: &str,
    ) -> Result<Vec<LiveSession>, StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "insert into session_endings (organization_id, user_id, pipeline_id, reason) values ($1, $2, $3, $4)",
            organization,
            of.user(),
            of.pipeline(),
            reason,
        )
        .execute(self.connection())
        .await?;
        self.end_live_sessions(of, reason).await
    }

    pub(crate) async fn end_live_sessions(
        &mut self,
        of: SessionsOf,
        reason: &str,
    ) -> Result<Vec<LiveSession>, StoreError> {
        if planted::is(Bug::RightsOutliveRole) {
            return Ok(Vec::new());
        }
        let because = NewSession { context: Some(reason.to_owned()), ..NewSession::default() };
        let live = self.live_sessions(of).await?;
        let mut ended = Vec::with_capacity(live.len());
        let mut locked = None;
        for session in live {
            if locked.as_ref().is_none_or(|(id, _)| *id != session.environment_id) {
                let environment = self.lock_environment_by_id(session.environment_id).await?;
                locked = environment.map(|environment| (session.environment_id, environment));
            }
            let Some((_, environment)) = &mut locked else { continue };
            let applied = self.apply(environment, Command::Release(session.id), &because).await?;
            // It may have ended by itself before its environment was locked.
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
}
