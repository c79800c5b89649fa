//! Deployments, their stages, attempts and steps.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::approval::GateOverride;
use crate::deployment_status::{
    AttemptStatus, DeploymentPurpose, DeploymentReason, DeploymentStatus, DeploymentTrigger, StageStatus,
    StepStatus,
};
use crate::environment::Holder;
use crate::session::{Person, WaitingOn};

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Deployment {
    #[schema(example = "dep_0190a0b0-0000-7000-8000-000000000001")]
    pub id: String,
    pub pipeline_id: String,
    /// The pipeline's slug.
    pub pipeline: String,
    /// The version of the pipeline definition that the deployment runs.
    pub definition_version: i32,
    pub purpose: DeploymentPurpose,
    pub trigger: DeploymentTrigger,
    pub env_name: Option<String>,
    pub session_id: Option<String>,
    pub commit_id: String,
    pub branch: Option<String>,
    pub status: DeploymentStatus,
    /// A code for the reason why the deployment ended with this status; null if there is none.
    pub reason: Option<DeploymentReason>,
    /// Human-readable explanation of `reason`.
    pub detail: Option<String>,
    /// The deployment may replace what a newer one has deployed: it was created or last retried with `allowOlder`.
    #[serde(default)]
    pub rollback: bool,
    pub created_by: Person,
    /// The person on whose behalf a service account has started the deployment; null if it named none.
    #[serde(default)]
    pub on_behalf_of: Option<Person>,
    /// The user who canceled the deployment or ended its session; null if the system canceled it, or if it
    /// was not canceled.
    pub canceled_by: Option<Holder>,
    /// The user who last retried one of the deployment's stages; null if none was retried.
    pub retried_by: Option<Holder>,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    /// When the deployment's logs and artifacts were deleted because their retention time was over; null if
    /// they were not.
    pub expired_at: Option<Timestamp>,
    /// The lasting environments that the deployment did not reach although it succeeded: the condition of a stage is about
    /// the branch, and the branch was not known (`branch_unknown`). Empty for any other deployment.
    #[serde(default)]
    pub skipped_environments: Vec<String>,
    /// Why the deployment is blocked; empty if it is running or has ended.
    pub waiting_on: Vec<WaitingOn>,
    /// The earliest deadline of the deployment's queued and running stages. A teardown also has a deadline of
    /// its own, 15 minutes after it started, which counts here too. Null if there is no deadline.
    pub deadline_at: Option<Timestamp>,
    /// The deployment's page in the dashboard; null if the server's public URL is not set.
    #[serde(default)]
    pub web_url: Option<String>,
    /// The stages, in the order of the definition. Left out before the deployment has started, and in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<Stage>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stage {
    pub key: String,
    pub name: String,
    /// The keys of the stages that have to succeed before this one starts.
    pub needs: Vec<String>,
    /// The pool whose runners run this stage.
    pub pool: String,
    /// The lasting environment that the stage deploys to; null if it deploys to none.
    #[serde(default)]
    pub environment: Option<String>,
    pub status: StageStatus,
    /// A code for the reason of this status; null if there is none.
    pub reason: Option<DeploymentReason>,
    pub detail: Option<String>,
    /// The number of the newest attempt, starting at 1; 0 before the first attempt.
    pub attempt: i32,
    /// When the stage is retried automatically; null if no automatic retry is due.
    pub retry_at: Option<Timestamp>,
    /// The user who canceled this stage; null if it was not canceled, or only together with its whole
    /// deployment.
    pub canceled_by: Option<Holder>,
    /// The user who last retried this stage; null if it was not retried.
    pub retried_by: Option<Holder>,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    /// For a queued stage, when it stops waiting for a runner. For a running stage, when its timeout ends.
    /// Null for any other status.
    pub deadline_at: Option<Timestamp>,
    /// The last override of its gates, by an admin; null if there was none.
    #[serde(default)]
    pub gate_overridden: Option<GateOverride>,
    /// What the newest attempt got that other jobs have left.
    pub inputs: Vec<StageInput>,
    /// The steps of the newest attempt.
    pub steps: Vec<StepRun>,
}

