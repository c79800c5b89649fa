//! Jobs: attempts of stages in the hands of runners. Every word of a runner is checked against its own token and the job's.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use greenroom_domain::definition::Definition;
use greenroom_domain::deployment::{JobStatus, Purpose, Reason, StageStatus};
use greenroom_domain::id::{DeploymentId, JobId, OrganizationId, PipelineId, PoolId, RunnerId, StepRunId};
use greenroom_domain::runner_pool::Network;
use greenroom_domain::token::TokenHash;

use crate::artifact::Artifact;
use crate::change::{Actor, Change};
use crate::error::word;
use crate::planted::{self, Bug};
use crate::system::sweeper::DueEnvironment;
use crate::{Store, StoreError};

/// If the engine was not told directly by then, the relay tells it.
const TELL_AGAIN: Duration = Duration::from_secs(2);

/// A runner, by its token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunnerPrincipal {
    pub organization_id: OrganizationId,
    pub id: RunnerId,
    pub name: String,
    pub pool_id: PoolId,
}

/// Who speaks of which job.
#[derive(Clone, Copy, Debug)]
pub struct JobWord<'a> {
    pub runner: &'a RunnerPrincipal,
    pub job: JobId,
    pub secret: &'a TokenHash,
}

/// A job that a runner has just been given.
#[derive(Clone, Debug)]
pub struct Assigned {
    pub deployment_id: DeploymentId,
    pub pipeline_id: PipelineId,
    pub pipeline_slug: String,
    pub repository: Option<String>,
    /// What its steps may reach, as its pool has it now.
    pub network: Network,
    pub purpose: Purpose,
    pub commit_id: String,
    pub environment: Option<(String, Option<String>)>,
    pub fence: Option<i64>,
    pub session_id: Option<uuid::Uuid>,
    pub stage: String,
    pub attempt: i32,
    pub timeout_seconds: i64,
    pub definition: Arc<Definition>,
    /// In their order.
    pub steps: Vec<(StepRunId, String)>,
    /// What the steps of the stages that it needs have put out: stage, then name.
    pub outputs: BTreeMap<String, BTreeMap<String, String>>,
    /// What those stages have left.
    pub artifacts: Vec<Artifact>,
}

/// What a heartbeat is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beat {
    pub cancel: Option<String>,
    pub grace_seconds: i32,
    pub task_token: Option<Vec<u8>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    Yes,
    /// The job is not this runner's, or not any more.
    Gone,
    Canceled,
    /// The environment has passed on to another session.
    FenceOutdated,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedStep {
    pub status: String,
    pub exit_code: Option<i32>,
    pub reason: Option<String>,
    pub outputs: BTreeMap<String, String>,
    pub log_bytes: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noted {
    Yes,
    Gone,
    /// Of the step's log, only this much is here.
    LogIncomplete(i64),
}

/// What a runner says of a job beyond what its steps say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobReport<'a> {
    /// Why it could not be carried out.
    pub error: Option<&'a str>,
    /// Its time was over, or that of one of its steps.
    pub timed_out: bool,
    /// The commit that was checked out, in full.
    pub commit_id: Option<&'a str>,
}

/// A job that has ended: whom to tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completed {
    pub task_token: Option<Vec<u8>>,
    pub wake: Option<i64>,
}

