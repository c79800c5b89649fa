//! Counts of what is going on in an organization.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::pipeline::EnvironmentCounts;

/// What is going on in an organization, or in one of its pipelines.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    pub pipelines: PipelineCounts,
    /// The ephemeral environments in the lists of the pipelines, without templates.
    pub environments: EnvironmentCounts,
    /// The number of sessions that wait for an environment.
    #[schema(minimum = 0)]
    pub queued_sessions: i64,
    pub yours: YourCounts,
    pub deployments: DeploymentCounts,
}

/// Pipelines that are not archived.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PipelineCounts {
    #[schema(minimum = 0)]
    pub total: i64,
    #[schema(minimum = 0)]
    pub stopped: i64,
}

/// What belongs to the caller.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct YourCounts {
    /// Environments that you hold.
    #[schema(minimum = 0)]
    pub held: i64,
    /// Your sessions that wait for an environment.
    #[schema(minimum = 0)]
    pub queued: i64,
    /// Environments that you hold and whose grant from the queue you have to confirm.
    #[schema(minimum = 0)]
    pub turns: i64,
    /// Environments that you hold and whose hand-over is requested.
    #[schema(minimum = 0)]
    pub handovers: i64,
}

/// Deployments that have not ended, by their status.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeploymentCounts {
    #[schema(minimum = 0)]
    pub queued: i64,
    #[schema(minimum = 0)]
    pub running: i64,
    #[schema(minimum = 0)]
    pub waiting: i64,
    #[schema(minimum = 0)]
    pub paused: i64,
    #[schema(minimum = 0)]
    pub canceling: i64,
}
