//! Why a deployment is blocked. Never empty for a live deployment with nothing running.

use jiff::Timestamp;
use serde::Serialize;

use super::gate::{Blocker, Freeze, Hold};
use super::status::{DeploymentStatus, StageStatus};
use crate::id::{ApprovalId, DeploymentId};
use crate::pipeline::PipelineStatus;

/// Serialized as in the API, because events contain it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WaitingOn {
    /// Another deployment has the environment's work slot: it acts on the environment.
    WorkSlot {
        #[serde(rename = "deploymentId")]
        deployment: DeploymentId,
        /// The stage that waits, if the environment is a lasting one.
        #[serde(skip_serializing_if = "Option::is_none")]
        stage: Option<String>,
        /// The lasting environment.
        #[serde(skip_serializing_if = "Option::is_none")]
        environment: Option<String>,
    },
    /// No stage begins in the lasting environment until the freeze ends.
    Freeze {
        stage: String,
        environment: String,
        #[serde(flatten)]
        freeze: Freeze,
    },
    /// A user holds the lasting environment: only their deployments begin there.
    Hold {
        stage: String,
        environment: String,
        #[serde(flatten)]
        hold: Hold,
    },
    /// The pipeline is stopped; the deployment continues when it is resumed.
    PipelineStopped,
    /// The pipeline is archived, which is final.
    PipelineArchived,
    /// The pipeline's concurrency limit is reached.
    Concurrency,
    /// A stage waits for a runner of its pool.
    Runner { stage: String, pool: String },
    /// A stage backs off before its next attempt.
    Retry { stage: String, until: Timestamp },
    /// A stage waits for an approval.
    Approval {
        stage: String,
        /// Missing until the approval is open.
        #[serde(flatten)]
        progress: Option<ApprovalProgress>,
    },
    /// A canceled stage has not ended yet.
    RunningSteps { stage: String },
    /// Nothing blocks the deployment, but the engine has not advanced it yet.
    Engine,
}

/// How far an open approval is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalProgress {
    pub approval_id: ApprovalId,
    /// How many approvals are needed.
    pub needed: u32,
    /// How many of them are there.
    pub have: u32,
    /// How many people may approve. If they can't meet the rules, the approval can't be met.
    pub eligible: u32,
}

/// What determines why a deployment that has not started is blocked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockerInput {
    pub deployment: DeploymentId,
    /// The deployment that has the environment's work slot.
    pub slot_holder: Option<DeploymentId>,
    pub pipeline: PipelineStatus,
    /// A teardown runs in every status of the pipeline.
    pub is_teardown: bool,
    /// The pipeline's concurrency limit is reached.
    pub is_at_concurrency_limit: bool,
}

/// A stage that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveStage<'a> {
    pub key: &'a str,
    pub pool: &'a str,
    pub environment: Option<&'a str>,
    pub blocker: Option<&'a Blocker>,
    /// The open approval that it waits for.
    pub approval: Option<ApprovalProgress>,
    pub status: StageStatus,
    pub retry_at: Option<Timestamp>,
}

/// Returns all reasons why the deployment is blocked.
pub fn waiting_on<'a>(
    status: DeploymentStatus,
    input: BlockerInput,
    stages: impl IntoIterator<Item = LiveStage<'a>>,
) -> Vec<WaitingOn> {
    match status {
        status if status.is_final() => Vec::new(),
        DeploymentStatus::Queued => start_blockers(input),
        _ => {
            let paused = (status == DeploymentStatus::Paused).then_some(WaitingOn::PipelineStopped);
            let canceling = status == DeploymentStatus::Canceling;
            let blocked_stages = stages.into_iter().filter_map(|stage| stage_blocker(stage, canceling));
            paused.into_iter().chain(blocked_stages).collect()
        }
    }
}

fn start_blockers(input: BlockerInput) -> Vec<WaitingOn> {
    let mut reasons = Vec::new();
    if let Some(deployment) = input.slot_holder.filter(|holder| *holder != input.deployment) {
        reasons.push(WaitingOn::WorkSlot { deployment, stage: None, environment: None });
    }
    match input.pipeline {
        PipelineStatus::Active => {}
        _ if input.is_teardown => {}
        PipelineStatus::Stopped => reasons.push(WaitingOn::PipelineStopped),
        PipelineStatus::Archived => reasons.push(WaitingOn::PipelineArchived),
    }
    if input.is_at_concurrency_limit {
        reasons.push(WaitingOn::Concurrency);
    }
    if reasons.is_empty() {
        reasons.push(WaitingOn::Engine);
    }
    reasons
}

fn stage_blocker(stage: LiveStage<'_>, canceling: bool) -> Option<WaitingOn> {
    let key = stage.key.to_owned();
    match (stage.status, stage.retry_at) {
        (StageStatus::Queued, _) => Some(WaitingOn::Runner { stage: key, pool: stage.pool.to_owned() }),
        (StageStatus::Waiting, _) => Some(gate_blocker(stage, key)),
        (StageStatus::Pending, Some(until)) => Some(WaitingOn::Retry { stage: key, until }),
        (StageStatus::Running, _) if canceling => Some(WaitingOn::RunningSteps { stage: key }),
        _ => None,
    }
}