impl Store {
    /// Gives a job to a runner; `None` if it is not to be had any more.
    pub async fn assign_job(
        &self,
        word: JobWord<'_>,
        task_token: &[u8],
        lease: Duration,
    ) -> Result<Option<Assigned>, StoreError> {
        let mut change = self.change_by_clock(word.runner.organization_id).await?;
        let Some(deployment) = change.deployment_of(word.job).await? else { return Ok(None) };
        let Some(mut held) = change.hold_deployment(deployment).await? else { return Ok(None) };
        if held.state.cancel.is_some() || held.state.status.is_end() {
            return Ok(None);
        }
        let organization = change.organization();
        let row = sqlx::query!(
            r#"with job as (
                   update jobs set status = 'running', runner_id = $3, runner_name = $4, secret_hash = $5, task_token = $6,
                       started_at = clock_timestamp(), lease_expires_at = clock_timestamp() + $7 * interval '1 second'
                   where organization_id = $1 and id = $2 and status = 'queued' and cancel_reason is null and pool_id = $8
                     and exists (select 1 from runners r
                         where r.organization_id = $1 and r.id = $3 and r.revoked_at is null)
                   returning stage_key, attempt
               ),
               stage as (
                   update stages s set status = 'running', started_at = coalesce(s.started_at, clock_timestamp())
                   from job
                   where s.organization_id = $1 and s.deployment_id = $9 and s.key = job.stage_key and s.status = 'queued'
               )
               select stage_key, attempt from job"#,
            organization,
            word.job.uuid(),
            word.runner.id.uuid(),
            word.runner.name,
            word.secret.as_slice(),
            task_token,
            lease.as_secs_f64(),
            word.runner.pool_id.uuid(),
            deployment.uuid(),
        )
        .fetch_optional(change.connection())
        .await?;
        let Some(row) = row else { return Ok(None) };
        if let Some(stage) = held.state.stages.iter_mut().find(|stage| stage.key == row.stage_key) {
            stage.status = StageStatus::Running;
        }
        let told = (Actor::Clock, greenroom_domain::event::EventType::StageStarted);
        let attempt = u32::try_from(row.attempt).unwrap_or_default();
        change.tell_progress(&held, (&told.0, told.1), Some((&row.stage_key, attempt)), None).await?;
        let assigned = change.assigned(word.job, deployment).await?;
        change.commit().await?;
        Ok(Some(assigned))
    }

    /// Takes back a job from a runner that hung up before it could be told of it.
    pub async fn take_job_back(&self, word: JobWord<'_>) -> Result<(), StoreError> {
        let mut change = self.change_by_clock(word.runner.organization_id).await?;
        let organization = change.organization();
        let row = sqlx::query!(
            "update jobs set status = 'queued', runner_id = null, runner_name = null, secret_hash = null, task_token = null,
                 started_at = null, lease_expires_at = null
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

    /// Renews a job's lease; `None` if it is not this runner's any more.
    pub async fn beat(&self, word: JobWord<'_>, lease: Duration) -> Result<Option<Beat>, StoreError> {
        let row = sqlx::query!(
            r#"update jobs j set lease_expires_at = clock_timestamp() + $5 * interval '1 second'
               from deployments d
               where j.organization_id = $1 and j.id = $2 and j.runner_id = $3 and j.secret_hash = $4
                 and j.status = 'running' and j.lease_expires_at > clock_timestamp()
                 and d.organization_id = $1 and d.id = j.deployment_id
               returning coalesce(j.cancel_reason, d.cancel_reason) as cancel, d.cancel_grace_seconds, j.task_token"#,
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
            task_token: row.task_token,
        }))
    }

    /// Lets a step start, if nothing has overtaken it: fence and lease are looked at in the transaction that writes `running`.
    pub async fn begin_step(&self, word: JobWord<'_>, step: StepRunId) -> Result<Begun, StoreError> {
        let mut change = self.change_by_clock(word.runner.organization_id).await?;
        let organization = change.organization();
        // An environment that is just changing hands is waited for: afterwards its fence is another.
        let place = sqlx::query!(
            r#"select e.id, e.fence, e.expires_at, d.fence as own, d.purpose
               from jobs j
               join deployments d on d.organization_id = $1 and d.id = j.deployment_id
               join environments e on e.organization_id = $1 and e.id = d.environment_id
               where j.organization_id = $1 and j.id = $2 for share of e"#,
            organization,
            word.job.uuid(),
        )
        .fetch_optional(change.connection())
        .await?;
        let mut moment = None;
        if let Some(place) = place
            && place.purpose != Purpose::Teardown.as_str()
            && !planted::is(Bug::StepIgnoresFence)
        {
            if place.own != Some(place.fence) {
                return Ok(Begun::FenceOutdated);
            }
            let now = change.now().await?;
            if place.expires_at.is_none_or(|at| at.to_jiff() <= now) {
                // A lease ends by the clock and not when somebody notices: who comes across it settles it.
                change.commit().await?;
                let (organization_id, environment_id) = (word.runner.organization_id, place.id.into());
                self.sweep_environment(DueEnvironment { organization_id, environment_id }).await?;
                return Ok(Begun::FenceOutdated);
            }
            moment = Some(jiff_sqlx::Timestamp::from(now));
        }
        let begun = sqlx::query!(
            r#"with job as (
                   update jobs j set touched = true
                   from deployments d
                   where j.organization_id = $1 and j.id = $2 and j.runner_id = $3 and j.secret_hash = $4
                     and j.status = 'running' and j.lease_expires_at > clock_timestamp()
                     and d.organization_id = $1 and d.id = j.deployment_id
                   returning coalesce(j.cancel_reason, d.cancel_reason) is not null as canceled
               ),
               step as (
                   update step_runs s
                   set status = 'running', started_at = coalesce(s.started_at, $6, clock_timestamp())
                   from job
                   where s.organization_id = $1 and s.id = $5 and s.job_id = $2 and s.status in ('pending', 'running')
                   returning s.id
               )
               select canceled as "canceled!", exists (select 1 from step) as "begun!" from job"#,
            organization,
            word.job.uuid(),
            word.runner.id.uuid(),
            word.secret.as_slice(),
            step.uuid(),
            moment as Option<jiff_sqlx::Timestamp>,
        )
        .fetch_optional(change.connection())
        .await?;
        match begun {
            // Without a commit nothing of it has happened.
            Some(found) if found.canceled && !planted::is(Bug::StepIgnoresFence) => {
                return Ok(Begun::Canceled);
            }
            Some(found) if found.begun => {}
            _ => return Ok(Begun::Gone),
        }
        change.commit().await?;
        Ok(Begun::Yes)
    }

    /// Notes how a step ended. Its log has to be here before.
    pub async fn end_step(
        &self,
        word: JobWord<'_>,
        step: StepRunId,
        end: &EndedStep,
    ) -> Result<Noted, StoreError> {
        let row = sqlx::query!(
            r#"with found as (
                   select s.status, s.log_bytes from step_runs s
                   join jobs j on j.organization_id = $1 and j.id = s.job_id
                   where s.organization_id = $1 and s.id = $2 and j.id = $3 and j.runner_id = $4 and j.secret_hash = $5
                     and j.status = 'running' for update of s
               ),
               noted as (
                   update step_runs s
                   set status = $6, exit_code = $7, reason = $8, outputs = $9, ended_at = clock_timestamp()
                   from found
                   where s.organization_id = $1 and s.id = $2 and found.status in ('running', 'pending')
                     and found.log_bytes = $10
                   returning s.id
               )
               select status, log_bytes, exists (select 1 from noted) as "noted!" from found"#,
            word.runner.organization_id.uuid(),
            step.uuid(),
            word.job.uuid(),
            word.runner.id.uuid(),
            word.secret.as_slice(),
            end.status,
            end.exit_code,
            end.reason,
            serde_json::json!(end.outputs),
            end.log_bytes,
        )
        .fetch_optional(&self.pool())
        .await?;
        Ok(match row {
            Some(row) if row.noted || row.status == end.status => Noted::Yes,
            Some(row) if row.status == "running" || row.status == "pending" => {
                Noted::LogIncomplete(row.log_bytes)
            }
            _ => Noted::Gone,
        })
    }

    /// Ends a job: how it went follows from its steps, unless it could not be carried out.
    pub async fn complete_job(
        &self,
        word: JobWord<'_>,
        report: JobReport<'_>,
    ) -> Result<Option<Completed>, StoreError> {
        let mut change = self.change_by_clock(word.runner.organization_id).await?;
        let organization = change.organization();
        let deployment = sqlx::query!(
            r#"select d.id, d.cancel_reason is not null as "canceled!" from deployments d
               where d.organization_id = $1 and d.id =
                   (select j.deployment_id from jobs j where j.organization_id = $1 and j.id = $2) for update"#,
            organization,
            word.job.uuid(),
        )
        .fetch_optional(change.connection())
        .await?;
        let Some(deployment) = deployment else { return Ok(None) };
        let job = sqlx::query!(
            r#"select j.status, j.task_token, j.cancel_reason is not null as "canceled!",
                      array(select s.status from step_runs s
                          where s.organization_id = $1 and s.job_id = j.id order by s.position) as "steps!"
               from jobs j
               where j.organization_id = $1 and j.id = $2 and j.runner_id = $3 and j.secret_hash = $4"#,
            organization,
            word.job.uuid(),
            word.runner.id.uuid(),
            word.secret.as_slice(),
        )
        .fetch_optional(change.connection())
        .await?;
        let Some(job) = job else { return Ok(None) };
        let before: JobStatus = crate::error::word("jobs.status", &job.status)?;
        if before.is_end() {
            // Said before: the answer was lost. What others have decided about it is not undone.
            return Ok(Some(Completed { task_token: None, wake: None }));
        }
        let (status, reason) = if planted::is(Bug::StepsNotAsked) {
            (JobStatus::Succeeded, None)
        } else {
            outcome(&job.steps, report, job.canceled || deployment.canceled)
        };
        let left = if status == JobStatus::Errored { "errored" } else { "canceled" };
        let wake = sqlx::query_scalar!(
            "with ended as (
                 update jobs set status = $3, reason = $4, detail = $5, ended_at = clock_timestamp()
                 where organization_id = $1 and id = $2
             ),
             unfinished as (
                 update step_runs
                 set status = case when status = 'running' then $6 else 'skipped' end, ended_at = clock_timestamp()
                 where organization_id = $1 and job_id = $2 and ended_at is null
             )
             insert into wakes (organization_id, deployment_id, due_at)
             values ($1, $7, clock_timestamp() + $8 * interval '1 second') returning id",
            organization,
            word.job.uuid(),
            status.as_str(),
            reason.map(Reason::as_str),
            report.error,
            left,
            deployment.id,
            TELL_AGAIN.as_secs_f64(),
        )
        .fetch_one(change.connection())
        .await?;
        if let Some(commit) = report.commit_id {
            // A short one was resolved by the checkout: the later stages get what this one got.
            sqlx::query!(
                "update deployments set commit_id = $3
                 where organization_id = $1 and id = $2 and length(commit_id) < length($3)
                   and starts_with($3, commit_id)",
                organization,
                deployment.id,
                commit,
            )
            .execute(change.connection())
            .await?;
        }
        change.commit().await?;
        Ok(Some(Completed { task_token: job.task_token, wake: Some(wake) }))
    }
}

