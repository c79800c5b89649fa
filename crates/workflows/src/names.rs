//! Names of workflows, signals, activities and task queues. Running workflows contain them, so they are never
//! changed.
//!
//! The names of task queues and workflows start with the installation's id, so that several installations can
//! share a namespace. Workflows that were started before installations had ids have names without it.

use greenroom_domain::id::{DeploymentId, InstallationId, PoolId};

/// The type of the workflow.
pub const DEPLOYMENT: &str = "deployment";
/// The signal that wakes up the workflow of a deployment.
pub const WAKE: &str = "wake";
/// The activity that advances a deployment in the store.
pub const ADVANCE: &str = "advance";
/// The activity that a runner executes.
pub const RUN_STAGE: &str = "run_stage";

/// Returns the task queue of the workflows of deployments.
pub fn deployments_queue(installation: InstallationId) -> String {
    format!("{installation}/deployments")
}

/// Returns the id of the workflow of a deployment.
pub fn workflow_id(installation: InstallationId, deployment: DeploymentId) -> String {
    format!("{installation}/{DEPLOYMENT}/{deployment}")
}

/// Returns the task queue of a pool's jobs. Old workflows have no installation in the name.
pub fn pool_queue(installation: Option<InstallationId>, pool: PoolId) -> String {
    match installation {
        Some(installation) => format!("{installation}/pool/{pool}"),
        None => format!("pool/{pool}"),
    }
}
