//! Which waiting sessions have a stream open: an open stream of a session keeps its place in the queue.

use std::collections::HashMap;

use greenroom_domain::environment::Command;
use greenroom_domain::id::{EnvironmentId, OrganizationId, SessionId, TokenId};
use greenroom_domain::policy::Action;

use crate::grant::holders;
use crate::lock::NewSession;
use crate::{Store, StoreError};

/// A session of which a stream is open, and the token that opened it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Attendant {
    pub organization_id: OrganizationId,
    pub environment_id: EnvironmentId,
    pub session_id: SessionId,
    pub token_id: TokenId,
}

/// An environment, and the waiting sessions of which a stream is open.
pub type Attended = HashMap<(OrganizationId, EnvironmentId), Vec<SessionId>>;

impl Store {
    /// The sessions that wait, and whose stream was opened with a token that may still hold a session. One query for all streams.
    pub async fn waiting_attendants(&self, watching: &[Attendant]) -> Result<Attended, StoreError> {
        let organizations: Vec<uuid::Uuid> = watching.iter().map(|one| one.organization_id.uuid()).collect();
        let environments: Vec<uuid::Uuid> = watching.iter().map(|one| one.environment_id.uuid()).collect();
        let sessions: Vec<uuid::Uuid> = watching.iter().map(|one| one.session_id.uuid()).collect();
        let tokens: Vec<uuid::Uuid> = watching.iter().map(|one| one.token_id.uuid()).collect();
        let rows = sqlx::query!(
            "select distinct s.organization_id, s.environment_id, s.id
             from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[])
                as w (organization_id, environment_id, session_id, token_id)
             join sessions s on s.organization_id = w.organization_id and s.environment_id = w.environment_id
                and s.id = w.session_id and s.waiting
             join api_tokens t on t.organization_id = w.organization_id and t.id = w.token_id and t.revoked_at is null
                and (t.expires_at is null or t.expires_at > clock_timestamp()) and $6 = any(t.scopes)
             join memberships m on m.organization_id = w.organization_id and m.user_id = t.user_id
                and m.removed_at is null and m.role = any($5) and m.user_id = s.user_id",
            &organizations,
            &environments,
            &sessions,
            &tokens,
            &holders(),
            Action::SessionHold.scope().as_str(),
        )
        .fetch_all(&self.pool())
        .await?;
        let mut attended = Attended::new();
        for row in rows {
            let place = (row.organization_id.into(), row.environment_id.into());
            attended.entry(place).or_default().push(row.id.into());
        }
        Ok(attended)
    }

    /// Keeps the places of these sessions. Like every change of a queue, it locks the environment's row first.
    pub async fn attend(
        &self,
        (organization, environment): (OrganizationId, EnvironmentId),
        sessions: &[SessionId],
    ) -> Result<(), StoreError> {
        let mut change = self.change_by_clock(organization).await?;
        if let Some(mut locked) = change.lock_environment_by_id(environment).await? {
            for session in sessions {
                let _never_refused =
                    change.apply(&mut locked, Command::Attend(*session), &NewSession::default()).await?;
            }
        }
        change.commit().await
    }
}
