//! A summary of a deployment, as part of a session or an environment, and why it is blocked.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::deployment_status::{DeploymentPurpose, DeploymentReason, DeploymentStatus};
use crate::person::Person;

/// Why a deployment is blocked.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WaitingOn {
    /// Another deployment uses the environment.
    WorkSlot {
        // Renamed on the field: utoipa ignores the container attribute here.
        #[serde(rename = "deploymentId")]
        deployment_id: String,
        /// The stage that waits. Left out if the environment is ephemeral.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stage: Option<String>,
        /// The lasting environment. Left out if the environment is ephemeral.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        environment: Option<String>,
    },
    /// No stage begins in the lasting environment until the freeze ends.
    Freeze {
        stage: String,
        environment: String,
        #[serde(rename = "freezeId")]
        freeze_id: String,
        name: String,
        until: Timestamp,
    },
    /// A user holds the lasting environment: only their deployments begin there.
    Hold { stage: String, environment: String, by: Person, reason: String, until: Timestamp },
    /// The pipeline is stopped.
    PipelineStopped,
    /// The pipeline is archived, so the deployment will never start.
    PipelineArchived,
    /// The pipeline already has as many running deployments as its `concurrency` allows.
    Concurrency,
    /// A stage waits for a runner of its pool.
    Runner {
        stage: String,
        pool: String,
        /// The number of runners of the pool that take jobs now: those that are online and not draining. They
        /// may all be busy. Left out in events.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        online: Option<i64>,
    },
    /// A stage waits for its next attempt.
    Retry { stage: String, until: Timestamp },
    /// A stage waits for an approval.
    Approval {
        stage: String,
        /// Left out until the approval is open.
        #[serde(rename = "approvalId", default, skip_serializing_if = "Option::is_none")]
        approval_id: Option<String>,
        /// How many approvals are needed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        needed: Option<u32>,
        /// How many of them are there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        have: Option<u32>,
        /// How many people could approve when it was opened.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        eligible: Option<u32>,
    },
    /// A canceled stage has not ended yet.
    RunningSteps { stage: String },
    /// Nothing else blocks the deployment. It waits for the engine that runs deployments.
    Engine,
}

impl From<greenroom_domain::deployment::WaitingOn> for WaitingOn {
    fn from(waiting: greenroom_domain::deployment::WaitingOn) -> Self {
        use greenroom_domain::deployment::WaitingOn as W;
        match waiting {
            W::WorkSlot { deployment, stage, environment } => {
                Self::WorkSlot { deployment_id: deployment.to_string(), stage, environment }
            }
            W::Freeze { stage, environment, freeze } => Self::Freeze {
                stage,
                environment,
                freeze_id: freeze.id.to_string(),
                name: freeze.name,
                until: freeze.until,
            },
            W::Hold { stage, environment, hold } => Self::Hold {
                stage,
                environment,
                by: Person { id: hold.by.id.to_string(), name: hold.by.name },
                reason: hold.reason,
                until: hold.until,
            },
            W::PipelineStopped => Self::PipelineStopped,
            W::PipelineArchived => Self::PipelineArchived,
            W::Concurrency => Self::Concurrency,
            W::Runner { stage, pool } => Self::Runner { stage, pool, online: None },
            W::Retry { stage, until } => Self::Retry { stage, until },
            W::Approval { stage, progress } => Self::Approval {
                stage,
                approval_id: progress.map(|progress| progress.approval_id.to_string()),
                needed: progress.map(|progress| progress.needed),
                have: progress.map(|progress| progress.have),
                eligible: progress.map(|progress| progress.eligible),
            },
            W::RunningSteps { stage } => Self::RunningSteps { stage },
            W::Engine => Self::Engine,
        }
    }
}

/// A summary of a deployment, as part of a session or an environment.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionDeployment {
    #[schema(example = "dep_0190a0b0-0000-7000-8000-000000000001")]
    pub id: String,
    /// `session` or `teardown`.
    pub purpose: DeploymentPurpose,
    pub commit_id: String,
    pub status: DeploymentStatus,
    /// A code for the reason why the deployment ended with this status; null if there is none.
    pub reason: Option<DeploymentReason>,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    /// Why the deployment is blocked; empty if it is running or has ended.
    pub waiting_on: Vec<WaitingOn>,
    /// The earliest deadline of the deployment's queued and running stages, and of a teardown as a whole;
    /// null if there is none.
    pub deadline_at: Option<Timestamp>,
    /// The deployment's page in the dashboard; null if the server's public URL is not set.
    #[serde(default)]
    pub web_url: Option<String>,
}