/// What a job that speaks for itself belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnJob {
    pub(crate) deployment_id: DeploymentId,
    pub(crate) pipeline_id: PipelineId,
    pub(crate) stage: String,
}

impl Change {
    /// The job, if the word is good: it is this runner's and runs, and will until this change is over.
    pub(crate) async fn own_job(&mut self, word: JobWord<'_>) -> Result<Option<OwnJob>, StoreError> {
        let organization = self.organization();
        let row = sqlx::query!(
            "select j.deployment_id, j.stage_key, d.pipeline_id
             from jobs j join deployments d on d.organization_id = $1 and d.id = j.deployment_id
             where j.organization_id = $1 and j.id = $2 and j.runner_id = $3 and j.secret_hash = $4
               and j.status = 'running' for share of j",
            organization,
            word.job.uuid(),
            word.runner.id.uuid(),
            word.secret.as_slice(),
        )
        .fetch_optional(self.connection())
        .await?;
        Ok(row.map(|row| OwnJob {
            deployment_id: row.deployment_id.into(),
            pipeline_id: row.pipeline_id.into(),
            stage: row.stage_key,
        }))
    }

    async fn deployment_of(&mut self, job: JobId) -> Result<Option<DeploymentId>, StoreError> {
        let organization = self.organization();
        let found = sqlx::query_scalar!(
            "select deployment_id from jobs where organization_id = $1 and id = $2",
            organization,
            job.uuid(),
        )
        .fetch_optional(self.connection())
        .await?;
        Ok(found.map(DeploymentId::from))
    }

