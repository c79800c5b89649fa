//! Records that an attempt of a stage has failed, in the transaction that ends it.

use greenroom_domain::definition::Definition;
use greenroom_domain::deployment::{JobStatus, StageStatus};

use crate::StoreError;
use crate::deployment::{LockedDeployment, StageRow};
use crate::error::to_column;
use crate::transaction::OrgTransaction;

impl StageRow<'_> {
    /// Returns the status of the attempt that has just failed: the stage has ended with it, or backs off before
    /// the next attempt.
    fn failed_status(&self) -> Option<StageStatus> {
        let was_live = self.before.is_none_or(|before| !before.status.is_final());
        let was_running = self
            .before
            .is_some_and(|before| matches!(before.status, StageStatus::Queued | StageStatus::Running));
        match self.after.status {
            status @ (StageStatus::Failed | StageStatus::Errored) if was_live => Some(status),
            StageStatus::Pending if was_running => match self.after.job?.status {
                JobStatus::Failed => Some(StageStatus::Failed),
                JobStatus::Errored => Some(StageStatus::Errored),
                _ => None,
            },
            _ => None,
        }
    }
}

impl OrgTransaction {
    /// Records the outcome of an attempt that has ended: what it was if it failed, and where it was good if it
    /// succeeded.
    pub(crate) async fn record_outcome(
        &mut self,
        deployment: &LockedDeployment,
        row: &StageRow<'_>,
        definition: &Definition,
    ) -> Result<(), StoreError> {
        if let Some(status) = row.failed_status() {
            return self.record_failure(deployment, row, status, definition).await;
        }
        if row.after.status == StageStatus::Succeeded && row.has_new_status() {
            return self.record_good_stage(deployment, row.after, definition).await;
        }
        Ok(())
    }

    async fn record_failure(
        &mut self,
        deployment: &LockedDeployment,
        row: &StageRow<'_>,
        status: StageStatus,
        definition: &Definition,
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        let stage = row.after;
        let reason = stage.reason.or_else(|| stage.job.and_then(|job| job.reason));
        let (place, template) = deployment.place_of(stage, definition);
        // A stage that fails before its first attempt and is retried has the same attempt again.
        sqlx::query!(
            "insert into failures
                 (organization_id, id, pipeline_id, deployment_id, stage_key, attempt, job_id, step_run_id, step, place,
                  template, commit_id, branch, definition_version, created_by, status, reason, detail, exit_code,
                  failed_at, due_at)
             select $1, $2, d.pipeline_id, d.id, $4, $5, j.id, s.id, s.name, $6, $7, d.commit_id, d.branch,
                    d.definition_version, d.created_by, $8, $9,
                    left(coalesce(nullif(j.detail, ''), g.detail, s.reason), 2000), s.exit_code, $10, $10
             from deployments d
             join stages g on g.organization_id = $1 and g.deployment_id = d.id and g.key = $4
             left join jobs j on j.organization_id = $1 and j.deployment_id = d.id and j.stage_key = $4 and j.attempt = $5
             left join lateral (
                 select r.id, r.name, r.exit_code, r.reason from step_runs r
                 where r.organization_id = $1 and r.job_id = j.id and r.status in ('failed', 'errored')
                   and r.started_at is not null
                 order by r.position limit 1
             ) s on true
             where d.organization_id = $1 and d.id = $3
             on conflict (organization_id, deployment_id, stage_key, attempt) do update
             set status = excluded.status, reason = excluded.reason, detail = excluded.detail,
                 failed_at = excluded.failed_at, due_at = excluded.due_at, collected_at = null, tries = 0",
            organization,
            uuid::Uuid::now_v7(),
            deployment.id.uuid(),
            stage.key,
            to_column::<_, i32>("failures.attempt", stage.attempt_number)?,
            place,
            template as Option<String>,
            status.as_str(),
            reason.map_or("step_failed", |reason| reason.as_str()),
            jiff_sqlx::Timestamp::from(deployment.now) as jiff_sqlx::Timestamp,
        )
        .execute(self.connection())
        .await?;
        self.mark_failure();
        Ok(())
    }
}
