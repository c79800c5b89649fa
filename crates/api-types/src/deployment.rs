//! Deployments, their stages, attempts and steps.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

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
    /// The version of the definition that it runs.
    pub definition_version: i32,
    /// `pipeline`: all of its stages; `session`: those of an ephemeral environment; `teardown`: what cleans up after one.
    pub purpose: String,
    /// What started it, as a code.
    pub trigger: String,
    pub env_name: Option<String>,
    pub session_id: Option<String>,
    pub commit_id: String,
    pub branch: Option<String>,
    /// `queued` `running` `waiting` `paused` `canceling`, or an end: `succeeded` `failed` `errored` `canceled` `superseded`.
    pub status: String,
    /// Why it ended so, as a code.
    pub reason: Option<String>,
    /// The same for people.
    pub detail: Option<String>,
    pub created_by: Person,
    /// The user who canceled it or ended its session. Null if the system canceled it, and for a deployment that was not canceled.
    pub canceled_by: Option<Holder>,
    /// Who last retried one of its stages.
    pub retried_by: Option<Holder>,
    pub created_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    /// When its logs and artifacts were removed, because it ended so long ago.
    pub expired_at: Option<Timestamp>,
    /// Why it is blocked; empty if it is running, or has ended.
    pub waiting_on: Vec<WaitingOn>,
    /// When the first of its stages that wait or run is ended by the clock; null if there is no such moment.
    pub deadline_at: Option<Timestamp>,
    /// In the order of the file; none before it has begun. Left out in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<Stage>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stage {
    pub key: String,
    pub name: String,
    /// The stages that have to succeed before it.
    pub needs: Vec<String>,
    /// The pool whose runners take it.
    pub pool: String,
    /// `pending` `waiting` `queued` `running`, or an end: `succeeded` `failed` `errored` `canceled` `skipped`.
    pub status: String,
    /// Why it has this status, as a code: `step_failed`, `timed_out`, `runner_lost` and others.
    pub reason: Option<String>,
    pub detail: Option<String>,
    /// From 1; 0 before the first.
    pub attempt: i32,
    /// When it is retried automatically.
    pub retry_at: Option<Timestamp>,
    /// Who canceled this stage; null if its deployment was canceled as a whole.
    pub canceled_by: Option<Holder>,
    /// Who last retried this stage.
    pub retried_by: Option<Holder>,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    /// Until when it waits for a runner, or may run; null if it does neither.
    pub deadline_at: Option<Timestamp>,
    /// Of its newest attempt.
    pub steps: Vec<StepRun>,
}

/// One attempt of a stage.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    #[schema(example = "job_0190a0b0-0000-7000-8000-000000000001")]
    pub job_id: String,
    pub attempt: i32,
    pub status: String,
    pub reason: Option<String>,
    pub detail: Option<String>,
    /// The name of the runner that has it, or had it.
    pub runner: Option<String>,
    pub queued_at: Timestamp,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub steps: Vec<StepRun>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepRun {
    #[schema(example = "stp_0190a0b0-0000-7000-8000-000000000001")]
    pub id: String,
    pub name: String,
    /// `pending` `running`, or an end: `succeeded` `failed` `errored` `canceled` `skipped`.
    pub status: String,
    pub exit_code: Option<i32>,
    pub reason: Option<String>,
    /// What it wrote to `$GREENROOM_OUTPUT`.
    pub outputs: serde_json::Value,
    /// What its image stood for: the digest of the image's manifest, or of its configuration if it has never been in a registry.
    /// Null before the step has started, and from runners that use no containers.
    #[schema(example = "sha256:1ff6c18fbef2045af6b9c16bf034cc421a29027b800e4f9b68ae9b1cb3e9ae07")]
    pub image_digest: Option<String>,
    /// How long its log is.
    pub log_bytes: i64,
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateDeployment {
    #[schema(pattern = "^[0-9a-f]{7,64}$")]
    pub commit_id: String,
    /// The branch that it is on, for `if` and for people.
    #[schema(min_length = 1, max_length = 255)]
    pub branch: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CancelDeployment {
    /// Give running steps no time to end by themselves.
    pub force: Option<bool>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RetryStage {
    /// With the definition that it ran with, or the pipeline's newest.
    pub inputs: Option<RetryInputs>,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum RetryInputs {
    #[default]
    Same,
    Latest,
}
