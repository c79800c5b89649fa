//! A pipeline's `concurrency`: how many of its deployments may run at a time, and which of those that wait may
//! start. Deployments of sessions and those of the whole pipeline are counted separately: they don't wait for
//! each other.
//!
//! | Deployment                                                     | Counts as      |
//! |----------------------------------------------------------------|----------------|
//! | `running`, `paused`, `canceling`                               | at work        |
//! | `queued`, not canceled, and it has its slot                    | waits for room |
//! | `waiting`, and one of its stages waits only for this limit     | waits for room |
//! | any other, and every teardown                                  | neither        |
//!
//! A queued deployment waits for room, that is, for this limit, once it has the work slot of its environment
//! (`work_slot`), or if it has no environment. One that waits for a person, a freeze, a hold or a slot may do so
//! for days, so it does not count, and waits for room when it could go on. A deployment may start or go on if fewer
//! than the limit are ahead of it: those at work, and the older ones that wait for room. A teardown neither counts
//! nor waits, because other sessions wait for it.

use super::plan::Purpose;
use super::status::DeploymentStatus;

/// The purposes that the limit is for, each of which has its own count.
pub const LIMITED_PURPOSES: [Purpose; 2] = [Purpose::Pipeline, Purpose::Session];

/// The limit of a pipeline's current definition. `None`: there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConcurrencyLimit(pub Option<i64>);

impl ConcurrencyLimit {
    /// Returns whether a deployment may start that has this many others ahead of it.
    pub fn admits(self, ahead: i64) -> bool {
        self.0.is_none_or(|limit| ahead < limit)
    }

    /// Returns how many more deployments may start if this many are at work, or `None` if there is no limit.
    pub fn room(self, at_work: i64) -> Option<i64> {
        self.0.map(|limit| (limit - at_work).max(0))
    }
}

/// Returns whether the limit of its pipeline decides whether a deployment starts or goes on.
pub fn is_limited(status: DeploymentStatus, purpose: Purpose) -> bool {
    matches!(status, DeploymentStatus::Queued | DeploymentStatus::Waiting)
        && LIMITED_PURPOSES.contains(&purpose)
}

/// Returns whether a deployment in this status counts toward the limit.
pub const fn is_at_work(status: DeploymentStatus) -> bool {
    matches!(status, DeploymentStatus::Running | DeploymentStatus::Paused | DeploymentStatus::Canceling)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_start_as_long_as_there_is_room() {
        for at_work in 0..8 {
            for limit in 0..6 {
                let limited = ConcurrencyLimit(Some(limit));
                // Each has those ahead of it that are at work and those that are older.
                let admitted: Vec<bool> = (0..10).map(|older| limited.admits(at_work + older)).collect();
                let room = usize::try_from(limited.room(at_work).unwrap()).unwrap();
                assert_eq!(admitted.iter().take_while(|admitted| **admitted).count(), room);
                assert_eq!(admitted.iter().filter(|admitted| **admitted).count(), room);
                assert_eq!(room as i64, 0.max(limit - at_work));
            }
            assert_eq!(ConcurrencyLimit(None).room(at_work), None);
            assert!(ConcurrencyLimit(None).admits(at_work));
        }
    }

    #[test]
    fn a_deployment_counts_or_waits_for_room_and_a_teardown_does_not_wait() {
        for status in DeploymentStatus::ALL {
            for purpose in Purpose::ALL {
                let expected = !status.is_final() && !is_at_work(*status) && *purpose != Purpose::Teardown;
                assert_eq!(is_limited(*status, *purpose), expected, "{status} {purpose:?}");
            }
        }
    }
}
