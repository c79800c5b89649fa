//! Names of workflows and task queues.

use greenroom_domain::id::{DeploymentId, InstallationId, PoolId};
use greenroom_workflows::names::{deployments_queue, pool_queue, workflow_id};

#[test]
fn names_contain_the_ids() {
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
