//! Deadlines of stages and deployments: when time alone changes their status.

use jiff::{SignedDuration, Timestamp};

use super::plan::Purpose;
use super::status::StageStatus;

/// The deadline of a teardown is short, because other sessions wait for the environment.
const MAX_TEARDOWN_TIME: SignedDuration = SignedDuration::from_mins(15);

/// Time limits that are the same for all deployments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Time after lease expiry by which the step of a lost runner is guaranteed to be dead.
    pub lease_grace: SignedDuration,
    /// How long a job waits for a runner before it errors.
    pub max_queue_time: SignedDuration,
    /// A runner enforces the timeout of a stage itself. The job is canceled if it exceeds the timeout by
    /// this.
    pub timeout_slack: SignedDuration,
}

/// The times of a stage's newest attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptTimes {
    pub queued_at: Timestamp,
    pub started_at: Option<Timestamp>,
}

/// Returns the deadline of a deployment that has started, which holds in addition to the timeouts of its
/// stages.
pub fn ends_by(purpose: Purpose, started_at: Option<Timestamp>) -> Option<Timestamp> {
    match purpose {
        Purpose::Teardown => started_at?.saturating_add(MAX_TEARDOWN_TIME).ok(),
        Purpose::Pipeline | Purpose::Session => None,
    }
}

/// Returns the deadline of a stage: for a queued stage, when it stops waiting for a runner; for a running
/// one, when its timeout ends. Stages of any other status have none.
pub fn deadline(
    status: StageStatus,
    attempt: AttemptTimes,
    timeout: SignedDuration,
    timing: Timing,
) -> Option<Timestamp> {
    match status {
        StageStatus::Queued => attempt.queued_at.saturating_add(timing.max_queue_time).ok(),
        StageStatus::Running => attempt.started_at?.saturating_add(timeout).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_queued_and_running_stages_have_a_deadline() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let seconds = SignedDuration::from_secs;
        let timing =
            Timing { lease_grace: seconds(30), max_queue_time: seconds(1_000), timeout_slack: seconds(60) };
        for (status, started_at, expected) in [
            (StageStatus::Pending, None, None),
            (StageStatus::Waiting, None, None),
            (StageStatus::Queued, None, Some(at(1_007))),
            (StageStatus::Running, Some(at(9)), Some(at(309))),
            (StageStatus::Running, None, None),
            (StageStatus::Failed, Some(at(9)), None),
        ] {
            let attempt = AttemptTimes { queued_at: at(7), started_at };
            assert_eq!(deadline(status, attempt, seconds(300), timing), expected, "{status} {started_at:?}");
        }
    }
}
