//! Retrying a stage: whether it is possible, and what is reset. Earlier attempts are never changed.

use super::machine::Deployment;
use super::plan::Purpose;
use super::stage::Stage;
use super::status::{DeploymentStatus, StageStatus};
use crate::id::DeploymentId;

/// Why a stage is not retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotRetried {
    #[error("stages of a teardown are not retried: a clean-up is repeated as a whole")]
    Teardown,
    #[error("the session of the deployment has ended")]
    SessionEnded,
    #[error("the artifacts of its stages were removed at the end of their retention time")]
    Expired,
    #[error("a newer deployment of the same environment or pipeline exists")]
    NewerDeployment(DeploymentId),
    #[error("there is no such stage")]
    NoSuchStage,
    #[error("the deployment is being canceled")]
    Canceling,
    #[error("the stage has succeeded")]
    Succeeded,
    #[error("the stage has not ended")]
    NotEnded,
    #[error("the stage waits for others that have not succeeded: retry those")]
    NeedsOthers,
    #[error("the newest definition does not have the stage")]
    NotInDefinition,
    #[error("another stage is at work with the deployment's definition")]
    OthersAtWork,
}

/// What determines whether a stage can be retried, besides the state of the deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryInput {
    pub purpose: Purpose,
    /// The deployment belongs to a session that no longer holds the environment with the same fence.
    pub session_ended: bool,
    /// The logs and artifacts of the deployment were removed.
    pub is_expired: bool,
    /// The newest deployment of the same environment or pipeline that is newer than this one and was not
    /// superseded.
    pub newer: Option<DeploymentId>,
    /// The retry is a rollback: it may replace what a newer deployment has deployed, and repeat a stage that has
    /// succeeded.
    pub allows_older: bool,
}

/// Resets a stage, and every stage that needs it, so that they run again. A deployment that has ended
/// continues.
///
/// The first row that applies decides:
///
/// | Deployment                          | Stage                            | Result            |
/// |-------------------------------------|----------------------------------|-------------------|
/// | teardown                            |                                  | `Teardown`        |
/// | final, its session has ended        |                                  | `SessionEnded`    |
/// | final, expired                      |                                  | `Expired`         |
/// | final, a newer one exists (1)       |                                  | `NewerDeployment` |
/// |                                     | unknown                          | `NoSuchStage`     |
/// | `canceling`                         |                                  | `Canceling`       |
/// |                                     | `succeeded` (1)                  | `Succeeded`       |
/// |                                     | not final                        | `NotEnded`        |
/// |                                     | needs one that has not succeeded | `NeedsOthers`     |
/// |                                     |                                  | retried           |
///
/// (1) Unless the retry is a rollback.
///
/// A retried stage and those that need it become `pending`, and the deployment `running`.
pub fn retry_stage(deployment: &mut Deployment, key: &str, input: RetryInput) -> Result<(), NotRetried> {
    if let Some(refused) = input.refusal(deployment.status) {
        return Err(refused);
    }
    let stage = deployment.stages.iter().find(|stage| stage.key == key).ok_or(NotRetried::NoSuchStage)?;
    match stage.status {
        _ if deployment.status == DeploymentStatus::Canceling => return Err(NotRetried::Canceling),
        StageStatus::Succeeded if !input.allows_older => return Err(NotRetried::Succeeded),
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
            stage.blocker = None;
            stage.gate = stage.gate.clone().retried();
            stage.ignores_freeze = false;
            stage.attempts_since_retry = 0;
        }
    }
    deployment.cancel = None;
    deployment.reason = None;
    deployment.status = DeploymentStatus::Running;
    Ok(())
}

impl RetryInput {
    /// Returns why no stage of the deployment can be retried.
    fn refusal(self, status: DeploymentStatus) -> Option<NotRetried> {
        if self.purpose == Purpose::Teardown {
            return Some(NotRetried::Teardown);
        }
        // The other conditions are only for a deployment that has ended. One that has started and not ended
        // has the work slot of its environment, if it has one, so no newer deployment has started there. It
        // is canceled when its session ends, and does not expire.
        if !status.is_final() {
            return None;
        }
        if self.session_ended {
            Some(NotRetried::SessionEnded)
        } else if self.is_expired {
            Some(NotRetried::Expired)
        } else {
            self.newer.filter(|_| !self.allows_older).map(NotRetried::NewerDeployment)
        }
    }
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

#[cfg(test)]
#[path = "retry_tests.rs"]
mod tests;
