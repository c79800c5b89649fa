//! A pipeline's `concurrency`: how many of its deployments may run at a time, and which of those that wait may
//! start.
//!
//! | Deployment                                     | Counts as      |
//! |------------------------------------------------|----------------|
//! | `running`, `waiting`, `paused`, `canceling`    | started        |
//! | `queued`, not canceled, and it has its slot    | waits for room |
//! | any other, and every teardown                  | neither        |
//!
//! A queued deployment waits for room, that is, for this limit, once it has the work slot of its environment
//! (`work_slot`), or if it has no environment. It may start if fewer than the limit are ahead of it: those
//! that have started, and the older ones that wait for room. A teardown neither counts nor waits, because
//! other sessions wait for it.

use super::plan::Purpose;
use super::status::DeploymentStatus;

/// The limit of a pipeline's current definition. `None`: there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConcurrencyLimit(pub Option<i64>);

impl ConcurrencyLimit {
    /// Returns whether a deployment may start that has this many others ahead of it.
    pub fn admits(self, ahead: i64) -> bool {
        self.0.is_none_or(|limit| ahead < limit)
    }

    /// Returns how many more deployments may start if this many have started, or `None` if there is no limit.
    pub fn room(self, started: i64) -> Option<i64> {
        self.0.map(|limit| (limit - started).max(0))
    }
}

/// Returns whether the start of a deployment depends on the limit of its pipeline.
pub fn is_limited(status: DeploymentStatus, purpose: Purpose) -> bool {
    status == DeploymentStatus::Queued && purpose != Purpose::Teardown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_start_as_long_as_there_is_room() {
        for started in 0..8 {
            for limit in 0..6 {
                let limited = ConcurrencyLimit(Some(limit));
                // Each has those ahead of it that have started and those that are older.
                let admitted: Vec<bool> = (0..10).map(|older| limited.admits(started + older)).collect();
                let room = usize::try_from(limited.room(started).unwrap()).unwrap();
                assert_eq!(admitted.iter().take_while(|admitted| **admitted).count(), room);
                assert_eq!(admitted.iter().filter(|admitted| **admitted).count(), room);
                assert_eq!(room as i64, 0.max(limit - started));
            }
            assert_eq!(ConcurrencyLimit(None).room(started), None);
            assert!(ConcurrencyLimit(None).admits(started));
        }
    }

    #[test]
    fn only_a_queued_deployment_waits_for_room_and_no_teardown() {
        for status in DeploymentStatus::ALL {
            for purpose in Purpose::ALL {
                let expected = *status == DeploymentStatus::Queued && *purpose != Purpose::Teardown;
                assert_eq!(is_limited(*status, *purpose), expected, "{status} {purpose:?}");
            }
        }
    }
}
