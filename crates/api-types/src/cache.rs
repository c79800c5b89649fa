//! Caches of a pipeline.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Files that a pipeline keeps under a key from one deployment to the next.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cache {
    pub key: String,
    /// The kind of deployment that wrote the cache. `protected`: of the pipeline, and every lasting environment with `branches`
    /// to which it deploys allows the branch that was proven. `open`: of a pipeline without such environments.
    /// `session`: in a session.
    #[schema(example = "open")]
    pub zone: String,
    pub bytes: u64,
    pub created_at: Timestamp,
    /// When a job last restored this cache.
    pub used_at: Timestamp,
}