fn gate_blocker(stage: LiveStage<'_>, key: String) -> WaitingOn {
    let environment = stage.environment.unwrap_or_default().to_owned();
    match stage.blocker {
        None => WaitingOn::Approval { stage: key, progress: stage.approval },
        Some(Blocker::WorkSlot { deployment }) => {
            WaitingOn::WorkSlot { deployment: *deployment, stage: Some(key), environment: Some(environment) }
        }
        Some(Blocker::Freeze(freeze)) => {
            WaitingOn::Freeze { stage: key, environment, freeze: freeze.clone() }
        }
        Some(Blocker::Hold(hold)) => WaitingOn::Hold { stage: key, environment, hold: hold.clone() },
        Some(Blocker::Concurrency) => WaitingOn::Concurrency,
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn progress() -> ApprovalProgress {
        ApprovalProgress { approval_id: Uuid::from_u128(1).into(), needed: 2, have: 1, eligible: 3 }
    }

    fn id(number: u128) -> DeploymentId {
        DeploymentId::from(Uuid::from_u128(number))
    }

    #[test]
    fn an_unstarted_deployment_lists_every_blocker() {
        let (own, other) = (id(1), id(2));
        let slot = WaitingOn::WorkSlot { deployment: other, stage: None, environment: None };
        use PipelineStatus::{Active, Archived, Stopped};
        for (occupant, pipeline, is_at_concurrency_limit, expected) in [
            (None, Active, false, vec![WaitingOn::Engine]),
            (Some(own), Active, false, vec![WaitingOn::Engine]),
            (Some(own), Active, true, vec![WaitingOn::Concurrency]),
            (Some(other), Active, false, vec![slot.clone()]),
            (Some(own), Stopped, false, vec![WaitingOn::PipelineStopped]),
            (Some(other), Stopped, true, vec![slot, WaitingOn::PipelineStopped, WaitingOn::Concurrency]),
            (Some(own), Archived, false, vec![WaitingOn::PipelineArchived]),
        ] {
            let input = BlockerInput {
                deployment: own,
                slot_holder: occupant,
                pipeline,
                is_teardown: false,
                is_at_concurrency_limit,
            };
            assert_eq!(waiting_on(DeploymentStatus::Queued, input, []), expected);
            assert_eq!(waiting_on(DeploymentStatus::Superseded, input, []), []);
        }
    }

    #[test]
    fn a_teardown_does_not_wait_for_its_pipeline() {
        for pipeline in [PipelineStatus::Active, PipelineStatus::Stopped, PipelineStatus::Archived] {
            let input = BlockerInput {
                deployment: id(1),
                slot_holder: Some(id(1)),
                pipeline,
                is_teardown: true,
                is_at_concurrency_limit: false,
            };
            assert_eq!(waiting_on(DeploymentStatus::Queued, input, []), [WaitingOn::Engine]);
        }
    }

    #[test]
    fn a_started_deployment_lists_its_blocked_stages() {
        let input = BlockerInput {
            deployment: id(1),
            slot_holder: None,
            pipeline: PipelineStatus::Stopped,
            is_teardown: false,
            is_at_concurrency_limit: true,
        };
        let stage = |status, retry_at| LiveStage {
            key: "build",
            pool: "big",
            environment: None,
            blocker: None,
            approval: None,
            status,
            retry_at,
        };
        let (until, key) = (Timestamp::UNIX_EPOCH, || "build".to_owned());
        for (status, of, expected) in [
            (DeploymentStatus::Running, stage(StageStatus::Running, None), vec![]),
            (
                DeploymentStatus::Running,
                stage(StageStatus::Queued, None),
                vec![WaitingOn::Runner { stage: key(), pool: "big".to_owned() }],
            ),
            (
                DeploymentStatus::Waiting,
                stage(StageStatus::Waiting, None),
                vec![WaitingOn::Approval { stage: key(), progress: None }],
            ),
            (
                DeploymentStatus::Waiting,
                LiveStage { approval: Some(progress()), ..stage(StageStatus::Waiting, None) },
                vec![WaitingOn::Approval { stage: key(), progress: Some(progress()) }],
            ),
            (
                DeploymentStatus::Waiting,
                stage(StageStatus::Pending, Some(until)),
                vec![WaitingOn::Retry { stage: key(), until }],
            ),
            (DeploymentStatus::Paused, stage(StageStatus::Pending, None), vec![WaitingOn::PipelineStopped]),
            (
                DeploymentStatus::Canceling,
                stage(StageStatus::Running, None),
                vec![WaitingOn::RunningSteps { stage: key() }],
            ),
        ] {
            assert_eq!(waiting_on(status, input, [of]), expected, "{status} {of:?}");
        }
    }

    #[test]
    fn the_progress_of_an_approval_is_part_of_its_json() {
        let json = |progress| {
            serde_json::to_value(WaitingOn::Approval { stage: "ship".to_owned(), progress }).unwrap()
        };
        assert_eq!(json(None), serde_json::json!({ "kind": "approval", "stage": "ship" }));
        let expected = serde_json::json!({
            "kind": "approval", "stage": "ship", "approvalId": progress().approval_id, "needed": 2, "have": 1, "eligible": 3
        });
        assert_eq!(json(Some(progress())), expected);
    }
}
