//! The sweeper: records what is decided by time alone, such as expired leases, missing heartbeats and turns
//! in the queue.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::environment::LockCommand;
use greenroom_domain::id::{EnvironmentId, OrganizationId};

use crate::lock::NewSession;
use crate::{Store, StoreError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DueEnvironment {
    pub organization_id: OrganizationId,
    pub environment_id: EnvironmentId,
}

#[boxed_futures]
impl Store {
    /// Returns up to `limit` environments that may be due for a sweep, without the `delayed` ones. Sweeping
    /// an environment too early only postpones its next sweep. Organizations take turns: the first
    /// environment of each comes before the second of any.
    pub async fn due_environments(
        &self,
        limit: i64,
        delayed: &[EnvironmentId],
    ) -> Result<Vec<DueEnvironment>, StoreError> {
        let delayed: Vec<uuid::Uuid> = delayed.iter().map(|environment| environment.uuid()).collect();
        let rows = sqlx::query!(
            "select organization_id, environment_id
             from (select organization_id, id as environment_id, sweep_at,
                          row_number() over (partition by organization_id order by sweep_at) as turn
                   from environments where sweep_at <= clock_timestamp() and id <> all($2)) due
             order by turn, sweep_at limit $1",
            limit,
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

    /// Settles one environment. Idempotent, and safe to call concurrently from several daemons.
    pub async fn sweep_environment(&self, due: DueEnvironment) -> Result<(), StoreError> {
        let mut transaction = self.system_transaction(due.organization_id).await?;
        if let Some(mut locked) = transaction.lock_environment_by_id(due.environment_id).await? {
            let _always_granted =
                transaction.apply(&mut locked, LockCommand::Sweep, &NewSession::default()).await?;
            transaction.set_next_sweep(&locked).await?;
        }
        transaction.commit().await
    }
}
