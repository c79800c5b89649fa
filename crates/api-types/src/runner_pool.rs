//! Runners and their pools, for admins.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::open_enum::open_enum;
use crate::reference_warning::ReferenceWarning;
use crate::runner::Network;

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Runner {
    #[schema(example = "run_0190a0b0-0000-7000-8000-000000000001")]
    pub id: String,
    pub name: String,
    pub pool: String,
    /// The first characters of the runner's token.
    pub hint: String,
    pub version: Option<String>,
    pub status: RunnerStatus,
    /// The jobs that the runner has now, oldest first. Only the list has them.
    #[serde(default)]
    pub jobs: Vec<RunnerJob>,
    pub created_at: Timestamp,
    pub last_seen_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

/// A job that a runner has: an attempt of a stage.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunnerJob {
    #[schema(example = "job_0190a0b0-0000-7000-8000-000000000001")]
    pub job_id: String,
    pub deployment_id: String,
    #[schema(example = "deploy")]
    pub stage: String,
    pub started_at: Option<Timestamp>,
}

open_enum!(
    RunnerStatus(greenroom_domain::runner::RunnerStatus),
    "Whether a runner takes jobs. `online`: it has sent a request within the last minute; `draining`: it shuts down when its \
     jobs have ended; `offline`: it has sent none, or was revoked."
);

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreatedRunner {
    #[serde(flatten)]
    pub record: Runner,
    /// The runner's token. Only this response contains it.
    pub token: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateRunner {
    #[schema(min_length = 1, max_length = 200)]
    pub name: String,
    /// The pool whose jobs the runner takes; `default` if left out. A pool is created together with its first
    /// runner.
    #[schema(pattern = "^[a-z][a-z0-9-]{0,62}$")]
    pub pool: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunnerPool {
    pub id: String,
    pub name: String,
    /// The network access of the steps that the pool's runners run.
    pub network: Network,
    /// The ids of the pipelines whose jobs the pool takes; null if it takes the jobs of all pipelines.
    pub pipelines: Option<Vec<String>>,
    /// The environments that the pool's jobs may deploy to: names, templates such as `pr-*`, and `none` for
    /// stages that deploy to no environment. Null if all are allowed.
    pub environments: Option<Vec<String>>,
    pub runners: i64,
    /// The number of jobs that wait for a runner.
    pub queued: i64,
    /// The number of jobs that a runner has taken and that have not ended.
    pub running: i64,
}

/// The saved pool, and warnings about names in its restriction.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct SavedRunnerPool {
    pub data: RunnerPool,
    /// Environments that match nothing yet.
    pub warnings: Vec<ReferenceWarning>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateRunnerPool {
    /// The network access of steps. It applies to jobs that runners take from now on.
    pub network: Option<Network>,
    /// Restricts the pool to jobs of the pipelines with these ids; `null` removes the restriction. It applies
    /// to jobs that are queued, or taken by a runner, from now on.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>, min_items = 1, max_items = 100)]
    pub pipelines: Option<Option<Vec<String>>>,
    /// Restricts the pool to jobs that deploy to these environments of the pipelines: names, templates such
    /// as `pr-*`, and `none` for stages that deploy to no environment. `null` removes the restriction.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>, min_items = 1, max_items = 100)]
    pub environments: Option<Option<Vec<String>>>,
}

/// Distinguishes a field that is null from one that is missing.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<Vec<String>>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}
