//! What the clock has decided, found and written down: leases that ran out, waiters that fell silent, turns that came.

use greenroom_domain::environment::Command;
use greenroom_domain::id::{EnvironmentId, OrganizationId};

use crate::lock::NewSession;
use crate::{Store, StoreError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DueEnvironment {
    pub organization_id: OrganizationId,
    pub environment_id: EnvironmentId,
}

impl Store {
    /// Environments in which the time of something may have come. Those that are looked at too early are put off.
    pub async fn due_environments(&self, at_most: i64) -> Result<Vec<DueEnvironment>, StoreError> {
        let rows = sqlx::query!(
            "select organization_id, id as environment_id from environments
             where sweep_at <= clock_timestamp() order by sweep_at limit $1",
            at_most,
        )
        .fetch_all(&self.pool())
        .await?;
        Ok(rows
            .into_iter()
            .map(|row| DueEnvironment {
                organization_id: row.organization_id.into(),
                environment_id: row.environment_id.into(),
            })
            .collect())
    }

    /// Settles one environment. Safe to do at any time, any number of times, from any number of daemons.
    pub async fn sweep_environment(&self, due: DueEnvironment) -> Result<(), StoreError> {
        let mut change = self.change_by_clock(due.organization_id).await?;
        if let Some(mut locked) = change.lock_environment_by_id(due.environment_id).await? {
            let _always_granted = change.apply(&mut locked, Command::Sweep, &NewSession::default()).await?;
            change.put_off(&locked).await?;
        }
        change.commit().await
    }
}
