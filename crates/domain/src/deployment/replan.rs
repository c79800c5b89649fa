//! A retry with another version of the definition: what is retried takes over the plan of that version.

use std::collections::HashSet;

use super::machine::Deployment;
use super::plan::{NotPlanned, PlannedStage};
use super::retry::NotRetried;
use super::stage::Stage;
use super::status::{Reason, StageStatus};

/// Returns why a stage can't be retried with another version of the definition, whose stages for this
/// deployment are `keys`; `None` if that version lacks the environment.
///
/// Jobs read their steps from the deployment's definition. So its version does not change while a stage is
/// queued or running.
pub fn check_other_version(
    deployment: &Deployment,
    key: &str,
    keys: Option<&[&str]>,
) -> Result<(), NotRetried> {
    let is_at_work = |stage: &Stage| matches!(stage.status, StageStatus::Queued | StageStatus::Running);
    if !keys.is_some_and(|keys| keys.contains(&key)) {
        Err(NotRetried::NotInDefinition)
    } else if deployment.stages.iter().any(is_at_work) {
        Err(NotRetried::OthersAtWork)
    } else {
        Ok(())
    }
}

impl Deployment {
    /// Merges the plan of another version of the definition.
    ///
    /// | Stage                                                               | Afterwards                        |
    /// |---------------------------------------------------------------------|-----------------------------------|
    /// | has ended and is not retried                                        | unchanged                         |
    /// | `pending` or `waiting`, and in the plan                             | `pending`, as planned             |
    /// | `pending` or `waiting`, and not in the plan                         | `skipped`: `invalid_definition`   |
    /// | new, and a planned stage needs it or it needs one                   | added                             |
    /// | new, otherwise                                                      | not added                         |
    ///
    /// If nothing could be planned, the stages that have not begun end as `errored`.
    pub fn apply_new_plan(&mut self, plan: Result<&[PlannedStage], NotPlanned>) {
        let Ok(plan) = plan else {
            for stage in self.stages.iter_mut().filter(|stage| has_not_begun(stage)) {
                stage.end(StageStatus::Errored, Reason::InvalidDefinition);
            }
            return;
        };
        let mut earlier = std::mem::take(&mut self.stages);
        let keys = planned_keys(&earlier, plan);
        for planned in plan {
            let index = earlier.iter().position(|stage| stage.key == planned.key);
            let is_planned = keys.contains(planned.key.as_str());
            match index.map(|index| earlier.remove(index)) {
                Some(stage) if is_planned => self.stages.push(stage.planned_again(planned)),
                Some(stage) => self.stages.push(stage),
                None if is_planned => self.stages.push(Stage::planned(planned)),
                None => {}
            }
        }
        for mut stage in earlier {
            if has_not_begun(&stage) {
                stage.end(StageStatus::Skipped, Reason::InvalidDefinition);
            }
            self.stages.push(stage);
        }
    }
}

impl Stage {
    /// Takes over everything of the plan, and keeps the attempts.
    fn planned_again(self, planned: &PlannedStage) -> Self {
        let Self { reason, retry_at, attempt_number, attempts_since_retry, job, .. } = self;
        Self { reason, retry_at, attempt_number, attempts_since_retry, job, ..Self::planned(planned) }
    }
}

const fn has_not_begun(stage: &Stage) -> bool {
    matches!(stage.status, StageStatus::Pending | StageStatus::Waiting)
}

/// Returns the stages that take over the plan: those that have not begun, and the new ones that are connected
/// to them.
fn planned_keys<'a>(earlier: &[Stage], plan: &'a [PlannedStage]) -> HashSet<&'a str> {
    let find = |key: &str| earlier.iter().find(|stage| stage.key == key);
    let (known, new): (Vec<_>, Vec<_>) = plan.iter().partition(|planned| find(&planned.key).is_some());
    let begins = |planned: &&&PlannedStage| find(&planned.key).is_some_and(has_not_begun);
    let mut keys: HashSet<&str> = known.iter().filter(begins).map(|planned| planned.key.as_str()).collect();
    loop {
        let is_connected = |planned: &&&PlannedStage| {
            let is_needed = |other: &PlannedStage| {
                keys.contains(other.key.as_str()) && other.needs.contains(&planned.key)
            };
            !keys.contains(planned.key.as_str())
                && (planned.needs.iter().any(|key| keys.contains(key.as_str())) || plan.iter().any(is_needed))
        };
        let added: Vec<&str> = new.iter().filter(is_connected).map(|planned| planned.key.as_str()).collect();
        if added.is_empty() {
            return keys;
        }
        keys.extend(added);
    }
}

#[cfg(test)]
#[path = "replan_tests.rs"]
mod tests;
