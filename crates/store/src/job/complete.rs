//! Records the end of a job.

use std::time::Duration;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::deployment::{AttemptReport, JobStatus, Reason, StepStatus, attempt_outcome};

use super::JobCredentials;
use crate::error::parse_column;
use crate::{Store, StoreError};

/// The server notifies the engine directly. If it has not done so after this delay, the relay delivers the
/// wake-up.
const WAKE_UP_DELAY: Duration = Duration::from_secs(2);

/// A runner's report about a job as a whole, in addition to the results of its steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobReport<'a> {
    /// Why the job could not be carried out.
    pub error: Option<&'a str>,
    /// The job or one of its steps timed out.
    pub timed_out: bool,
    /// The commit that was checked out, in full.
    pub commit_id: Option<&'a str>,
    /// A failure that a retry can't fix.
    pub failure: Option<Reason>,
}

impl JobReport<'_> {
    const fn of_attempt(&self) -> AttemptReport {
        AttemptReport { timed_out: self.timed_out, failure: self.failure, has_error: self.error.is_some() }
    }
}

/// A job that has ended, and what is needed to notify the engine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompletedJob {
    pub task_token: Option<Vec<u8>>,
    pub wake_up: Option<i64>,
    /// The deployment's commit, if the reported one differs from it. In this case nothing was recorded.
    pub other_commit: Option<String>,
}

#[boxed_futures]
impl Store {
    /// Ends a job. Its outcome is derived from the results of its steps and the report. Returns `None` if the
    /// credentials are not valid.
    pub async fn complete_job(
        &self,
        credentials: JobCredentials<'_>,
        report: JobReport<'_>,
    ) -> Result<Option<CompletedJob>, StoreError> {
        let mut transaction = self.system_transaction(credentials.runner.organization_id).await?;
        let organization = transaction.organization();
        let deployment = sqlx::query!(
            r#"select d.id, d.cancel_reason is not null as "canceled!" from deployments d
               where d.organization_id = $1 and d.id =
                   (select j.deployment_id from jobs j where j.organization_id = $1 and j.id = $2) for update"#,
            organization,
            credentials.job.uuid(),
        )
        .fetch_optional(transaction.connection())
        .await?;
        let Some(deployment) = deployment else { return Ok(None) };
        let job = sqlx::query!(
            r#"select j.status, j.task_token, j.cancel_reason is not null as "canceled!",
                      array(select s.status from step_runs s
                          where s.organization_id = $1 and s.job_id = j.id order by s.position) as "steps!"
               from jobs j
               where j.organization_id = $1 and j.id = $2 and j.runner_id = $3 and j.secret_hash = $4"#,
            organization,
            credentials.job.uuid(),
            credentials.runner.id.uuid(),
            credentials.secret.as_slice(),
        )
        .fetch_optional(transaction.connection())
        .await?;
        let Some(job) = job else { return Ok(None) };
        let before: JobStatus = parse_column("jobs.status", &job.status)?;
        if before.is_final() {
            // A repeated report, whose first response was lost. Later decisions about the job are not undone.
            return Ok(Some(CompletedJob::default()));
        }
        if let Some(commit) = report.commit_id
            && let Some(other) = transaction.resolve_commit(deployment.id.into(), commit).await?
        {
            return Ok(Some(CompletedJob { other_commit: Some(other), ..CompletedJob::default() }));
        }
        let steps = job
            .steps
            .iter()
            .map(|status| parse_column("step_runs.status", status))
            .collect::<Result<Vec<StepStatus>, _>>()?;
        let (status, reason) =
            attempt_outcome(&steps, report.of_attempt(), job.canceled || deployment.canceled);
        let wake_up = sqlx::query_scalar!(
            "with ended as (
                 update jobs set status = $3, reason = $4, detail = $5, ended_at = clock_timestamp()
                 where organization_id = $1 and id = $2
             ),
             unfinished as (
                 update step_runs
                 set status = case when status = 'running' then $6 else $9 end, ended_at = clock_timestamp()
                 where organization_id = $1 and job_id = $2 and ended_at is null
             )
             insert into wakes (organization_id, deployment_id, due_at)
             values ($1, $7, clock_timestamp() + $8 * interval '1 second') returning id",
            organization,
            credentials.job.uuid(),
            status.as_str(),
            reason.map(Reason::as_str),
            report.error,
            StepStatus::Running.at_end_of(status).as_str(),
            deployment.id,
            WAKE_UP_DELAY.as_secs_f64(),
            StepStatus::Pending.at_end_of(status).as_str(),
        )
        .fetch_one(transaction.connection())
        .await?;
        transaction.commit().await?;
        Ok(Some(CompletedJob { task_token: job.task_token, wake_up: Some(wake_up), other_commit: None }))
    }
}
