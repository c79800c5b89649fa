//! Caches of a pipeline.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a pipeline keeps from one deployment to the next under a key.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cache {
    pub key: String,
    /// `protected`: written only by deployments of branches that every lasting environment of the pipeline takes; `open`: by
    /// any other.
    #[schema(example = "open")]
    pub zone: String,
    pub bytes: u64,
    pub created_at: Timestamp,
    /// When a job last restored it.
    pub used_at: Timestamp,
}
