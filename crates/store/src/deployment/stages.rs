//! A deployment's stages and their newest attempts, as rows: read for the machine, and written as it left them.

use greenroom_domain::definition::{Definition, StepWork};
use greenroom_domain::deployment::{
    Deployment, DeploymentStatus, Job, JobStatus, PlannedStage, Stage, StageStatus,
};
use greenroom_domain::event::{EventType, NewEvent};
use greenroom_domain::id::DeploymentId;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::StoreError;
use crate::change::{Actor, Change};
use crate::deployment::advance::Held;
use crate::error::word;
use crate::planted::{self, Bug};

/// A stage as it was, if it was, and as it is.
pub(crate) struct StageRow<'a> {
    pub(crate) before: Option<&'a Stage>,
    pub(crate) after: &'a Stage,
}

impl StageRow<'_> {
    /// The machine has begun a new attempt.
    fn dispatched(&self) -> bool {
        self.after.attempt > self.before.map_or(0, |stage| stage.attempt)
    }

    /// It was planned just now, and nothing has come of it yet: its row says all of that.
    fn is_fresh(&self) -> bool {
        self.before.is_none() && self.after.status == StageStatus::Pending
    }

    fn moved(&self) -> bool {
        self.before.is_none_or(|before| before.status != self.after.status)
    }
}

impl Change {
    pub(crate) async fn stages_of(&mut self, id: DeploymentId) -> Result<Vec<Stage>, StoreError> {
        let organization = self.organization();
        let rows = sqlx::query!(
            r#"select s.key, s.needs, s.status, s.reason, s.verdict, s.verdict_reason, s.gated, s.timeout_seconds,
                      s.attempts, s.backoff_seconds, s.retry_at, s.attempt, s.tried,
                      j.status as "job_status?", j.reason as job_reason, j.queued_at as "queued_at?", j.started_at,
                      j.lease_expires_at, j.touched as "touched?", j.cancel_reason
               from stages s
               left join jobs j on j.organization_id = $1 and j.deployment_id = s.deployment_id
                   and j.stage_key = s.key and j.attempt = s.attempt
               where s.organization_id = $1 and s.deployment_id = $2
               order by s.position"#,
            organization,
            id.uuid(),
        )
        .fetch_all(self.connection())
        .await?;
        let time = |at: Option<jiff_sqlx::Timestamp>| at.map(jiff_sqlx::Timestamp::to_jiff);
        let mut stages = Vec::with_capacity(rows.len());
        for row in rows {
            let reason = |column, text: Option<String>| text.map(|text| word(column, &text)).transpose();
            let verdict = match (row.verdict, row.verdict_reason) {
                (Some(status), Some(why)) => {
                    Some((word("stages.verdict", &status)?, word("stages.verdict_reason", &why)?))
                }
                _ => None,
            };
            let job = match (row.job_status, row.queued_at, row.touched) {
                (Some(status), Some(queued_at), Some(touched)) => Some(Job {
                    status: word("jobs.status", &status)?,
                    reason: reason("jobs.reason", row.job_reason)?,
                    queued_at: queued_at.to_jiff(),
                    started_at: time(row.started_at),
                    lease_expires_at: time(row.lease_expires_at),
                    touched: touched && !planted::is(Bug::TouchForgotten),
                    cancel: reason("jobs.cancel_reason", row.cancel_reason)?,
                }),
                _ => None,
            };
            stages.push(Stage {
                key: row.key,
                needs: row.needs,
                status: word("stages.status", &row.status)?,
                reason: reason("stages.reason", row.reason)?,
                verdict,
                gated: row.gated,
                timeout: SignedDuration::from_secs(row.timeout_seconds),
                attempts: count(row.attempts),
                backoff: SignedDuration::from_secs(row.backoff_seconds),
                retry_at: time(row.retry_at),
                attempt: count(row.attempt),
                tried: count(row.tried),
                job,
            });
        }
        Ok(stages)
    }

    /// Writes what the machine changed, and tells it. `plan`: the stages are new.
    pub(crate) async fn write_deployment(
        &mut self,
        held: &Held,
        before: &Deployment,
        definition: &Definition,
        plan: Option<&[PlannedStage]>,
    ) -> Result<(), StoreError> {
        if let Some(plan) = plan {
            self.insert_stages(held, plan).await?;
        }
        let changes = held.state.status != before.status || plan.is_some();
        // What is told first happened first: it begins before its stages do, and ends after them.
        if changes && !held.state.status.is_end() {
            self.update_deployment(held, before.status).await?;
        }
        for row in held.stage_rows(before).filter(|row| row.dispatched()) {
            self.insert_job(held, row.after, definition).await?;
        }
        self.write_stages(held, before).await?;
        if changes && held.state.status.is_end() {
            self.update_deployment(held, before.status).await?;
        }
        Ok(())
    }

