//! Inputs and outputs of activities. They contain ids only: everything else is in PostgreSQL. Temporal never
//! gets secrets, large data, or data that we have to trust.
//!
//! Histories contain these types as JSON. A field can be added with a default; no field may be renamed or
//! removed.

use greenroom_domain::id::{DeploymentId, InstallationId, JobId, OrganizationId, PoolId};
use serde::{Deserialize, Serialize};
use temporalio_workflow::common::ActivityDefinition;

use crate::names::{ADVANCE, RUN_STAGE};

/// Advances a deployment in the store and returns what there is to do. Idempotent.
#[derive(Clone, Copy, Debug)]
pub struct Advance;

impl ActivityDefinition for Advance {
    type Input = Subject;
    type Output = Advanced;

    fn name(&self) -> &str {
        ADVANCE
    }
}

/// Runs one job on a runner of a pool. Its result is in PostgreSQL, not in the output.
#[derive(Clone, Copy, Debug)]
pub struct RunStageOnRunner;

impl ActivityDefinition for RunStageOnRunner {
    type Input = RunStage;
    type Output = ();

    fn name(&self) -> &str {
        RUN_STAGE
    }
}

/// The deployment of a workflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    pub organization_id: OrganizationId,
    pub deployment_id: DeploymentId,
    /// The installation, which is part of the names of the task queues. Workflows that were started before
    /// installations had ids have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub installation_id: Option<InstallationId>,
}

/// What there is to do for a deployment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Advanced {
    /// The deployment has ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ended: bool,
    /// There is no such deployment: the workflow belongs to another installation, or the database was
    /// replaced.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub missing: bool,
    /// All jobs that wait for a runner, including those that were dispatched before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dispatch: Vec<AdvancedJob>,
    /// Jobs that ended before a runner took them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withdrawn: Vec<JobId>,
    /// When to advance again, if nothing happens before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again_in_millis: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AdvancedJob {
    pub job_id: JobId,
    pub pool_id: PoolId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStage {
    pub organization_id: OrganizationId,
    pub deployment_id: DeploymentId,
    pub job_id: JobId,
}
