//! The end of an attempt: its status, from the results of its steps and the report of its runner, and the
//! statuses of the steps that have not ended by then.

use super::status::{JobStatus, Reason, StepStatus};

/// A runner's report about an attempt as a whole, in addition to the results of its steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttemptReport {
    /// The attempt or one of its steps timed out.
    pub timed_out: bool,
    /// A failure that a retry can't fix.
    pub failure: Option<Reason>,
    /// The runner could not carry out the attempt.
    pub has_error: bool,
}

/// Returns the status of an attempt that has ended, and the reason for it. `is_canceled`: the attempt or its
/// deployment was canceled before.
///
/// The first row that applies decides:
///
/// | Steps                            | Report                | Status      | Reason         |
/// |----------------------------------|-----------------------|-------------|----------------|
/// | one failed                       | timed out             | `failed`    | `timed_out`    |
/// | one failed                       |                       | `failed`    | `step_failed`  |
/// | one canceled                     |                       | `canceled`  |                |
/// | canceled, not all succeeded      |                       | `canceled`  |                |
/// |                                  | timed out             | `failed`    | `timed_out`    |
/// |                                  | failure               | `failed`    | the failure    |
/// |                                  | error                 | `errored`   | `runner_error` |
/// | all succeeded                    |                       | `succeeded` |                |
/// | one errored or not ended         |                       | `errored`   | `runner_error` |
pub fn attempt_outcome(
    steps: &[StepStatus],
    report: AttemptReport,
    is_canceled: bool,
) -> (JobStatus, Option<Reason>) {
    let any = |status: StepStatus| steps.contains(&status);
    let all_succeeded = steps.iter().all(|step| *step == StepStatus::Succeeded);
    if any(StepStatus::Failed) {
        let reason = if report.timed_out { Reason::TimedOut } else { Reason::StepFailed };
        (JobStatus::Failed, Some(reason))
    } else if any(StepStatus::Canceled) || is_canceled && !all_succeeded {
        (JobStatus::Canceled, None)
    } else if report.timed_out {
        // Outside of the steps: during the checkout, or while artifacts or caches were stored.
        (JobStatus::Failed, Some(Reason::TimedOut))
    } else if let Some(reason) = report.failure {
        (JobStatus::Failed, Some(reason))
    } else if all_succeeded && !report.has_error {
        (JobStatus::Succeeded, None)
    } else {
        (JobStatus::Errored, Some(Reason::RunnerError))
    }
}

impl StepStatus {
    /// Returns the status of a step after the end of its attempt, which ended with `attempt`:
    ///
    /// | Step      | Attempt `errored` | Any other end |
    /// |-----------|-------------------|---------------|
    /// | `pending` | `skipped`         | `skipped`     |
    /// | `running` | `errored`         | `canceled`    |
    /// | final     | unchanged         | unchanged     |
    pub const fn at_end_of(self, attempt: JobStatus) -> Self {
        match (self, attempt) {
            (Self::Pending, _) => Self::Skipped,
            (Self::Running, JobStatus::Errored) => Self::Errored,
            (Self::Running, _) => Self::Canceled,
            (ended, _) => ended,
        }
    }
}

#[cfg(test)]
#[path = "attempt_tests.rs"]
mod tests;
