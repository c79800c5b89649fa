//! Sessions: claiming, holding and releasing an environment.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::environment::{CleanupFailed, Handover, Holder, Lock};
pub use crate::person::Person;
pub use crate::session_deployment::{SessionDeployment, WaitingOn};

#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SessionStatus {
    /// The session waits in the queue.
    Queued,
    /// The session holds the environment's lock.
    Active,
    Released,
    Expired,
    /// Another session took the environment over by force.
    Overridden,
    /// The session left the queue, lost its place in it, or did not confirm its grant.
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
    /// Whether this session holds the environment now. `false` while it waits in the queue, and from its end on, whatever
    /// the reason is.
    pub holding: bool,
    /// The current state of the environment's lock, which may be another session's. If it is this one's, `holding` is true.
    pub lock: Lock,
    /// Whether another session took the environment over by force. A session that has ended in another way is not
    /// overridden and does not hold the environment either.
    pub overridden: bool,
    #[serde(rename = "override")]
    pub overridden_by: Option<Override>,
    pub commit_id: Option<String>,
    pub context: Option<String>,
    pub claimed_by: Holder,
    pub queued_at: Option<Timestamp>,
    pub claimed_at: Option<Timestamp>,
    /// When the session expires unless it is renewed.
    pub expires_at: Option<Timestamp>,
    /// The latest time to which the session can be renewed.
    pub max_expires_at: Option<Timestamp>,
    /// How many milliseconds are left until `expiresAt`, measured by the server's clock when it read the
    /// session. A client whose clock is wrong counts down from the time at which it sent the request. Left
    /// out if the session is not active, and in lists. The `ETag` does not cover it, so a `304` means only that
    /// the session has not been renewed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, example = 14_400_000)]
    pub lease_remaining_ms: Option<i64>,
    /// How many milliseconds are left until `maxExpiresAt`, measured like `leaseRemainingMs` and left out in
    /// the same cases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, example = 86_400_000)]
    pub max_remaining_ms: Option<i64>,
    pub ended_at: Option<Timestamp>,
    /// The user who ended the session; null if it expired or timed out, or has not ended.
    pub ended_by: Option<Person>,
    pub fence: Option<i64>,
    /// The place in the queue, starting at 1; null if the session does not wait.
    pub position: Option<i64>,
    /// By when a waiting session has to send its next heartbeat to keep its place in the queue. For a person
    /// that is when the place ends unless they open the page again. Null if it does not wait.
    pub heartbeat_by: Option<Timestamp>,
    /// By when a grant from the queue has to be confirmed by a heartbeat, a renewal or a deployment; null if
    /// there is nothing to confirm.
    pub confirm_by: Option<Timestamp>,
    /// The session's deployments, newest first.
    pub deployments: Vec<SessionDeployment>,
    /// The pending request for hand-over of this session; null if there is none.
    pub handover: Option<Handover>,
    /// How the holder declined this session's request for hand-over; null if the holder did not decline.
    pub handover_declined: Option<HandoverDeclined>,
    /// The environment's teardown that did not succeed; null if the environment is clean.
    pub cleanup_failed: Option<CleanupFailed>,
    /// The session that this force claim displaced; left out if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub displaced: Option<Displaced>,
    /// The session's page in the dashboard; null if the server's public URL is not set.
    #[serde(default)]
    pub web_url: Option<String>,
}

/// A session in the list of all pipelines.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListedSession {
    #[serde(flatten)]
    pub session: Session,
    pub pipeline_id: String,
    /// The pipeline's slug.
    pub pipeline: String,
}

impl Session {
    /// Returns the session without the fields that are different in every read.
    #[must_use]
    pub fn without_remaining_times(self) -> Self {
        Self { lease_remaining_ms: None, max_remaining_ms: None, ..self }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Override {
    pub by: Option<Person>,
    pub at: Option<Timestamp>,
    /// The `context` of the force claim.
    pub reason: Option<String>,
    /// The id of the session that took the environment over.
    pub session_id: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HandoverDeclined {
    pub by: Option<Person>,
    pub at: Timestamp,
    /// Why the holder declined.
    pub context: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Displaced {
    pub session_id: String,
    pub holder: Holder,
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
    /// How long the session held the lock; null if it still holds it or never held it.
    pub held_seconds: Option<i64>,
    pub ended_by: Option<Person>,
    #[serde(rename = "override")]
    pub overridden_by: Option<Override>,
    pub previous_session_id: Option<String>,
    pub fence: Option<i64>,
    /// The session's newest deployments, newest first, at most 100.
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
    /// The commit that is deployed first; without it, no deployment starts.
    #[schema(pattern = r"^\s*[0-9A-Fa-f]{7,64}\s*$")]
    pub commit_id: Option<String>,
    /// The branch that the commit is on; only allowed together with `commitId`. Conditions use it, and the
    /// checkout of every job verifies it.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 255)]
    pub branch: Option<String>,
    /// What the environment is needed for, shown to other users. Line breaks and tabs
    /// become spaces, and a text of blanks only counts as none.
    #[schema(max_length = 500)]
    pub context: Option<String>,
    /// How long the session lasts unless it is renewed; the environment's default if left out.
    #[schema(minimum = 1)]
    pub ttl_seconds: Option<i64>,
    /// Whether to join the queue if the environment is not free, instead of being rejected; false if left
    /// out.
    pub queue: Option<bool>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ForceClaim {
    /// The commit that is deployed first; without it, no deployment starts.
    #[schema(pattern = r"^\s*[0-9A-Fa-f]{7,64}\s*$")]
    pub commit_id: Option<String>,
    /// The branch that the commit is on; only allowed together with `commitId`. Conditions use it, and the
    /// checkout of every job verifies it.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 255)]
    pub branch: Option<String>,
    /// The reason, shown to the displaced holder. The environment's definition can require it. Line breaks and tabs
    /// become spaces, and a text of blanks only counts as none.
    #[schema(max_length = 500)]
    pub context: Option<String>,
    /// How long the session lasts unless it is renewed; the environment's default if left out.
    #[schema(minimum = 1)]
    pub ttl_seconds: Option<i64>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TransferSession {
    /// The id of the member who gets the environment. The member must have the right to hold a session.
    #[schema(example = "usr_0190a0b0-0000-7000-8000-000000000001")]
    pub user_id: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeployCommit {
    #[schema(pattern = r"^\s*[0-9A-Fa-f]{7,64}\s*$")]
    pub commit_id: String,
    /// The branch that the commit is on. Conditions use it, and the checkout of every job verifies it.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 255)]
    pub branch: Option<String>,
}
