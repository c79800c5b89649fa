//! Names by which the engine, the servers and the workers find each other. Running workflows carry them: they are never
//! changed, only added to.

use greenroom_domain::id::{DeploymentId, PoolId};

/// Where deployments' workflows are run.
pub const DEPLOYMENTS: &str = "deployments";
/// The workflow's type.
pub const DEPLOYMENT: &str = "deployment";
/// The signal by which a deployment's workflow hears that something has changed.
pub const WAKE: &str = "wake";
/// The activity that asks the store.
pub const ADVANCE: &str = "advance";
/// The activity that a runner does.
pub const RUN_STAGE: &str = "run_stage";

/// A deployment has one workflow, and this is how it is found.
pub fn workflow_id(deployment: DeploymentId) -> String {
    format!("{DEPLOYMENT}/{deployment}")
}

/// Where the jobs of a pool's runners wait.
pub fn pool_queue(pool: PoolId) -> String {
    format!("pool/{pool}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn are_made_of_the_records_ids() {
        let deployment: DeploymentId = "dep_0190a0b0-0000-7000-8000-000000000001".parse().unwrap();
        let pool: PoolId = "pol_0190a0b0-0000-7000-8000-000000000002".parse().unwrap();
        assert_eq!(workflow_id(deployment), "deployment/dep_0190a0b0-0000-7000-8000-000000000001");
        assert_eq!(pool_queue(pool), "pool/pol_0190a0b0-0000-7000-8000-000000000002");
    }
}
