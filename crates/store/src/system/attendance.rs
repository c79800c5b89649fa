//! Who watches an environment in which they wait: an open stream is the sign of life that a waiter has to give.

use std::collections::HashMap;

use greenroom_domain::environment::Command;
use greenroom_domain::id::{EnvironmentId, OrganizationId, UserId};

use crate::lock::NewSession;
use crate::{Store, StoreError};

/// A user who has a stream of an environment's events open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Attendant {
    pub organization_id: OrganizationId,
    pub environment_id: EnvironmentId,
    pub user_id: UserId,
}

/// An environment, and those who wait for it and watch it.
pub type Attended = HashMap<(OrganizationId, EnvironmentId), Vec<UserId>>;

impl Store {
    /// Of those who watch, the ones who wait. One query, however many watch.
    pub async fn waiting_attendants(&self, watching: &[Attendant]) -> Result<Attended, StoreError> {
        let organizations: Vec<uuid::Uuid> = watching.iter().map(|one| one.organization_id.uuid()).collect();
        let environments: Vec<uuid::Uuid> = watching.iter().map(|one| one.environment_id.uuid()).collect();
        let users: Vec<uuid::Uuid> = watching.iter().map(|one| one.user_id.uuid()).collect();
        let rows = sqlx::query!(
            "select distinct s.organization_id, s.environment_id, s.user_id
             from unnest($1::uuid[], $2::uuid[], $3::uuid[]) as w (organization_id, environment_id, user_id)
             join sessions s on s.organization_id = w.organization_id and s.environment_id = w.environment_id
                and s.user_id = w.user_id and s.waiting",
            &organizations,
            &environments,
            &users,
        )
        .fetch_all(&self.pool())
        .await?;
        let mut attended = Attended::new();
        for row in rows {
            let place = (row.organization_id.into(), row.environment_id.into());
            attended.entry(place).or_default().push(row.user_id.into());
        }
        Ok(attended)
    }

    /// Writes down that these users are there. Like whatever changes a queue, it takes the environment's row first.
    pub async fn attend(
        &self,
        (organization, environment): (OrganizationId, EnvironmentId),
        users: &[UserId],
    ) -> Result<(), StoreError> {
        let mut change = self.change_by_clock(organization).await?;
        if let Some(mut locked) = change.lock_environment_by_id(environment).await? {
            for user in users {
                let _never_refused =
                    change.apply(&mut locked, Command::Attend(*user), &NewSession::default()).await?;
            }
        }
        change.commit().await
    }
}
