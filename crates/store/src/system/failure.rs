//! Failures whose evidence is to be collected, or whose verdict is to be decided again, of all organizations.

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::OrganizationId;

use crate::error::{from_column, parse_column};
use crate::failure::{DueFailure, FailedAttempt, LEASE};
use crate::{Store, StoreError};

#[boxed_futures]
impl Store {
    /// Deletes up to `limit` failures that are past their retention. Returns their number.
    pub async fn delete_old_failures(&self, retention_days: i32, limit: i64) -> Result<u64, StoreError> {
        let deleted = sqlx::query!(
            "delete from failures where ctid = any(array(
                 select ctid from failures where failed_at < clock_timestamp() - make_interval(days => $1) limit $2
             ))",
            retention_days,
            limit,
        )
        .execute(&self.pool())
        .await?;
        Ok(deleted.rows_affected())
    }

    /// Leases the failure that is due the longest, of all organizations but the busy ones.
    pub async fn lease_due_failure(&self, busy: &[OrganizationId]) -> Result<Option<DueFailure>, StoreError> {
        let busy: Vec<uuid::Uuid> = busy.iter().map(|organization| organization.uuid()).collect();
        let row = sqlx::query!(
            r#"update failures f set leased_until = clock_timestamp() + $1 * interval '1 second'
               from (select organization_id, id from failures
                     where due_at <= clock_timestamp() and (leased_until is null or leased_until <= clock_timestamp())
                       and not organization_id = any($2)
                     order by due_at limit 1 for update skip locked) due
               where f.organization_id = due.organization_id and f.id = due.id
               returning f.organization_id, f.id, f.collected_at is not null as "is_collected!", f.tries, f.pipeline_id,
                         f.deployment_id, f.stage_key, f.attempt, f.job_id, f.step_run_id, f.step, f.place, f.template,
                         f.commit_id, f.branch, f.definition_version, f.created_by, f.status, f.reason, f.detail,
                         f.exit_code, f.failed_at, f.leased_until as "leased_until!""#,
            LEASE.as_secs_f64(),
            &busy,
        )
        .fetch_optional(&self.pool())
        .await?;
        let Some(row) = row else { return Ok(None) };
        Ok(Some(DueFailure {
            organization_id: row.organization_id.into(),
            id: row.id.into(),
            is_collected: row.is_collected,
            tries: from_column("failures.tries", row.tries)?,
            attempt: FailedAttempt {
                pipeline_id: row.pipeline_id.into(),
                deployment_id: row.deployment_id.into(),
                stage_key: row.stage_key,
                attempt: from_column("failures.attempt", row.attempt)?,
                job_id: row.job_id.map(Into::into),
                step_run_id: row.step_run_id.map(Into::into),
                step: row.step,
                place: row.place,
                template: row.template,
                commit_id: row.commit_id,
                branch: row.branch,
                definition_version: row.definition_version,
                created_by: row.created_by.into(),
                status: parse_column("failures.status", &row.status)?,
                reason: parse_column("failures.reason", &row.reason)?,
                detail: row.detail,
                exit_code: row.exit_code,
                failed_at: row.failed_at.to_jiff(),
            },
            leased_until: row.leased_until.to_jiff(),
        }))
    }
}
