//! The end of a job.

use std::time::Duration;

use greenroom_domain::deployment::{JobStatus, Reason};

use super::JobWord;
use crate::planted::{self, Bug};
use crate::{Store, StoreError};

/// If the engine was not told directly by then, the relay tells it.
const TELL_AGAIN: Duration = Duration::from_secs(2);

/// What a runner says of a job beyond what its steps say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobReport<'a> {
    /// Why it could not be carried out.
    pub error: Option<&'a str>,
    /// Its time was over, or that of one of its steps.
    pub timed_out: bool,
    /// The commit that was checked out, in full.
    pub commit_id: Option<&'a str>,
    /// A mistake that a retry can't fix.
    pub failure: Option<Reason>,
}

/// A job that has ended: whom to tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completed {
    pub task_token: Option<Vec<u8>>,
    pub wake: Option<i64>,
    /// The deployment's commit, if the reported one is another: then nothing was recorded.
    pub other_commit: Option<String>,
}

impl Store {
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
            return Ok(Some(Completed::default()));
        }
        if let Some(commit) = report.commit_id
            && let Some(other) = change.resolve_commit(deployment.id.into(), commit).await?
        {
            return Ok(Some(Completed { other_commit: Some(other), ..Completed::default() }));
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
        change.commit().await?;
        Ok(Some(Completed { task_token: job.task_token, wake: Some(wake), other_commit: None }))
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
    } else if let Some(reason) = report.failure {
        (JobStatus::Failed, Some(reason))
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
        let mistake = JobReport { failure: Some(Reason::CommitNotFound), ..error };
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
            (["pending", "pending"], mistake, false, (Failed, Some(Reason::CommitNotFound))),
            (["pending", "pending"], mistake, true, (Canceled, None)),
            (["pending", "pending"], error, false, (Errored, Some(Reason::RunnerError))),
            (["succeeded", "errored"], fine, false, (Errored, Some(Reason::RunnerError))),
            (["succeeded", "pending"], fine, false, (Errored, Some(Reason::RunnerError))),
        ] {
            let steps = steps.map(str::to_owned);
            assert_eq!(outcome(&steps, report, canceled), expected, "{steps:?} {report:?} {canceled}");
        }
    }
}
