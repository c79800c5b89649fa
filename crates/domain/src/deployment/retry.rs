//! Retrying a stage. Earlier attempts are never changed.

use super::machine::{Deployment, Stage};
use super::status::{DeploymentStatus, StageStatus};

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotRetried {
    #[error("there is no such stage")]
    NoSuchStage,
    #[error("the stage has not ended")]
    NotEnded,
    #[error("the stage has succeeded")]
    Succeeded,
    #[error("the stage waits for others that have not succeeded: retry those")]
    NeedsOthers,
    #[error("the deployment is being canceled")]
    Canceling,
}

/// Resets a stage, and every stage that needs it, so that they run again.
pub fn retry_stage(deployment: &mut Deployment, key: &str) -> Result<(), NotRetried> {
    let stage = deployment.stages.iter().find(|stage| stage.key == key).ok_or(NotRetried::NoSuchStage)?;
    match stage.status {
        _ if deployment.status == DeploymentStatus::Canceling => return Err(NotRetried::Canceling),
        StageStatus::Succeeded => return Err(NotRetried::Succeeded),
        status if !status.is_final() => return Err(NotRetried::NotEnded),
        _ => {}
    }
    let succeeded = |key: &String| {
        deployment.stages.iter().any(|other| other.key == *key && other.status == StageStatus::Succeeded)
    };
    if !stage.needs.iter().all(succeeded) {
        return Err(NotRetried::NeedsOthers);
    }
    for key in with_dependents(&deployment.stages, key) {
        if let Some(stage) = deployment.stages.iter_mut().find(|stage| stage.key == key) {
            stage.status = StageStatus::Pending;
            stage.reason = None;
            stage.retry_at = None;
            stage.attempts_since_retry = 0;
        }
    }
    deployment.cancel = None;
    deployment.reason = None;
    deployment.status = DeploymentStatus::Running;
    Ok(())
}

/// Returns a stage and all stages that need it, directly or indirectly.
fn with_dependents(stages: &[Stage], key: &str) -> Vec<String> {
    let mut found = vec![key.to_owned()];
    let mut next = 0;
    while let Some(current) = found.get(next).cloned() {
        for stage in stages {
            if stage.needs.contains(&current) && !found.contains(&stage.key) {
                found.push(stage.key.clone());
            }
        }
        next += 1;
    }
    found
}
