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
    /// Environments in which the time of something may have come, without the `delayed` ones. Those that are looked at too
    /// early are put off. Organizations take turns: the first of each comes before the second of any.
    pub async fn due_environments(
        &self,
        at_most: i64,
        delayed: &[EnvironmentId],
    ) -> Result<Vec<DueEnvironment>, StoreError> {
        let delayed: Vec<uuid::Uuid> = delayed.iter().map(|environment| environment.uuid()).collect();
        let rows = sqlx::query!(
            "select organization_id, environment_id
             from (select organization_id, id as environment_id, sweep_at,
                          row_number() over (partition by organization_id order by sweep_at) as turn
                   from environments where sweep_at <= clock_timestamp() and id <> all($2)) due
             order by turn, sweep_at limit $1",
            at_most,
            &delayed,
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
