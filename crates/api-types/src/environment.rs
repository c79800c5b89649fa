//! Ephemeral environments and their locks.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::token::TokenKind;

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Environment {
    #[schema(example = "qa-1")]
    pub env_name: String,
    pub url: Option<String>,
    pub labels: Vec<String>,
    /// Its part of the pipeline's definition.
    pub configuration: serde_json::Value,
    pub lock: Lock,
    /// The newest deployment that is not a teardown; null before the first.
    pub last_deployment: Option<crate::session::SessionDeployment>,
    /// What is live there: the last deployment of a session that succeeded; null before the first, and after a teardown
    /// that succeeded.
    pub deployed: Option<Deployed>,
    /// The teardown that did not succeed; null if the environment is clean. The environment can be claimed all the same.
    pub cleanup_failed: Option<CleanupFailed>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Deployed {
    pub deployment_id: String,
    pub commit_id: String,
    /// When it had succeeded.
    pub at: Timestamp,
}

/// A teardown failed or was canceled: what it was to remove may still be there.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CleanupFailed {
    /// The teardown.
    pub deployment_id: String,
    pub at: Timestamp,
    /// Machine-readable reason for the outcome.
    pub reason: String,
}

/// Repeats a clean-up that failed.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RepeatCleanup {
    /// The commit whose files the teardown gets; the failed teardown's if left out.
    #[schema(pattern = "^[0-9a-f]{7,64}$")]
    pub commit_id: Option<String>,
}

/// Body of a request that gives something up.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GiveUp {
    /// Why, for those who read the event later.
    #[schema(min_length = 1, max_length = 500)]
    pub reason: String,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum LockStatus {
    Free,
    Locked,
}

/// All but `status` and `queueLength` is there while it is locked.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Lock {
    pub status: LockStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<Holder>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// By when the holder has to confirm its grant from the queue, else it goes to the next; only until it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirm_by: Option<Timestamp>,
    /// Rises with every grant and every end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<i64>,
    /// How many wait for it.
    pub queue_length: i32,
    /// The pending request for hand-over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handover: Option<Handover>,
}

/// A request to the holder to release the environment.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Handover {
    pub requested_by: Holder,
    /// What for.
    pub context: Option<String>,
    pub requested_at: Timestamp,
    /// By when the holder has to answer.
    pub due_at: Timestamp,
    /// What happens without an answer. `accept` is checked again at `dueAt`.
    pub on_silence: OnSilence,
    /// The requester's session in the queue.
    pub session_id: String,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnSilence {
    /// The holder's session ends, if its requester could still take the environment by force.
    Accept,
    /// The request ends; its requester stays in the queue.
    Lapse,
}

/// Who holds a lock, made a session, or canceled or retried a deployment.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Holder {
    pub id: String,
    pub name: String,
    pub kind: TokenKind,
}