    /// Everything that a runner is told of a job.
    async fn assigned(&mut self, job: JobId, deployment: DeploymentId) -> Result<Assigned, StoreError> {
        let organization = self.organization();
        let row = sqlx::query!(
            r#"select d.pipeline_id, p.slug, p.repository, d.purpose, d.commit_id, d.definition_version, d.fence,
                      d.session_id, e.name as "environment?", e.url as "url?", j.stage_key, j.attempt,
                      s.timeout_seconds, s.needs, pool.network,
                      array(select r.id from step_runs r where r.organization_id = $1 and r.job_id = j.id
                          order by r.position) as "step_ids!",
                      array(select r.name from step_runs r where r.organization_id = $1 and r.job_id = j.id
                          order by r.position) as "step_names!"
               from jobs j
               join runner_pools pool on pool.organization_id = $1 and pool.id = j.pool_id
               join deployments d on d.organization_id = $1 and d.id = j.deployment_id
               join pipelines p on p.organization_id = $1 and p.id = d.pipeline_id
               join stages s on s.organization_id = $1 and s.deployment_id = d.id and s.key = j.stage_key
               left join environments e on e.organization_id = $1 and e.id = d.environment_id
               where j.organization_id = $1 and j.id = $2"#,
            organization,
            job.uuid(),
        )
        .fetch_one(self.connection())
        .await?;
        let (mut outputs, mut artifacts) = (BTreeMap::new(), Vec::new());
        if !row.needs.is_empty() {
            outputs = self.outputs_of(deployment, &row.needs).await?;
            artifacts = self.artifacts_of(deployment, &row.needs).await?;
        }
        let definition = self.definition_of(row.pipeline_id.into(), row.definition_version).await?;
        Ok(Assigned {
            deployment_id: deployment,
            pipeline_id: row.pipeline_id.into(),
            pipeline_slug: row.slug,
            repository: row.repository,
            network: word("runner_pools.network", &row.network)?,
            purpose: word("deployments.purpose", &row.purpose)?,
            commit_id: row.commit_id,
            environment: row.environment.map(|name| (name, row.url)),
            fence: row.fence,
            session_id: row.session_id,
            stage: row.stage_key,
            attempt: row.attempt,
            timeout_seconds: row.timeout_seconds,
            definition,
            steps: row.step_ids.into_iter().map(StepRunId::from).zip(row.step_names).collect(),
            outputs,
            artifacts,
        })
    }