/// One attempt of a stage.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    #[schema(example = "job_0190a0b0-0000-7000-8000-000000000001")]
    pub job_id: String,
    pub attempt: i32,
    pub status: AttemptStatus,
    /// A code for the reason of this status; null if there is none.
    pub reason: Option<DeploymentReason>,
    pub detail: Option<String>,
    /// The name of the runner that runs or ran this attempt; null if no runner has taken it.
    pub runner: Option<String>,
    pub queued_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    /// What it got that other jobs have left.
    pub inputs: Vec<StageInput>,
    pub steps: Vec<StepRun>,
}

/// What a stage got that another job has left. Everybody who has a runner's token of its pool could have written it.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StageInput {
    /// `artifact` or `cache`.
    #[schema(example = "cache")]
    pub kind: String,
    /// The key of a cache; the stage of an artifact.
    #[schema(example = "deps")]
    pub name: String,
    /// The stage that left it; null for a cache from before this was recorded.
    pub stage: Option<String>,
    /// The pool in which that stage ran; null like `stage`.
    pub pool: Option<String>,
    /// The zone of a cache: `protected`, `open` or `session`. Null for an artifact.
    pub zone: Option<String>,
    /// The SHA-256 of its archive.
    pub sha256: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepRun {
    #[schema(example = "stp_0190a0b0-0000-7000-8000-000000000001")]
    pub id: String,
    pub name: String,
    pub status: StepStatus,
    pub exit_code: Option<i32>,
    /// Human-readable description of the error; null if there is none. The stage has the code.
    pub reason: Option<String>,
    /// The outputs that the step wrote to the file `$GREENROOM_OUTPUT`.
    pub outputs: serde_json::Value,
    /// The digest that the step's image reference resolved to. It is the digest of the manifest, or of the
    /// configuration if the image was never in a registry. Null before the step has started, and if the
    /// runner uses no containers.
    #[schema(example = "sha256:1ff6c18fbef2045af6b9c16bf034cc421a29027b800e4f9b68ae9b1cb3e9ae07")]
    pub image_digest: Option<String>,
    /// The digest of the files of the step of a registry, as the definition has locked it; null for other steps.
    #[schema(example = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")]
    pub step_digest: Option<String>,
    /// The length of the step's log in bytes.
    pub log_bytes: i64,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateDeployment {
    #[schema(pattern = r"^\s*[0-9A-Fa-f]{7,64}\s*$")]
    pub commit_id: String,
    /// The branch that the commit is on. The conditions of stages (`if`) use it, and users see it.
    #[schema(min_length = 1, max_length = 255)]
    pub branch: Option<String>,
    /// Whether the deployment may replace what a newer one has deployed to a lasting environment; false if left out.
    /// Only for maintainers. The deployment is shown as a rollback.
    pub allow_older: Option<bool>,
    /// Only for service accounts: the person for whom the deployment is started, who then can't approve it. Without one,
    /// and with one, an approval needs one person more than its rules, because any person could be behind a program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_behalf_of: Option<OnBehalfOf>,
}

/// A person for whom a program acts.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OnBehalfOf {
    #[schema(example = "usr_0190a0b0-0000-7000-8000-000000000001")]
    pub user_id: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CancelDeployment {
    /// Whether running steps are killed immediately, without time to end by themselves; false if left out.
    pub force: Option<bool>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RetryStage {
    /// The version of the definition that the retry uses: the deployment's own (`same`) or the pipeline's
    /// newest (`latest`). `same` if left out.
    pub inputs: Option<RetryInputs>,
    /// Whether the retry may replace what a newer deployment has deployed to a lasting environment, and repeat a stage
    /// that has succeeded; false if left out. Only for maintainers. The deployment is shown as a rollback.
    pub allow_older: Option<bool>,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum RetryInputs {
    #[default]
    Same,
    Latest,
}
