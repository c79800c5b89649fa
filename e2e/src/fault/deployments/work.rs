//! What a campaign observes of steps at work.

use uuid::Uuid;

use crate::fault::clock::Micros;

pub(crate) trait Work {
    /// Returns how many steps are at work now.
    fn steps_at_work(&self) -> usize;

    /// Returns the attempts whose steps are at work now, and will be for at least this long unless they are
    /// ended.
    fn jobs_at_work_for(&self, time: Micros) -> Vec<Uuid>;

    /// Returns how many steps have begun after this moment and ended.
    fn steps_done_since(&self, moment: Micros) -> usize;
}
