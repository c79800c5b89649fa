//! Attempts of stages: jobs for runners, and their steps.

use greenroom_domain::definition::{Definition, Step, StepWork};
use greenroom_domain::deployment::{JobStatus, Stage, StepStatus};
use greenroom_domain::step::StepDigest;

use super::time;
use crate::StoreError;
use crate::deployment::advance::{LockedDeployment, TIMING};
use crate::deployment::stage_row::StageRow;
use crate::error::to_column;
use crate::transaction::OrgTransaction;

impl OrgTransaction {
    pub(super) async fn insert_job(
        &mut self,
        deployment: &LockedDeployment,
        stage: &Stage,
        definition: &Definition,
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        let (id, pool) = (uuid::Uuid::now_v7(), uuid::Uuid::now_v7());
        let steps = definition.stage(&stage.key).map(|stage| stage.steps.as_slice()).unwrap_or_default();
        let ids: Vec<uuid::Uuid> = steps.iter().map(|_| uuid::Uuid::now_v7()).collect();
        let names: Vec<String> = steps
            .iter()
            .enumerate()
            .map(|(position, step)| match (&step.name, &step.work) {
                (Some(name), _) => name.clone(),
                (None, StepWork::Registry { uses, .. }) => uses.name.clone(),
                (None, StepWork::Script { .. }) => format!("step {}", position + 1),
            })
            .collect();
        let digests: Vec<Option<String>> = steps
            .iter()
            .map(|step| locked_digest(definition, step).map(|digest| digest.to_string()))
            .collect();
        let scripts: Vec<Option<String>> = steps.iter().map(|step| step.work.script_digest()).collect();
        // A pool is created when it is first named; an admin adds its runners. An existing pool is only read:
        // even an update of its name to the same value would make all of its jobs wait for each other's row
        // lock.
        sqlx::query!(
            "with known as (
                 select p.id from stages s
                 join runner_pools p on p.organization_id = $1 and p.name = s.pool
                 where s.organization_id = $1 and s.deployment_id = $3 and s.key = $4
             ),
             named as (
                 insert into runner_pools (organization_id, id, name)
                 select $1, $6, s.pool from stages s
                 where s.organization_id = $1 and s.deployment_id = $3 and s.key = $4
                   and not exists (select 1 from known)
                 on conflict (organization_id, name) do update set name = excluded.name
                 returning id
             ),
             job as (
                 insert into jobs (organization_id, id, deployment_id, stage_key, attempt, pool_id, status, queued_at)
                 select $1, $2, $3, $4, $5, pool.id, 'queued', $7
                 from (select id from known union all select id from named) pool
             )
             insert into step_runs (organization_id, id, job_id, position, name, step_digest, script_digest)
             select $1, id, $2, position - 1, name, step_digest, script_digest
             from unnest($8::uuid[], $9::text[], $10::text[], $11::text[])
                 with ordinality as steps (id, name, step_digest, script_digest, position)",
            organization,
            id,
            deployment.id.uuid(),
            stage.key,
            to_column::<_, i32>("jobs.attempt", stage.attempt_number)?,
            pool,
            time(Some(deployment.now)) as Option<jiff_sqlx::Timestamp>,
            &ids,
            &names,
            &digests as &[Option<String>],
            &scripts as &[Option<String>],
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// Writes what the machine has changed in the newest attempt: it has ended, or its runner has to end it
    /// because of a timeout or a cancellation. In the latter case its lease is limited to the grace time and
    /// a slack.
    pub(super) async fn update_job(
        &mut self,
        deployment: &LockedDeployment,
        row: &StageRow<'_>,
    ) -> Result<(), StoreError> {
        let (before, Some(after)) = (row.before.and_then(|stage| stage.job), row.after.job) else {
            return Ok(());
        };
        if before == Some(after) {
            return Ok(());
        }
        let organization = self.organization();
        let ended = sqlx::query_scalar!(
            r#"update jobs
               set status = $5, reason = $6, cancel_reason = $7, ended_at = case when $8 then $9::timestamptz end,
                   lease_limit = case when cancel_reason is null and $7::text is not null and status = 'running'
                       then least(lease_limit, $9::timestamptz + interval '1 second' * ($10::float8 +
                           (select d.cancel_grace_seconds from deployments d
                            where d.organization_id = $1 and d.id = $2)))
                       else lease_limit end
               where organization_id = $1 and deployment_id = $2 and stage_key = $3 and attempt = $4
               returning id"#,
            organization,
            deployment.id.uuid(),
            row.after.key,
            to_column::<_, i32>("jobs.attempt", row.after.attempt_number)?,
            after.status.as_str(),
            after.reason.map(|reason| reason.as_str()),
            after.cancel.map(|reason| reason.as_str()),
            after.status.is_final(),
            time(Some(deployment.now)) as Option<jiff_sqlx::Timestamp>,
            TIMING.timeout_slack.as_secs_f64(),
        )
        .fetch_optional(self.connection())
        .await?;
        if let Some(job) = ended
            && after.status.is_final()
        {
            self.end_unfinished_steps(job, after.status).await?;
        }
        Ok(())
    }

    /// Limits the leases of a canceled deployment's jobs to the grace time, regardless of further heartbeats.
    pub(crate) async fn limit_leases(&mut self, deployment: uuid::Uuid) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "update jobs j
             set lease_limit = least(j.lease_limit,
                 clock_timestamp() + interval '1 second' * (d.cancel_grace_seconds + $3::float8))
             from deployments d
             where j.organization_id = $1 and j.deployment_id = $2 and j.status = 'running'
               and d.organization_id = $1 and d.id = $2",
            organization,
            deployment,
            TIMING.timeout_slack.as_secs_f64(),
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// Ends the steps of a job that ended with `status` and whose results will not be reported any more.
    pub(crate) async fn end_unfinished_steps(
        &mut self,
        job: uuid::Uuid,
        status: JobStatus,
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "update step_runs
             set status = case when status = 'running' then $3 else $4 end, ended_at = clock_timestamp()
             where organization_id = $1 and job_id = $2 and ended_at is null",
            organization,
            job,
            StepStatus::Running.at_end_of(status).as_str(),
            StepStatus::Pending.at_end_of(status).as_str(),
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }
}

/// Returns the content of the step of a registry that a step uses.
fn locked_digest<'a>(definition: &'a Definition, step: &Step) -> Option<&'a StepDigest> {
    match &step.work {
        StepWork::Registry { uses, .. } => definition.locked_step(uses).map(|locked| &locked.step.digest),
        StepWork::Script { .. } => None,
    }
}
