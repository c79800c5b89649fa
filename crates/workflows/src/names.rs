//! Names by which the engine, the servers and the workers find each other. Running workflows carry them: they are never
//! changed, only added to.
//!
//! The names of task queues and workflows begin with the installation's id, so that several installations can share a
//! namespace. Workflows that were started before installations had ids carry names without it.

use greenroom_domain::id::{DeploymentId, InstallationId, PoolId};

/// The workflow's type.
pub const DEPLOYMENT: &str = "deployment";
/// The signal by which a deployment's workflow hears that something has changed.
pub const WAKE: &str = "wake";
/// The activity that asks the store.
pub const ADVANCE: &str = "advance";
/// The activity that a runner does.
pub const RUN_STAGE: &str = "run_stage";

/// Where deployments' workflows are run.
pub fn deployments_queue(installation: InstallationId) -> String {
    format!("{installation}/deployments")
}

/// A deployment has one workflow, and this is how it is found.
pub fn workflow_id(installation: InstallationId, deployment: DeploymentId) -> String {
    format!("{installation}/{DEPLOYMENT}/{deployment}")
}

/// Where the jobs of a pool's runners wait. Without an installation: as workflows of before name it.
pub fn pool_queue(installation: Option<InstallationId>, pool: PoolId) -> String {
    match installation {
        Some(installation) => format!("{installation}/pool/{pool}"),
        None => format!("pool/{pool}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn are_made_of_the_records_ids() {
        let installation: InstallationId = "ins_0190a0b0-0000-4000-8000-000000000003".parse().unwrap();
        let deployment: DeploymentId = "dep_0190a0b0-0000-7000-8000-000000000001".parse().unwrap();
        let pool: PoolId = "pol_0190a0b0-0000-7000-8000-000000000002".parse().unwrap();
        assert_eq!(deployments_queue(installation), "ins_0190a0b0-0000-4000-8000-000000000003/deployments");
        assert_eq!(
            workflow_id(installation, deployment),
            "ins_0190a0b0-0000-4000-8000-000000000003/deployment/dep_0190a0b0-0000-7000-8000-000000000001"
        );
        assert_eq!(
            pool_queue(Some(installation), pool),
            "ins_0190a0b0-0000-4000-8000-000000000003/pool/pol_0190a0b0-0000-7000-8000-000000000002"
        );
        assert_eq!(pool_queue(None, pool), "pool/pol_0190a0b0-0000-7000-8000-000000000002");
    }
}
