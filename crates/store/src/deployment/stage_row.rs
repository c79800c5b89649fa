//! A stage as the machine has changed it.

use greenroom_domain::deployment::{Stage, StageStatus};

/// A stage before (if it existed) and after the machine's step.
pub(crate) struct StageRow<'a> {
    pub(crate) before: Option<&'a Stage>,
    pub(crate) after: &'a Stage,
}

impl StageRow<'_> {
    /// The machine has begun a new attempt.
    pub(super) fn has_new_attempt(&self) -> bool {
        self.after.attempt_number > self.before.map_or(0, |stage| stage.attempt_number)
    }

    /// The stage was just planned and has not changed since, so its row is already complete.
    pub(super) fn is_newly_planned(&self) -> bool {
        self.before.is_none() && self.after.status == StageStatus::Pending
    }

    pub(crate) fn has_new_status(&self) -> bool {
        self.before.is_none_or(|before| before.status != self.after.status)
    }
}
