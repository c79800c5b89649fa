//! How long a job stays its runner's.

use std::time::Duration;

use super::JobWord;
use crate::{Store, StoreError, planted};

/// What a heartbeat is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beat {
    pub cancel: Option<String>,
    pub grace_seconds: i32,
    /// How much longer the job is its runner's.
    pub lease: Duration,
    pub task_token: Option<Vec<u8>>,
}

impl Store {
    /// Renews a job's lease; `None` if it is not this runner's any more. It is not renewed beyond the job's limit, so that
    /// a job that is overdue, or was canceled and does not end, loses its lease however often its runner asks. What the
    /// runner was promised before stays promised.
    pub async fn beat(&self, word: JobWord<'_>, lease: Duration) -> Result<Option<Beat>, StoreError> {
        planted::forget_lease_limit(self, word).await?;
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
            word.runner.organization_id.uuid(),
            word.job.uuid(),
            word.runner.id.uuid(),
            word.secret.as_slice(),
            lease.as_secs_f64(),
        )
        .fetch_optional(&self.pool())
        .await?;
        Ok(row.map(|row| Beat {
            cancel: row.cancel,
            grace_seconds: row.cancel_grace_seconds,
            lease: if row.limited {
                Duration::try_from_secs_f64(row.left).unwrap_or_default()
            } else {
                lease
            },
            task_token: row.task_token,
        }))
    }

    /// Takes back a job from a runner that hung up before it could be told of it.
    pub async fn take_job_back(&self, word: JobWord<'_>) -> Result<(), StoreError> {
        let mut change = self.change_by_clock(word.runner.organization_id).await?;
        let organization = change.organization();
        let row = sqlx::query!(
            "update jobs set status = 'queued', runner_id = null, runner_name = null, secret_hash = null, task_token = null,
                 started_at = null, lease_expires_at = null, lease_limit = null
             where organization_id = $1 and id = $2 and secret_hash = $3 and status = 'running' and not touched
             returning deployment_id, stage_key",
            organization,
            word.job.uuid(),
            word.secret.as_slice(),
        )
        .fetch_optional(change.connection())
        .await?;
        if let Some(row) = row {
            sqlx::query!(
                "update stages set status = 'queued'
                 where organization_id = $1 and deployment_id = $2 and key = $3 and status = 'running'",
                organization,
                row.deployment_id,
                row.stage_key,
            )
            .execute(change.connection())
            .await?;
            change.wake(row.deployment_id.into()).await?;
        }
        change.commit().await
    }
}
