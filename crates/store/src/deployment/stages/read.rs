//! Reads stages for the domain's machine.

use std::collections::BTreeMap;

use greenroom_domain::approval::Gate;
use greenroom_domain::deployment::{Blocker, Job, Stage};
use jiff::SignedDuration;

use crate::StoreError;
use crate::deployment::advance::LockedDeployment;
use crate::deployment::person::PersonRecord;
use crate::deployment::stage_columns::StageColumns;
use crate::error::{parse_column, parse_nullable_column};
use crate::transaction::{Actor, OrgTransaction};

impl OrgTransaction {
    /// Reads the stages of a locked deployment, with what this transaction has written.
    pub(crate) async fn read_stages(&mut self, deployment: &mut LockedDeployment) -> Result<(), StoreError> {
        let organization = self.organization();
        let rows = sqlx::query!(
            r#"select s.key, s.name, s.pool, s.needs, s.status, s.reason, s.verdict, s.verdict_reason, s.gated,
                      s.environment, s.blocker, s.approval_id, s.ignores_freeze,
                      s.timeout_seconds, s.attempts, s.backoff_seconds, s.retry_at, s.attempt, s.tried,
                      s.started_at as stage_started_at,
                      s.canceled_by, s.canceled_by_name, s.canceled_by_kind,
                      s.retried_by, s.retried_by_name, s.retried_by_kind,
                      j.status as "job_status?", j.reason as job_reason, j.queued_at as "queued_at?", j.started_at,
                      j.lease_expires_at, j.touched as "touched?", j.cancel_reason, j.runner_id, j.runner_name
               from stages s
               left join jobs j on j.organization_id = $1 and j.deployment_id = s.deployment_id
                   and j.stage_key = s.key and j.attempt = s.attempt
               where s.organization_id = $1 and s.deployment_id = $2
               order by s.position"#,
            organization,
            deployment.id.uuid(),
        )
        .fetch_all(self.connection())
        .await?;
        let time = |at: Option<jiff_sqlx::Timestamp>| at.map(jiff_sqlx::Timestamp::to_jiff);
        let (mut stages, mut columns) = (Vec::with_capacity(rows.len()), BTreeMap::new());
        let approvals: Vec<uuid::Uuid> = rows.iter().filter_map(|row| row.approval_id).collect();
        let approvals = self.lock_pending_approvals(&approvals).await?;
        deployment.approvals =
            approvals.into_iter().map(|approval| (approval.stage.clone(), approval)).collect();
        for row in rows {
            let runner = row.runner_id.zip(row.runner_name);
            let stage_columns = StageColumns {
                name: row.name,
                pool: row.pool,
                started_at: time(row.stage_started_at),
                runner: runner.map(|(id, name)| Actor::Runner { id: id.into(), name }),
                canceled_by: PersonRecord::of(row.canceled_by, row.canceled_by_name, row.canceled_by_kind),
                retried_by: PersonRecord::of(row.retried_by, row.retried_by_name, row.retried_by_kind),
            };
            columns.insert(row.key.clone(), stage_columns);
            let planned_outcome = match (row.verdict, row.verdict_reason) {
                (Some(status), Some(why)) => Some((
                    parse_column("stages.verdict", &status)?,
                    parse_column("stages.verdict_reason", &why)?,
                )),
                _ => None,
            };
            let job = match (row.job_status, row.queued_at, row.touched) {
                (Some(status), Some(queued_at), Some(step_started)) => Some(Job {
                    status: parse_column("jobs.status", &status)?,
                    reason: parse_nullable_column("jobs.reason", row.job_reason.as_deref())?,
                    queued_at: queued_at.to_jiff(),
                    started_at: time(row.started_at),
                    lease_expires_at: time(row.lease_expires_at),
                    step_started,
                    cancel: parse_nullable_column("jobs.cancel_reason", row.cancel_reason.as_deref())?,
                }),
                _ => None,
            };
            let gate = match deployment.approvals.get(&row.key).filter(|_| row.gated) {
                Some(approval) => approval.state.gate(),
                None => Gate::planned(row.gated),
            };
            stages.push(Stage {
                key: row.key,
                needs: row.needs,
                status: parse_column("stages.status", &row.status)?,
                reason: parse_nullable_column("stages.reason", row.reason.as_deref())?,
                planned_outcome,
                gate,
                ignores_freeze: row.ignores_freeze,
                environment: row.environment,
                blocker: parse_blocker(row.blocker)?,
                timeout: SignedDuration::from_secs(row.timeout_seconds),
                max_attempts: count(row.attempts),
                backoff: SignedDuration::from_secs(row.backoff_seconds),
                retry_at: time(row.retry_at),
                attempt_number: count(row.attempt),
                attempts_since_retry: count(row.tried),
                job,
            });
        }
        (deployment.state.stages, deployment.stage_columns) = (stages, columns);
        Ok(())
    }
}

/// Reads the column `stages.blocker`.
pub(crate) fn parse_blocker(json: Option<serde_json::Value>) -> Result<Option<Blocker>, StoreError> {
    json.map(serde_json::from_value)
        .transpose()
        .map_err(|error| StoreError::Unreadable { column: "stages.blocker", value: error.to_string() })
}

fn count(number: i32) -> u32 {
    u32::try_from(number).unwrap_or_default()
}
