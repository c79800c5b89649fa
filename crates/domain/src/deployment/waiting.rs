//! What keeps a live deployment from going on; never nothing while nothing of it runs, so that whoever looks learns why.

use jiff::Timestamp;

use super::status::{DeploymentStatus, StageStatus};
use crate::id::DeploymentId;
use crate::pipeline::PipelineStatus;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitingOn {
    /// Another deployment has the environment's work slot.
    WorkSlot { deployment: DeploymentId },
    /// The pipeline is stopped; resuming it lets go what it held back.
    PipelineStopped,
    /// The pipeline is archived, for good.
    PipelineArchived,
    /// As many of the pipeline's run as its definition lets.
    Concurrency,
    /// A stage waits for a runner of its pool.
    Runner { stage: String, pool: String },
    /// A stage is tried again, later.
    Retry { stage: String, until: Timestamp },
    /// Somebody has to agree before a stage starts.
    Approval { stage: String },
    /// What was canceled has not ended yet.
    RunningSteps { stage: String },
    /// Nothing of ours: it could go on, and has not been taken up by what runs deployments.
    Engine,
}

/// What stands around a deployment that has not begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Surroundings {
    pub own: DeploymentId,
    /// Who has the environment's work slot.
    pub slot: Option<DeploymentId>,
    pub pipeline: PipelineStatus,
    /// A teardown runs whatever the pipeline's status is.
    pub teardown: bool,
    /// As many of the pipeline's run as its definition lets.
    pub crowded: bool,
}

/// A stage that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveStage<'a> {
    pub key: &'a str,
    pub pool: &'a str,
    pub status: StageStatus,
    pub retry_at: Option<Timestamp>,
}

/// Everything at once.
pub fn waiting_on<'a>(
    status: DeploymentStatus,
    around: Surroundings,
    stages: impl IntoIterator<Item = LiveStage<'a>>,
) -> Vec<WaitingOn> {
    match status {
        status if status.is_end() => Vec::new(),
        DeploymentStatus::Queued => before_it_begins(around),
        _ => {
            let held = (status == DeploymentStatus::Paused).then_some(WaitingOn::PipelineStopped);
            let canceling = status == DeploymentStatus::Canceling;
            let of_stages = stages.into_iter().filter_map(|stage| of_stage(stage, canceling));
            held.into_iter().chain(of_stages).collect()
        }
    }
}

fn before_it_begins(around: Surroundings) -> Vec<WaitingOn> {
    let mut reasons = Vec::new();
    if let Some(deployment) = around.slot.filter(|slot| *slot != around.own) {
        reasons.push(WaitingOn::WorkSlot { deployment });
    }
    match around.pipeline {
        PipelineStatus::Active => {}
        _ if around.teardown => {}
        PipelineStatus::Stopped => reasons.push(WaitingOn::PipelineStopped),
        PipelineStatus::Archived => reasons.push(WaitingOn::PipelineArchived),
    }
    if around.crowded {
        reasons.push(WaitingOn::Concurrency);
    }
    if reasons.is_empty() {
        reasons.push(WaitingOn::Engine);
    }
    reasons
}

fn of_stage(stage: LiveStage<'_>, canceling: bool) -> Option<WaitingOn> {
    let key = stage.key.to_owned();
    match (stage.status, stage.retry_at) {
        (StageStatus::Queued, _) => Some(WaitingOn::Runner { stage: key, pool: stage.pool.to_owned() }),
        (StageStatus::Waiting, _) => Some(WaitingOn::Approval { stage: key }),
        (StageStatus::Pending, Some(until)) => Some(WaitingOn::Retry { stage: key, until }),
        (StageStatus::Running, _) if canceling => Some(WaitingOn::RunningSteps { stage: key }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn id(number: u128) -> DeploymentId {
        DeploymentId::from(Uuid::from_u128(number))
    }

    #[test]
    fn what_has_not_begun_names_every_reason() {
        let (own, other) = (id(1), id(2));
        let slot = WaitingOn::WorkSlot { deployment: other };
        use PipelineStatus::{Active, Archived, Stopped};
        for (occupant, pipeline, crowded, expected) in [
            (None, Active, false, vec![WaitingOn::Engine]),
            (Some(own), Active, false, vec![WaitingOn::Engine]),
            (Some(own), Active, true, vec![WaitingOn::Concurrency]),
            (Some(other), Active, false, vec![slot.clone()]),
            (Some(own), Stopped, false, vec![WaitingOn::PipelineStopped]),
            (Some(other), Stopped, true, vec![slot, WaitingOn::PipelineStopped, WaitingOn::Concurrency]),
            (Some(own), Archived, false, vec![WaitingOn::PipelineArchived]),
        ] {
            let around = Surroundings { own, slot: occupant, pipeline, teardown: false, crowded };
            assert_eq!(waiting_on(DeploymentStatus::Queued, around, []), expected);
            assert_eq!(waiting_on(DeploymentStatus::Superseded, around, []), []);
        }
    }

    #[test]
    fn a_teardown_does_not_wait_for_its_pipeline() {
        for pipeline in [PipelineStatus::Active, PipelineStatus::Stopped, PipelineStatus::Archived] {
            let around =
                Surroundings { own: id(1), slot: Some(id(1)), pipeline, teardown: true, crowded: false };
            assert_eq!(waiting_on(DeploymentStatus::Queued, around, []), [WaitingOn::Engine]);
        }
    }

    #[test]
    fn what_has_begun_names_its_stages() {
        let around = Surroundings {
            own: id(1),
            slot: None,
            pipeline: PipelineStatus::Stopped,
            teardown: false,
            crowded: true,
        };
        let stage = |status, retry_at| LiveStage { key: "build", pool: "big", status, retry_at };
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
                vec![WaitingOn::Approval { stage: key() }],
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
            assert_eq!(waiting_on(status, around, [of]), expected, "{status} {of:?}");
        }
    }
}