    /// Writes the stages that are not as they were.
    pub(crate) async fn write_stages(&mut self, held: &Held, before: &Deployment) -> Result<(), StoreError> {
        for row in held.stage_rows(before) {
            if row.before == Some(row.after) || row.is_fresh() {
                continue;
            }
            if !row.dispatched() {
                self.update_job(held, &row).await?;
            }
            self.update_stage(held, row.after).await?;
            if row.moved() {
                self.tell_stage(held, row.after).await?;
            }
        }
        Ok(())
    }

    async fn insert_stages(&mut self, held: &Held, plan: &[PlannedStage]) -> Result<(), StoreError> {
        let organization = self.organization();
        for (position, stage) in plan.iter().enumerate() {
            let (verdict, verdict_reason) = stage.verdict.unzip();
            sqlx::query!(
                "insert into stages
                     (organization_id, deployment_id, key, position, name, needs, pool, status, detail, verdict,
                      verdict_reason, gated, timeout_seconds, attempts, backoff_seconds)
                 values ($1, $2, $3, $4, $5, $6, $7, 'pending', $8, $9, $10, $11, $12, $13, $14)",
                organization,
                held.id.uuid(),
                stage.key,
                number(position),
                stage.name,
                &stage.needs,
                stage.pool,
                stage.detail,
                verdict.map(StageStatus::as_str),
                verdict_reason.map(|reason| reason.as_str()),
                stage.gated,
                i64::try_from(stage.timeout_seconds).unwrap_or(i64::MAX),
                i32::try_from(stage.attempts).unwrap_or(i32::MAX),
                i64::try_from(stage.backoff_seconds).unwrap_or(i64::MAX),
            )
            .execute(self.connection())
            .await?;
        }
        Ok(())
    }

