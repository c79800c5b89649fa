//! Until when a live stage, or a deployment, may stay as it is: what the clock does to it if nothing else happens before.

use jiff::{SignedDuration, Timestamp};

use super::machine::Timing;
use super::plan::Purpose;
use super::status::StageStatus;

/// How long cleaning up may take in all: others wait for it.
const LONGEST_TEARDOWN: SignedDuration = SignedDuration::from_mins(15);

/// The times of a stage's newest attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptTimes {
    pub queued_at: Timestamp,
    pub started_at: Option<Timestamp>,
}

/// By when a deployment that has begun has to be over, whatever its stages' own limits are.
pub fn ends_by(purpose: Purpose, started_at: Option<Timestamp>) -> Option<Timestamp> {
    match purpose {
        Purpose::Teardown => started_at?.saturating_add(LONGEST_TEARDOWN).ok(),
        Purpose::Pipeline | Purpose::Session => None,
    }
}

/// Of one that waits for a runner, when it gives up waiting; of one that runs, when its time is over. No other stage ends
/// by the clock.
pub fn deadline(
    status: StageStatus,
    attempt: AttemptTimes,
    timeout: SignedDuration,
    timing: Timing,
) -> Option<Timestamp> {
    match status {
        StageStatus::Queued => attempt.queued_at.saturating_add(timing.longest_queue).ok(),
        StageStatus::Running => attempt.started_at?.saturating_add(timeout).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_clock_ends_has_one() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let seconds = SignedDuration::from_secs;
        let timing = Timing { grace: seconds(30), longest_queue: seconds(1_000), timeout_slack: seconds(60) };
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
