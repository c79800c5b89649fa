//! Heartbeats of watchers: an open stream of a waiting session keeps the session's place in the queue.

use std::collections::HashMap;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::environment::LockCommand;
use greenroom_domain::id::{EnvironmentId, OrganizationId, SessionId};
use greenroom_domain::policy::Action;
use greenroom_domain::principal::Credential;

use crate::grant::holder_roles;
use crate::lock::NewSession;
use crate::{Store, StoreError};

/// An open stream of a session, and the token or browser session that opened it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Watcher {
    pub organization_id: OrganizationId,
    pub environment_id: EnvironmentId,
    pub session_id: SessionId,
    pub credential: Credential,
}

/// Waiting sessions with an open stream, by environment.
pub type WatchedSessions = HashMap<(OrganizationId, EnvironmentId), Vec<SessionId>>;

#[boxed_futures]
impl Store {
    /// Returns the waiting sessions whose stream was opened with a token or browser session that may still hold
    /// a session. One query for all streams.
    pub async fn waiting_watched_sessions(
        &self,
        watchers: &[Watcher],
    ) -> Result<WatchedSessions, StoreError> {
        let organizations: Vec<uuid::Uuid> = watchers.iter().map(|one| one.organization_id.uuid()).collect();
        let environments: Vec<uuid::Uuid> = watchers.iter().map(|one| one.environment_id.uuid()).collect();
        let sessions: Vec<uuid::Uuid> = watchers.iter().map(|one| one.session_id.uuid()).collect();
        let credentials: Vec<uuid::Uuid> = watchers.iter().map(|one| one.credential.uuid()).collect();
        let rows = sqlx::query!(
            "select distinct s.organization_id, s.environment_id, s.id
             from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[])
                as w (organization_id, environment_id, session_id, credential_id)
             join sessions s on s.organization_id = w.organization_id and s.environment_id = w.environment_id
                and s.id = w.session_id and s.waiting
             left join api_tokens t on t.organization_id = w.organization_id and t.id = w.credential_id
                and t.revoked_at is null and (t.expires_at is null or t.expires_at > clock_timestamp())
                and $6 = any(t.scopes)
             left join live_browser_sessions b on b.id = w.credential_id
             join memberships m on m.organization_id = w.organization_id and m.user_id = coalesce(t.user_id, b.user_id)
                and m.removed_at is null and m.user_id = s.user_id
                and case when t.lineage is null then s.owner_token_id is null else s.owner_token_id = any(t.lineage) end
             where m.role = any($5) or exists (select 1 from environments e
                join user_grants g on g.organization_id = e.organization_id and g.pipeline_id = e.pipeline_id
                where e.organization_id = w.organization_id and e.id = w.environment_id and g.user_id = m.user_id
                  and g.role = any($5))",
            &organizations,
            &environments,
            &sessions,
            &credentials,
            &holder_roles(),
            Action::SessionHold.scope().as_str(),
        )
        .fetch_all(&self.pool())
        .await?;
        let mut watched = WatchedSessions::new();
        for row in rows {
            let environment = (row.organization_id.into(), row.environment_id.into());
            watched.entry(environment).or_default().push(row.id.into());
        }
        Ok(watched)
    }

    /// Records heartbeats of these sessions, which keep their places. Like every change of a queue, this
    /// locks the environment's row first.
    pub async fn record_watcher_heartbeats(
        &self,
        organization: OrganizationId,
        environment: EnvironmentId,
        sessions: &[SessionId],
    ) -> Result<(), StoreError> {
        let mut transaction = self.system_transaction(organization).await?;
        if let Some(mut locked) = transaction.lock_environment_by_id(environment).await? {
            for session in sessions {
                let _never_refused = transaction
                    .apply(&mut locked, LockCommand::StreamHeartbeat(*session), &NewSession::default())
                    .await?;
            }
        }
        transaction.commit().await
    }
}
