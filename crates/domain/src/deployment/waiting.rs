//! A deployment, as far as it goes today: accepted, and waiting for something that it can name.

use crate::id::DeploymentId;
use crate::pipeline::PipelineStatus;

/// What keeps a deployment that has not started from starting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitingOn {
    /// Another deployment has the environment's work slot.
    WorkSlot { deployment: DeploymentId },
    /// The pipeline is stopped; resuming it lets go what it held back.
    PipelineStopped,
    /// The pipeline is archived, for good.
    PipelineArchived,
    /// Nothing of ours: it could start, and has not been taken up by what runs deployments.
    Engine,
}

/// What a `queued` deployment waits for; never nothing, so that whoever looks at one that does not start learns why.
pub fn waiting_on(own: DeploymentId, slot: Option<DeploymentId>, pipeline: PipelineStatus) -> Vec<WaitingOn> {
    let mut reasons = Vec::new();
    if let Some(deployment) = slot.filter(|slot| *slot != own) {
        reasons.push(WaitingOn::WorkSlot { deployment });
    }
    match pipeline {
        PipelineStatus::Active => {}
        PipelineStatus::Stopped => reasons.push(WaitingOn::PipelineStopped),
        PipelineStatus::Archived => reasons.push(WaitingOn::PipelineArchived),
    }
    if reasons.is_empty() {
        reasons.push(WaitingOn::Engine);
    }
    reasons
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn every_reason_is_named() {
        let id = |number| DeploymentId::from(Uuid::from_u128(number));
        let (own, other) = (id(1), id(2));
        let slot = WaitingOn::WorkSlot { deployment: other };
        for (occupant, pipeline, expected) in [
            (None, PipelineStatus::Active, vec![WaitingOn::Engine]),
            (Some(own), PipelineStatus::Active, vec![WaitingOn::Engine]),
            (Some(other), PipelineStatus::Active, vec![slot]),
            (Some(own), PipelineStatus::Stopped, vec![WaitingOn::PipelineStopped]),
            (Some(other), PipelineStatus::Stopped, vec![slot, WaitingOn::PipelineStopped]),
            (Some(own), PipelineStatus::Archived, vec![WaitingOn::PipelineArchived]),
        ] {
            assert_eq!(waiting_on(own, occupant, pipeline), expected);
        }
    }
}
