//! Runners and their pools, for admins.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::runner::Network;

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Runner {
    #[schema(example = "run_0190a0b0-0000-7000-8000-000000000001")]
    pub id: String,
    pub name: String,
    pub pool: String,
    /// The first characters of its token.
    pub hint: String,
    pub version: Option<String>,
    pub created_at: Timestamp,
    pub last_seen_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreatedRunner {
    #[serde(flatten)]
    pub record: Runner,
    /// The runner's token, here and never again.
    pub token: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateRunner {
    #[schema(min_length = 1, max_length = 200)]
    pub name: String,
    /// The pool whose jobs it takes; `default` if left out. A pool is created with its first runner.
    #[schema(pattern = "^[a-z][a-z0-9-]{0,62}$")]
    pub pool: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunnerPool {
    pub id: String,
    pub name: String,
    /// What the steps of its runners may reach: `none`, `bridge` or `host`.
    pub network: Network,
    /// The ids of the pipelines whose jobs it takes; null for all.
    pub pipelines: Option<Vec<String>>,
    /// The environments that its jobs may deploy to: names, templates such as `pr-*`, and `none` for stages that deploy to
    /// none; null for all.
    pub environments: Option<Vec<String>>,
    pub runners: i64,
    /// Jobs that wait for a runner.
    pub queued: i64,
    /// Jobs that have one.
    pub running: i64,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateRunnerPool {
    /// Holds for jobs that are given out from now on.
    pub network: Option<Network>,
    /// Restricts the pool to jobs of these pipelines, by id; `null` lifts it. Holds for jobs that are queued or given out from
    /// now on.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>, min_items = 1, max_items = 100)]
    pub pipelines: Option<Option<Vec<String>>>,
    /// Restricts the pool to jobs that deploy to these environments of the pipelines: names, templates such as `pr-*`, and
    /// `none` for stages that deploy to none; `null` lifts it.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>, min_items = 1, max_items = 100)]
    pub environments: Option<Option<Vec<String>>>,
}

/// Distinguishes a field that is null from one that is missing.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<Vec<String>>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}
