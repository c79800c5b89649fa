//! The lease of a job: how long it stays assigned to its runner without a heartbeat.

use std::time::Duration;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::deployment::Reason;

use super::JobCredentials;
use crate::error::{from_column, parse_nullable_column};
use crate::{Store, StoreError};

/// The response to a heartbeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeartbeatResult {
    pub cancel: Option<Reason>,
    pub grace_seconds: u32,
    /// The remaining time of the lease.
    pub lease: Duration,
    pub task_token: Option<Vec<u8>>,
}

#[boxed_futures]
impl Store {
    /// Renews a job's lease. Returns `None` if the job is no longer assigned to this runner. The lease is not
    /// renewed beyond the job's limit, so that a job that is overdue, or was canceled and does not end, loses
    /// its lease however many heartbeats its runner sends. A renewal never shortens the lease.
    pub async fn renew_job_lease(
        &self,
        credentials: JobCredentials<'_>,
        lease: Duration,
    ) -> Result<Option<HeartbeatResult>, StoreError> {
        let row = sqlx::query!(
            r#"update jobs j
               set lease_expires_at = case
                   when j.lease_limit is null then clock_timestamp() + $5 * interval '1 second'
                   else least(clock_timestamp() + $5 * interval '1 second', greatest(j.lease_limit, j.lease_expires_at))
               end
               from deployments d
               where j.organization_id = $1 and j.id = $2 and j.runner_id = $3 and j.secret_hash = $4
                 and j.status = 'running' and j.lease_expires_at > clock_timestamp()
                 and d.organization_id = $1 and d.id = j.deployment_id
               returning coalesce(j.cancel_reason, d.cancel_reason) as cancel, d.cancel_grace_seconds, j.task_token,
                   coalesce(j.lease_limit <= j.lease_expires_at, false) as "limited!",
                   extract(epoch from j.lease_expires_at - clock_timestamp())::float8 as "left!""#,
            credentials.runner.organization_id.uuid(),
            credentials.job.uuid(),
            credentials.runner.id.uuid(),
            credentials.secret.as_slice(),
            lease.as_secs_f64(),
        )
        .fetch_optional(&self.pool())
        .await?;
        let Some(row) = row else { return Ok(None) };
        Ok(Some(HeartbeatResult {
            cancel: parse_nullable_column("jobs.cancel_reason", row.cancel.as_deref())?,
            grace_seconds: from_column("deployments.cancel_grace_seconds", row.cancel_grace_seconds)?,
            lease: if row.limited { remaining(row.left) } else { lease },
            task_token: row.task_token,
        }))
    }

    /// Puts a job back into the queue, because its runner disconnected before the job could be sent to it.
    pub async fn requeue_job(&self, credentials: JobCredentials<'_>) -> Result<(), StoreError> {
        let mut transaction = self.system_transaction(credentials.runner.organization_id).await?;
        let organization = transaction.organization();
        let row = sqlx::query!(
            "update jobs set status = 'queued', runner_id = null, runner_name = null, secret_hash = null, task_token = null,
                 started_at = null, lease_expires_at = null, lease_limit = null
             where organization_id = $1 and id = $2 and secret_hash = $3 and status = 'running' and not touched
             returning deployment_id, stage_key",
            organization,
            credentials.job.uuid(),
            credentials.secret.as_slice(),
        )
        .fetch_optional(transaction.connection())
        .await?;
        if let Some(row) = row {
            sqlx::query!(
                "update stages set status = 'queued'
                 where organization_id = $1 and deployment_id = $2 and key = $3 and status = 'running'",
                organization,
                row.deployment_id,
                row.stage_key,
            )
            .execute(transaction.connection())
            .await?;
            transaction.wake(row.deployment_id.into()).await?;
        }
        transaction.commit().await
    }
}

/// Returns a remaining time. It is zero if the time has passed since the database computed its end.
fn remaining(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}
