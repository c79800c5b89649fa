//! Caches of a pipeline.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Files that a pipeline keeps under a key from one deployment to the next.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cache {
    pub key: String,
    /// The kind of deployment that wrote the cache. `protected`: its branch is allowed in every lasting
    /// environment of the pipeline. `open`: any other deployment.
    #[schema(example = "open")]
    pub zone: String,
    pub bytes: u64,
    pub created_at: Timestamp,
    /// When a job last restored this cache.
    pub used_at: Timestamp,
}
