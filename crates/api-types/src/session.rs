//! Sessions: claiming, holding and releasing an environment.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::environment::{CleanupFailed, Handover, Holder, Lock};

#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SessionStatus {
    /// Waits for its turn.
    Queued,
    /// Holds the lock.
    Active,
    Released,
    Expired,
    /// Taken over by force.
    Overridden,
    /// Left the queue, lost its place, or did not confirm its turn.
    Canceled,
}

impl From<greenroom_domain::session::SessionStatus> for SessionStatus {
    fn from(status: greenroom_domain::session::SessionStatus) -> Self {
        use greenroom_domain::session::SessionStatus as S;
        match status {
            S::Queued => Self::Queued,
            S::Active => Self::Active,
            S::Released => Self::Released,
            S::Expired => Self::Expired,
            S::Overridden => Self::Overridden,
            S::Canceled => Self::Canceled,
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    #[schema(example = "ses_0190a0b0-0000-7000-8000-000000000001")]
    pub session_id: String,
    pub env_name: String,
    pub status: SessionStatus,
    /// The environment's lock as it is now.
    pub lock: Lock,
    pub overridden: bool,
    #[serde(rename = "override")]
    pub overridden_by: Option<Override>,
    pub commit_id: Option<String>,
    pub context: Option<String>,
    pub claimed_by: Holder,
    pub queued_at: Option<Timestamp>,
    pub claimed_at: Option<Timestamp>,
    /// The lease's end, unless it is renewed.
    pub expires_at: Option<Timestamp>,
    /// Renewing does not go past this.
    pub max_expires_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    /// Who ended it; null if it expired or timed out.
    pub ended_by: Option<Person>,
    pub fence: Option<i64>,
    /// From 1, while it waits.
    pub position: Option<i64>,
    /// By when to send the next heartbeat, while it waits: later, its place is lost.
    pub heartbeat_by: Option<Timestamp>,
    /// By when to confirm a grant from the queue, with a heartbeat, a renewal or a deployment; null once it is confirmed.
    pub confirm_by: Option<Timestamp>,
    /// Newest first.
    pub deployments: Vec<SessionDeployment>,
    /// The pending request for hand-over of this session; null if there is none.
    pub handover: Option<Handover>,
    /// The holder's answer to this session's request for hand-over, if it was no.
    pub handover_declined: Option<HandoverDeclined>,
    /// The environment's teardown that did not succeed; null if the environment is clean.
    pub cleanup_failed: Option<CleanupFailed>,
    /// Whom a force claim displaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub displaced: Option<Displaced>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Override {
    pub by: Option<Person>,
    pub at: Option<Timestamp>,
    /// The context that the force claim gave.
    pub reason: Option<String>,
    /// The session that holds it instead.
    pub session_id: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HandoverDeclined {
    pub by: Option<Person>,
    pub at: Timestamp,
    /// Why not.
    pub context: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Displaced {
    pub session_id: String,
    pub holder: Holder,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Person {
    pub id: String,
    pub name: String,
}

/// Why a deployment is blocked.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum WaitingOn {
    /// Another deployment acts on the environment.
    WorkSlot {
        // Renamed on the field: utoipa ignores the container attribute here.
        #[serde(rename = "deploymentId")]
        deployment_id: String,
    },
    /// The pipeline is stopped.
    PipelineStopped,
    /// The pipeline is archived: it will never start.
    PipelineArchived,
    /// As many of the pipeline's deployments run as its `concurrency` allows.
    Concurrency,
    /// A stage waits for a runner of its pool.
    Runner { stage: String, pool: String },
    /// A stage waits for its next attempt.
    Retry { stage: String, until: Timestamp },
    /// A stage waits for an approval.
    Approval { stage: String },
    /// A canceled stage has not ended yet.
    RunningSteps { stage: String },
    /// It could continue, and waits for the engine that runs deployments.
    Engine,
}

impl From<greenroom_domain::deployment::WaitingOn> for WaitingOn {
    fn from(waiting: greenroom_domain::deployment::WaitingOn) -> Self {
        use greenroom_domain::deployment::WaitingOn as W;
        match waiting {
            W::WorkSlot { deployment } => Self::WorkSlot { deployment_id: deployment.to_string() },
            W::PipelineStopped => Self::PipelineStopped,
            W::PipelineArchived => Self::PipelineArchived,
            W::Concurrency => Self::Concurrency,
            W::Runner { stage, pool } => Self::Runner { stage, pool },
            W::Retry { stage, until } => Self::Retry { stage, until },
            W::Approval { stage } => Self::Approval { stage },
            W::RunningSteps { stage } => Self::RunningSteps { stage },
            W::Engine => Self::Engine,
        }
    }
}

/// A deployment as its session shows it.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionDeployment {
    #[schema(example = "dep_0190a0b0-0000-7000-8000-000000000001")]
    pub id: String,
    /// `session`, or `teardown`: what cleans up after it.
    pub purpose: String,
    pub commit_id: String,
    pub status: String,
    pub reason: Option<String>,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    /// Why it is blocked; empty if it is running, or has ended.
    pub waiting_on: Vec<WaitingOn>,
    /// Until when it waits; null if there is no such moment.
    pub deadline_at: Option<Timestamp>,
}

/// One session in an environment's history.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HistoryEntry {
    pub session_id: String,
    pub status: SessionStatus,
    pub claimed_by: Holder,
    pub context: Option<String>,
    pub commit_id: Option<String>,
    pub queued_at: Option<Timestamp>,
    pub claimed_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub waited_seconds: Option<i64>,
    /// How long it held the lock; null while it does, or if it never did.
    pub held_seconds: Option<i64>,
    pub ended_by: Option<Person>,
    #[serde(rename = "override")]
    pub overridden_by: Option<Override>,
    pub previous_session_id: Option<String>,
    pub fence: Option<i64>,
    /// Newest first, 100 at most.
    pub deployments: Vec<SessionDeployment>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, ToSchema)]
pub struct History {
    pub data: Vec<HistoryEntry>,
    pub pagination: HistoryPagination,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HistoryPagination {
    #[schema(minimum = 1)]
    pub page: i64,
    #[schema(minimum = 1, maximum = 100)]
    pub limit: i64,
    #[schema(minimum = 0)]
    pub total: i64,
    #[schema(minimum = 0)]
    pub total_pages: i64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClaimSession {
    /// With it, the first deployment starts.
    #[schema(pattern = "^[0-9a-f]{7,64}$")]
    pub commit_id: Option<String>,
    /// The branch that the commit is on; it needs `commitId`. Conditions use it, and every job's checkout has to prove it.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 255)]
    pub branch: Option<String>,
    /// What it is for, for people.
    #[schema(min_length = 1, max_length = 500)]
    pub context: Option<String>,
    /// How long to hold it without renewing; the environment's default if left out.
    #[schema(minimum = 1)]
    pub ttl_seconds: Option<i64>,
    /// Join the queue instead of being rejected.
    pub queue: Option<bool>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ForceClaim {
    /// With it, the first deployment starts.
    #[schema(pattern = "^[0-9a-f]{7,64}$")]
    pub commit_id: Option<String>,
    /// The branch that the commit is on; it needs `commitId`. Conditions use it, and every job's checkout has to prove it.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 255)]
    pub branch: Option<String>,
    /// The reason, shown to the displaced holder. An environment's definition can require it.
    #[schema(min_length = 1, max_length = 500)]
    pub context: Option<String>,
    /// How long to hold it without renewing.
    #[schema(minimum = 1)]
    pub ttl_seconds: Option<i64>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TransferSession {
    /// Who gets it: a member who may hold a session.
    #[schema(example = "usr_0190a0b0-0000-7000-8000-000000000001")]
    pub user_id: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeployCommit {
    #[schema(pattern = "^[0-9a-f]{7,64}$")]
    pub commit_id: String,
    /// The branch that the commit is on. Conditions use it, and every job's checkout has to prove it.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 255)]
    pub branch: Option<String>,
}
