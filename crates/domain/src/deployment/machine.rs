//! The state machine of a deployment: computes its next state from the current state, the input and the
//! current time. It has no side effects: the store reads the rows, calls [`advance`] and writes the
//! difference. [`advance`] is idempotent: a second call changes nothing.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::deadline::Timing;
use super::gate::{Blocker, GateDecision};
use super::plan::{NotPlanned, PlannedStage};
use super::stage::Stage;
use super::status::{DeploymentStatus, Reason, StageStatus};
use crate::approval::{Gate, Refusal, SubjectDigest};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdvanceInput {
    /// Whether the deployment may start. If it has an environment, it must be the one deployment that may act
    /// on it, which is the holder of the environment's work slot. Unless it is a teardown, its pipeline must
    /// also be active and below its concurrency limit.
    pub can_start: bool,
    /// Whether the pipeline's concurrency limit admits a deployment that is queued or only waits. True for all others.
    pub has_room: bool,
    /// Whether no further stage may start, because the pipeline was stopped with `pause`.
    pub is_held: bool,
    /// Whether its stages may begin in the lasting environments, by the environments' names. A stage whose environment
    /// is missing here does not begin.
    pub gates: BTreeMap<String, GateDecision>,
    /// The same without regard to freezes, for stages that ignore them.
    pub gates_without_freezes: BTreeMap<String, GateDecision>,
    /// What the stages that need an approval would do now, by their keys. One that is missing here does not begin.
    pub subjects: BTreeMap<String, SubjectDigest>,
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
    input: &AdvanceInput,
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
        let gate = stage.environment.as_ref().and_then(|name| input.gate_of(stage, name));
        let is_closed = gate.is_some_and(|gate| *gate != GateDecision::Begin);
        if is_closed || !stage.gate.permits(input.subjects.get(&stage.key), now) {
            stage.withdraw();
        }
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
        while deployment.start_stages(input, now) {}
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

impl AdvanceInput {
    /// Returns whether a stage may begin in its environment.
    fn gate_of(&self, stage: &Stage, environment: &str) -> Option<&GateDecision> {
        let gates = if stage.ignores_freeze { &self.gates_without_freezes } else { &self.gates };
        gates.get(environment)
    }
}

/// What becomes of a stage whose turn has come.
struct NextStage {
    status: StageStatus,
    reason: Option<Reason>,
    blocker: Option<Blocker>,
    gate: Gate,
}

impl NextStage {
    const fn new(status: StageStatus, gate: Gate) -> Self {
        Self { status, reason: None, blocker: None, gate }
    }

    const fn ended(status: StageStatus, reason: Reason, gate: Gate) -> Self {
        Self { status, reason: Some(reason), blocker: None, gate }
    }
}

impl Stage {
    /// Returns what becomes of the stage, all needs of which have succeeded. The first row that applies decides:
    ///
    /// | Environment | Approval                     | Room | Stage afterwards                             |
    /// |-------------|------------------------------|------|----------------------------------------------|
    /// | outdated    |                              |      | `skipped`                                    |
    /// |             | rejected, expired            |      | `failed`                                     |
    /// |             | superseded                   |      | `skipped`                                    |
    /// |             | needed and not valid         |      | `waiting`                                    |
    /// | waits       |                              |      | `waiting`                                    |
    /// |             |                              | no   | `waiting`                                    |
    /// |             |                              |      | `queued`                                     |
    fn at_gate(&self, input: &AdvanceInput, now: Timestamp) -> Option<NextStage> {
        let environment = match &self.environment {
            Some(name) => input.gate_of(self, name)?,
            None => &GateDecision::Begin,
        };
        let subject = input.subjects.get(&self.key);
        let gate = self.gate.clone().settle(subject, now);
        let has_lapsed = matches!(self.gate, Gate::Approved { until, .. } if until <= now);
        let blocker = match environment {
            GateDecision::Denied => {
                return Some(NextStage::ended(StageStatus::Failed, Reason::DeployDenied, gate));
            }
            GateDecision::Outdated => {
                return Some(NextStage::ended(StageStatus::Skipped, Reason::Outdated, gate));
            }
            GateDecision::Wait(blocker) => Some(blocker.clone()),
            GateDecision::Begin if !input.has_room => Some(Blocker::Concurrency),
            GateDecision::Begin => None,
        };
        Some(match gate {
            Gate::Refused(refusal) => {
                let (status, reason) = outcome_of(refusal);
                NextStage::ended(status, reason, gate)
            }
            gate if !gate.permits(subject, now) => {
                let reason = has_lapsed.then_some(Reason::ApprovalLapsed);
                NextStage { reason, ..NextStage::new(StageStatus::Waiting, gate) }
            }
            gate if blocker.is_some() => NextStage { blocker, ..NextStage::new(StageStatus::Waiting, gate) },
            gate => NextStage::new(StageStatus::Queued, gate),
        })
    }
}

const fn outcome_of(refusal: Refusal) -> (StageStatus, Reason) {
    match refusal {
        Refusal::Rejected => (StageStatus::Failed, Reason::ApprovalRejected),
        Refusal::Expired => (StageStatus::Failed, Reason::ApprovalExpired),
        Refusal::Superseded => (StageStatus::Skipped, Reason::Outdated),
    }
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
    fn start_stages(&mut self, input: &AdvanceInput, now: Timestamp) -> bool {
        let mut changed = false;
        for index in 0..self.stages.len() {
            let Some(stage) = self.stages.get(index) else { break };
            if !matches!(stage.status, StageStatus::Pending | StageStatus::Waiting) {
                continue;
            }
            let needed = || stage.needs.iter().filter_map(|key| self.status_of(key));
            let next = if needed().any(|status| {
                matches!(status, StageStatus::Failed | StageStatus::Errored | StageStatus::Canceled)
            }) {
                Some(NextStage::ended(StageStatus::Skipped, Reason::UpstreamFailed, stage.gate.clone()))
            } else if needed().any(|status| status == StageStatus::Skipped) {
                Some(NextStage::ended(StageStatus::Skipped, Reason::UpstreamSkipped, stage.gate.clone()))
            } else if !needed().all(|status| status == StageStatus::Succeeded) {
                None
            } else if let Some((status, reason)) = stage.planned_outcome {
                Some(NextStage::ended(status, reason, stage.gate.clone()))
            } else if input.is_held || stage.retry_at.is_some_and(|at| at > now) {
                None
            } else {
                stage.at_gate(input, now)
            };
            if let Some(NextStage { status, reason, blocker, gate }) = next
                && let Some(stage) = self.stages.get_mut(index)
                && (stage.status != status || stage.blocker != blocker || stage.gate != gate)
            {
                stage.gate = gate;
                stage.status = status;
                stage.reason = reason;
                stage.blocker = blocker;
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
        // It needs no one else to go on, so it keeps its place under the pipeline's limit.
        let repeats = |stage: &Stage| stage.status == StageStatus::Pending && stage.retry_at.is_some();
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
        } else if self.stages.iter().any(repeats) {
            self.status = DeploymentStatus::Running;
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
        } else if self.stages.iter().any(|stage| stage.reason == Some(Reason::Outdated)) {
            (DeploymentStatus::Superseded, Some(Reason::Outdated))
        } else {
            (DeploymentStatus::Succeeded, None)
        }
    }
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "machine_approval_tests.rs"]
mod approval_tests;
