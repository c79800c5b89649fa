//! The steps of an attempt, one after the other, and its end: its status, from the results of its steps and the
//! report of its runner, and the statuses of the steps that have not ended by then.

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

/// Returns whether a step may start after those before it. They run in order, and each of them needs the success of all
/// before it. So an attempt whose steps have all succeeded has requested each start, in order.
pub fn step_may_start(before: &[StepStatus]) -> bool {
    before.iter().all(|step| *step == StepStatus::Succeeded)
}

impl StepStatus {
    /// Returns whether a step may end with this status if it was `before` until now. Only what has started can have
    /// succeeded or failed: at its start the environment, the approval and the secrets are checked.
    pub const fn may_end_from(self, before: Self) -> bool {
        match self {
            Self::Succeeded | Self::Failed => matches!(before, Self::Running),
            Self::Errored | Self::Canceled => matches!(before, Self::Pending | Self::Running),
            Self::Pending | Self::Running | Self::Skipped => false,
        }
    }

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