    async fn update_stage(&mut self, held: &Held, stage: &Stage) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "update stages
             set status = $4, reason = $5, retry_at = $6, attempt = $7, tried = $8,
                 started_at = case when $9 then coalesce(started_at, $10::timestamptz) else started_at end,
                 ended_at = case when $11 then $10::timestamptz end
             where organization_id = $1 and deployment_id = $2 and key = $3",
            organization,
            held.id.uuid(),
            stage.key,
            stage.status.as_str(),
            stage.reason.map(|reason| reason.as_str()),
            time(stage.retry_at) as Option<jiff_sqlx::Timestamp>,
            i32::try_from(stage.attempt).unwrap_or(i32::MAX),
            i32::try_from(stage.tried).unwrap_or(i32::MAX),
            stage.status == StageStatus::Running,
            time(Some(held.now)) as Option<jiff_sqlx::Timestamp>,
            stage.status.is_end(),
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    async fn insert_job(
        &mut self,
        held: &Held,
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
        // A pool comes into being when it is first named; its runners are an admin's to add. One that is there is only
        // read: to write it, if only its name again, would have all of its jobs wait for each other.
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
             insert into step_runs (organization_id, id, job_id, position, name)
             select $1, id, $2, position - 1, name
             from unnest($8::uuid[], $9::text[]) with ordinality as steps (id, name, position)",
            organization,
            id,
            held.id.uuid(),
            stage.key,
            i32::try_from(stage.attempt).unwrap_or(i32::MAX),
            pool,
            time(Some(held.now)) as Option<jiff_sqlx::Timestamp>,
            &ids,
            &names,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    /// What time or a cancel has decided about an attempt.
    async fn update_job(&mut self, held: &Held, row: &StageRow<'_>) -> Result<(), StoreError> {
        let (before, Some(after)) = (row.before.and_then(|stage| stage.job), row.after.job) else {
            return Ok(());
        };
        if before == Some(after) {
            return Ok(());
        }
        let organization = self.organization();
        let ended = sqlx::query_scalar!(
            r#"update jobs
               set status = $5, reason = $6, cancel_reason = $7, ended_at = case when $8 then $9::timestamptz end
               where organization_id = $1 and deployment_id = $2 and stage_key = $3 and attempt = $4
               returning id"#,
            organization,
            held.id.uuid(),
            row.after.key,
            i32::try_from(row.after.attempt).unwrap_or(i32::MAX),
            after.status.as_str(),
            after.reason.map(|reason| reason.as_str()),
            after.cancel.map(|reason| reason.as_str()),
            after.status.is_end(),
            time(Some(held.now)) as Option<jiff_sqlx::Timestamp>,
        )
        .fetch_optional(self.connection())
        .await?;
        if let Some(job) = ended
            && after.status.is_end()
        {
            let left = if after.status == JobStatus::Errored { "errored" } else { "canceled" };
            self.end_open_steps(job, left).await?;
        }
        Ok(())
    }

    /// Steps that nobody will say anything of any more.
    pub(crate) async fn end_open_steps(&mut self, job: uuid::Uuid, running: &str) -> Result<(), StoreError> {
        let organization = self.organization();
        sqlx::query!(
            "update step_runs
             set status = case when status = 'running' then $3 else 'skipped' end, ended_at = clock_timestamp()
             where organization_id = $1 and job_id = $2 and ended_at is null",
            organization,
            job,
            running,
        )
        .execute(self.connection())
        .await?;
        Ok(())
    }

    pub(crate) async fn update_deployment(
        &mut self,
        held: &Held,
        before: DeploymentStatus,
    ) -> Result<(), StoreError> {
        let organization = self.organization();
        let Held { state, .. } = held;
        sqlx::query!(
            "update deployments
             set status = $3, reason = $4, planned_at = coalesce(planned_at, $5), started_at = coalesce(started_at, $5),
                 ended_at = case when $6 then $7::timestamptz end
             where organization_id = $1 and id = $2",
            organization,
            held.id.uuid(),
            state.status.as_str(),
            state.reason.map(|reason| reason.as_str()),
            time((!state.stages.is_empty()).then_some(held.now)) as Option<jiff_sqlx::Timestamp>,
            state.status.is_end(),
            time(Some(held.now)) as Option<jiff_sqlx::Timestamp>,
        )
        .execute(self.connection())
        .await?;
        if state.status == before {
            return Ok(());
        }
        let event_type = match (before, state.status) {
            (DeploymentStatus::Queued, DeploymentStatus::Running) => EventType::DeploymentStarted,
            (DeploymentStatus::Paused, DeploymentStatus::Running) => EventType::DeploymentResumed,
            (_, DeploymentStatus::Paused) => EventType::DeploymentPaused,
            (_, DeploymentStatus::Waiting) => EventType::DeploymentWaiting,
            (_, DeploymentStatus::Canceling) => EventType::DeploymentCanceling,
            (_, DeploymentStatus::Succeeded) => EventType::DeploymentSucceeded,
            (_, DeploymentStatus::Failed) => EventType::DeploymentFailed,
            (_, DeploymentStatus::Errored) => EventType::DeploymentErrored,
            (_, DeploymentStatus::Canceled) => EventType::DeploymentCanceled,
            // It goes on; its stages tell how.
            _ => return Ok(()),
        };
        let actor = self.actor().clone();
        self.tell_progress(held, (&actor, event_type), None, state.reason.map(|reason| reason.as_str())).await
    }

    async fn tell_stage(&mut self, held: &Held, stage: &Stage) -> Result<(), StoreError> {
        let event_type = match stage.status {
            StageStatus::Pending => EventType::StageRetried,
            StageStatus::Waiting => EventType::StageWaiting,
            StageStatus::Queued => EventType::StageQueued,
            StageStatus::Running => EventType::StageStarted,
            StageStatus::Succeeded => EventType::StageSucceeded,
            StageStatus::Failed => EventType::StageFailed,
            StageStatus::Errored => EventType::StageErrored,
            StageStatus::Canceled => EventType::StageCanceled,
            StageStatus::Skipped => EventType::StageSkipped,
        };
        let actor = self.actor().clone();
        let reason = stage.reason.map(|reason| reason.as_str());
        self.tell_progress(held, (&actor, event_type), Some((&stage.key, stage.attempt)), reason).await
    }

    pub(crate) async fn tell_progress(
        &mut self,
        held: &Held,
        (actor, event_type): (&Actor, EventType),
        stage: Option<(&str, u32)>,
        reason: Option<&str>,
    ) -> Result<(), StoreError> {
        let mut after = json!({
            "deploymentId": held.id,
            "pipelineId": held.pipeline_id,
            "status": held.state.status,
        });
        if let Some(session) = held.session_id {
            after["sessionId"] = json!(greenroom_domain::id::SessionId::from(session));
        }
        if let Some((_, name)) = &held.environment {
            after["envName"] = json!(name);
        }
        if let Some((key, attempt)) = stage {
            after["stage"] = json!(key);
            after["attempt"] = json!(attempt);
        }
        let event = NewEvent {
            event_type,
            subject: held.subject(),
            before: None,
            after: Some(after),
            reason: reason.map(str::to_owned),
        };
        self.tell_as(actor, event).await
    }
}

impl Held {
    /// What its events are about: its environment, so that who watches that hears of it.
    pub(crate) fn subject(&self) -> String {
        match &self.environment {
            Some((_, name)) => greenroom_domain::environment::subject(self.pipeline_id, name),
            None => format!("pipelines/{}/deployments/{}", self.pipeline_id, self.id),
        }
    }
}

fn time(at: Option<Timestamp>) -> Option<jiff_sqlx::Timestamp> {
    at.map(jiff_sqlx::Timestamp::from)
}

fn count(number: i32) -> u32 {
    u32::try_from(number).unwrap_or_default()
}

fn number(position: usize) -> i32 {
    i32::try_from(position).unwrap_or(i32::MAX)
}