    /// What the steps of these stages have put out.
    async fn outputs_of(
        &mut self,
        deployment: DeploymentId,
        stages: &[String],
    ) -> Result<BTreeMap<String, BTreeMap<String, String>>, StoreError> {
        let organization = self.organization();
        let put_out = sqlx::query!(
            r#"select j.stage_key, r.outputs
               from stages s
               join jobs j on j.organization_id = $1 and j.deployment_id = s.deployment_id and j.stage_key = s.key
                   and j.attempt = s.attempt
               join step_runs r on r.organization_id = $1 and r.job_id = j.id
               where s.organization_id = $1 and s.deployment_id = $2 and s.key = any($3)
               order by r.position"#,
            organization,
            deployment.uuid(),
            stages,
        )
        .fetch_all(self.connection())
        .await?;
        let mut outputs: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        for put_out in put_out {
            let values: BTreeMap<String, String> =
                serde_json::from_value(put_out.outputs).unwrap_or_default();
            outputs.entry(put_out.stage_key).or_default().extend(values);
        }
        Ok(outputs)
    }
}

/// How an attempt went, by its steps.
fn outcome(steps: &[String], report: JobReport<'_>, canceled: bool) -> (JobStatus, Option<Reason>) {
    let any = |status: &str| steps.iter().any(|step| step == status);
    let all_succeeded = steps.iter().all(|step| step == "succeeded");
    if any("failed") {
        let reason = if report.timed_out { Reason::TimedOut } else { Reason::StepFailed };
        (JobStatus::Failed, Some(reason))
    } else if any("canceled") || canceled && !all_succeeded {
        (JobStatus::Canceled, None)
    } else if report.timed_out {
        // Beside its steps: in the checkout, or while it kept what they left.
        (JobStatus::Failed, Some(Reason::TimedOut))
    } else if report.error.is_some() || any("errored") {
        (JobStatus::Errored, Some(Reason::RunnerError))
    } else if all_succeeded {
        (JobStatus::Succeeded, None)
    } else {
        (JobStatus::Errored, Some(Reason::RunnerError))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_an_attempt_went_follows_from_its_steps_and_the_report() {
        use JobStatus::{Canceled, Errored, Failed, Succeeded};
        let (fine, error) =
            (JobReport::default(), JobReport { error: Some("no checkout"), ..JobReport::default() });
        let late = JobReport { timed_out: true, ..JobReport::default() };
        let late_outside = JobReport { timed_out: true, ..error };
        for (steps, report, canceled, expected) in [
            (["succeeded", "succeeded"], fine, false, (Succeeded, None)),
            (["succeeded", "succeeded"], fine, true, (Succeeded, None)),
            (["succeeded", "failed"], fine, false, (Failed, Some(Reason::StepFailed))),
            (["failed", "pending"], late, false, (Failed, Some(Reason::TimedOut))),
            (["failed", "pending"], fine, true, (Failed, Some(Reason::StepFailed))),
            (["succeeded", "canceled"], fine, true, (Canceled, None)),
            (["pending", "pending"], fine, true, (Canceled, None)),
            (["pending", "pending"], late_outside, true, (Canceled, None)),
            (["pending", "pending"], late_outside, false, (Failed, Some(Reason::TimedOut))),
            (["succeeded", "succeeded"], late_outside, false, (Failed, Some(Reason::TimedOut))),
            (["pending", "pending"], error, false, (Errored, Some(Reason::RunnerError))),
            (["succeeded", "errored"], fine, false, (Errored, Some(Reason::RunnerError))),
            (["succeeded", "pending"], fine, false, (Errored, Some(Reason::RunnerError))),
        ] {
            let steps = steps.map(str::to_owned);
            assert_eq!(outcome(&steps, report, canceled), expected, "{steps:?} {report:?} {canceled}");
        }
    }
}
