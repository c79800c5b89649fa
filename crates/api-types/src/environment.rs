//! Ephemeral environments and their locks.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::deployment_status::{DeploymentPurpose, DeploymentReason};
use crate::session_deployment::SessionDeployment;
use crate::token::TokenKind;

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Environment {
    #[schema(example = "qa-1")]
    pub env_name: String,
    pub url: Option<String>,
    pub labels: Vec<String>,
    /// The environment's part of the pipeline definition.
    pub configuration: serde_json::Value,
    pub lock: Lock,
    /// The environment's newest deployment that is not a teardown; null before the first deployment.
    pub last_deployment: Option<SessionDeployment>,
    /// What is deployed now: the session's deployment that succeeded last. Null before the first one, and
    /// after a teardown that succeeded.
    pub deployed: Option<Deployed>,
    /// The teardown that did not succeed; null if the environment is clean. The environment can be claimed in
    /// both cases.
    pub cleanup_failed: Option<CleanupFailed>,
    /// When the last session ended; null while the environment is held, and before its first session.
    #[serde(default)]
    pub free_since: Option<Timestamp>,
    /// The one deployment that acts on the environment; null if there is none. It can belong to a session
    /// that has ended: its end, and a teardown, come before the next session's first deployment.
    #[serde(default)]
    pub work_slot: Option<WorkSlot>,
    /// The environment's page in the dashboard; null for a template, and if the server's public URL is not
    /// set.
    #[serde(default)]
    pub web_url: Option<String>,
}

/// An environment in the list of all pipelines, or a template for environments.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListedEnvironment {
    #[serde(flatten)]
    pub environment: Environment,
    pub pipeline_id: String,
    /// The pipeline's slug.
    pub pipeline: String,
    /// True for a template, whose `envName` ends in `*`. It can't be claimed itself: claim a name that it
    /// matches, such as `pr-7` for `pr-*`, and the environment is created. Its `configuration` has the
    /// maximum of such environments as `max`, and its `url` contains `{name}`.
    pub template: bool,
}

/// The deployment that acts on an environment. All others of the environment wait for it.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkSlot {
    pub deployment_id: String,
    /// `session` or `teardown`.
    pub purpose: DeploymentPurpose,
    pub commit_id: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Deployed {
    pub deployment_id: String,
    pub commit_id: String,
    /// When the deployment succeeded.
    pub at: Timestamp,
}

/// A teardown that failed or was canceled. The resources that it should have removed may still exist.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CleanupFailed {
    /// The id of the teardown.
    pub deployment_id: String,
    pub at: Timestamp,
    /// A code for the reason why the teardown did not succeed.
    pub reason: DeploymentReason,
}

/// A request to run a failed teardown again.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RepeatCleanup {
    /// The commit whose files the teardown uses; if left out, the commit of the failed teardown.
    #[schema(pattern = r"^\s*[0-9A-Fa-f]{7,64}\s*$")]
    pub commit_id: Option<String>,
}

/// A request to give up a clean-up, a deployment or the job of a stage.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GiveUp {
    /// The reason, which is recorded in the event.
    #[schema(min_length = 1, max_length = 500)]
    pub reason: String,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum LockStatus {
    Free,
    Locked,
}

/// The lock of an environment. A free environment's lock has only `status` and `queueLength`.
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
    /// The latest time to which the holder can renew the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_expires_at: Option<Timestamp>,
    /// By when the holder has to confirm a grant from the queue; otherwise the environment goes to the next
    /// session in the queue. Left out if there is nothing to confirm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirm_by: Option<Timestamp>,
    /// A number that increases with every grant and every end of a session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<i64>,
    /// The number of sessions that wait for the environment.
    pub queue_length: i32,
    /// The pending request for hand-over; left out if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handover: Option<Handover>,
}

/// A request to the holder to release the environment.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Handover {
    pub requested_by: Holder,
    /// What the requester needs the environment for; null if the request does not contain it.
    pub context: Option<String>,
    pub requested_at: Timestamp,
    /// By when the holder has to accept or decline.
    pub due_at: Timestamp,
    /// What happens if the holder neither accepts nor declines by `dueAt`. The condition of `accept` is
    /// checked again then.
    pub on_silence: OnSilence,
    /// The requester's session in the queue.
    pub session_id: String,
}

impl Lock {
    /// Returns a lock that no session holds or waits for.
    pub const fn free() -> Self {
        Self {
            status: LockStatus::Free,
            session_id: None,
            holder: None,
            context: None,
            commit_id: None,
            claimed_at: None,
            expires_at: None,
            max_expires_at: None,
            confirm_by: None,
            fence: None,
            queue_length: 0,
            handover: None,
        }
    }
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnSilence {
    /// The holder's session ends, if the requester may still take the environment over by force then.
    Accept,
    /// The request ends, and the requester stays in the queue.
    Lapse,
}

/// The user who holds a lock, created a session, or canceled or retried a deployment.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Holder {
    pub id: String,
    pub name: String,
    pub kind: TokenKind,
    /// The name of the token, if the user is a service account; left out for persons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}
