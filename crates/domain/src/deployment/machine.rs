//! The state machine of a deployment: computes its next state from the current state, the input and the
//! current time. It has no side effects: the store reads the rows, calls [`advance`] and writes the
//! difference. [`advance`] is idempotent: a second call changes nothing.

use jiff::Timestamp;

use super::deadline::Timing;
use super::plan::{NotPlanned, PlannedStage};
use super::stage::Stage;
use super::status::{DeploymentStatus, Reason, StageStatus};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deployment {
    pub status: DeploymentStatus,
    pub reason: Option<Reason>,
    /// Set if the deployment was canceled: why it has to end.
    pub cancel: Option<Reason>,
    /// The deadline of the deployment. Stages that have not ended by then are canceled, and the deployment
    /// fails.
    pub ends_by: Option<Timestamp>,
    pub stages: Vec<Stage>,
}

/// What [`advance`] needs besides the state of the deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdvanceInput {
    /// Whether the deployment may start. If it has an environment, it must be the one deployment that may act
    /// on it, which is the holder of the environment's work slot. Unless it is a teardown, its pipeline must
    /// also be active and below its concurrency limit.
    pub can_start: bool,
    /// Whether no further stage may start, because the pipeline was stopped with `pause`.
    pub is_held: bool,
}

/// Returns the next state of the deployment.
///
/// The stages of a canceled deployment:
///
/// | Stage                | Newest attempt       | Stage afterwards                |
/// |----------------------|----------------------|---------------------------------|
/// | `pending`, `waiting` |                      | `canceled`                      |
/// | `queued`, `running`  | `queued`             | `canceled`, as the attempt      |
/// | `queued`, `running`  | `running`            | `running`, the attempt must end |
/// | `queued`, `running`  | `errored`, not last  | `canceled`, it is not repeated  |
/// | `queued`, `running`  | any other end        | the status of the attempt       |
/// | final                |                      | unchanged                       |
///
/// The deployment is `canceling` as long as a stage is `running`, and then `canceled`, or `failed` if it is
/// canceled because of its deadline.
pub fn advance(
    mut deployment: Deployment,
    input: AdvanceInput,
    timing: Timing,
    now: Timestamp,
) -> Deployment {
    if deployment.status.is_final() {
        return deployment;
    }
    if deployment.ends_by.is_some_and(|at| at <= now) {
        deployment.cancel.get_or_insert(Reason::TimedOut);
    }
    let canceling = deployment.cancel;
    for stage in &mut deployment.stages {
        stage.settle(canceling, timing, now);
    }
    if canceling.is_some() {
        deployment.cancel_unstarted_stages();
    } else if deployment.status == DeploymentStatus::Queued {
        if !input.can_start {
            return deployment;
        }
        deployment.status = DeploymentStatus::Running;
    }
    if canceling.is_none() {
        while deployment.start_stages(input.is_held, now) {}
    }
    deployment.conclude(input.is_held);
    deployment
}

/// Returns when [`advance`] has to be called again even if no event occurs: the earliest deadline or retry.
pub fn next_advance_at(deployment: &Deployment, timing: Timing) -> Option<Timestamp> {
    if deployment.status.is_final() {
        return None;
    }
    let ends_by = deployment.ends_by.filter(|_| deployment.cancel.is_none());
    deployment.stages.iter().filter_map(|stage| stage.next_advance_at(timing)).chain(ends_by).min()
}

impl Deployment {
    /// Adds the planned stages. A deployment that can't be planned ends immediately.
    pub fn apply_plan(&mut self, plan: Result<&[PlannedStage], NotPlanned>) {
        match plan {
            Ok(stages) => self.stages = stages.iter().map(Stage::planned).collect(),
            Err(NotPlanned) => {
                self.status = DeploymentStatus::Errored;
                self.reason = Some(Reason::InvalidDefinition);
            }
        }
    }

    fn cancel_unstarted_stages(&mut self) {
        for stage in &mut self.stages {
            if matches!(stage.status, StageStatus::Pending | StageStatus::Waiting) {
                stage.end(StageStatus::Canceled, Reason::DeploymentCanceled);
            }
        }
    }

    /// Returns whether a stage changed, in which case stages that need it may start as well.
    fn start_stages(&mut self, is_held: bool, now: Timestamp) -> bool {
        let mut changed = false;
        for index in 0..self.stages.len() {
            let Some(stage) = self.stages.get(index) else { break };
            if stage.status != StageStatus::Pending {
                continue;
            }
            let needed = || stage.needs.iter().filter_map(|key| self.status_of(key));
            let next = if needed().any(|status| {
                matches!(status, StageStatus::Failed | StageStatus::Errored | StageStatus::Canceled)
            }) {
                Some((StageStatus::Skipped, Some(Reason::UpstreamFailed)))
            } else if needed().any(|status| status == StageStatus::Skipped) {
                Some((StageStatus::Skipped, Some(Reason::UpstreamSkipped)))
            } else if !needed().all(|status| status == StageStatus::Succeeded) {
                None
            } else if let Some((status, reason)) = stage.planned_outcome {
                Some((status, Some(reason)))
            } else if is_held || stage.retry_at.is_some_and(|at| at > now) {
                None
            } else if stage.needs_approval {
                Some((StageStatus::Waiting, None))
            } else {
                Some((StageStatus::Queued, None))
            };
            if let Some((status, reason)) = next
                && let Some(stage) = self.stages.get_mut(index)
            {
                stage.status = status;
                stage.reason = reason;
                if status == StageStatus::Queued {
                    stage.dispatch(now);
                }
                changed = true;
            }
        }
        changed
    }

    fn status_of(&self, key: &str) -> Option<StageStatus> {
        self.stages.iter().find(|stage| stage.key == key).map(|stage| stage.status)
    }

    fn conclude(&mut self, is_held: bool) {
        let any = |status: StageStatus| self.stages.iter().any(|stage| stage.status == status);
        if self.stages.iter().all(|stage| stage.status.is_final()) {
            let (status, reason) = self.outcome();
            self.status = status;
            self.reason = reason;
        } else if self.cancel.is_some() {
            self.status = DeploymentStatus::Canceling;
        } else if any(StageStatus::Queued) || any(StageStatus::Running) {
            self.status = DeploymentStatus::Running;
        } else if is_held {
            self.status = DeploymentStatus::Paused;
        } else {
            self.status = DeploymentStatus::Waiting;
        }
    }

    fn outcome(&self) -> (DeploymentStatus, Option<Reason>) {
        let first = |status: StageStatus| self.stages.iter().find(|stage| stage.status == status);
        if let Some(cancel) = self.cancel {
            let abandoned = self.stages.iter().any(|stage| stage.reason == Some(Reason::Abandoned));
            let reason = if abandoned { Reason::Abandoned } else { cancel };
            let late = cancel == Reason::TimedOut;
            return (if late { DeploymentStatus::Failed } else { DeploymentStatus::Canceled }, Some(reason));
        }
        if let Some(stage) = first(StageStatus::Failed) {
            (DeploymentStatus::Failed, stage.reason)
        } else if let Some(stage) = first(StageStatus::Errored) {
            (DeploymentStatus::Errored, stage.reason)
        } else if let Some(stage) = first(StageStatus::Canceled) {
            (DeploymentStatus::Canceled, stage.reason)
        } else {
            (DeploymentStatus::Succeeded, None)
        }
    }
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;
