//! Columns of a stage that the domain's machine does not need, and that its events contain.

use greenroom_domain::deployment::PlannedStage;
use jiff::Timestamp;

use crate::deployment::person::PersonRecord;
use crate::transaction::Actor;

pub(crate) struct StageColumns {
    pub(crate) name: String,
    pub(crate) pool: String,
    pub(crate) started_at: Option<Timestamp>,
    /// The runner of the newest attempt.
    pub(crate) runner: Option<Actor>,
    pub(crate) canceled_by: Option<PersonRecord>,
    pub(crate) retried_by: Option<PersonRecord>,
}

impl StageColumns {
    pub(crate) fn planned(stage: &PlannedStage) -> Self {
        Self {
            name: stage.name.clone(),
            pool: stage.pool.clone(),
            started_at: None,
            runner: None,
            canceled_by: None,
            retried_by: None,
        }
    }

    pub(crate) fn plan_again(&mut self, stage: &PlannedStage) {
        self.name.clone_from(&stage.name);
        self.pool.clone_from(&stage.pool);
    }
}
