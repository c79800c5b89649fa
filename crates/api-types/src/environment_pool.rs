//! Environment pools: environments with the same labels, any of which can be claimed.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClaimFromPool {
    /// The environment has to have all of them.
    #[schema(min_items = 1, max_items = 20, example = json!(["web"]))]
    pub labels: Vec<String>,
    /// With it, the first deployment starts.
    #[schema(pattern = "^[0-9a-f]{7,64}$")]
    pub commit_id: Option<String>,
    /// The branch that the commit is on; it needs `commitId`. Conditions use it, and every job's checkout has to prove it.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 255)]
    pub branch: Option<String>,
    /// What it is for, for people.
    #[schema(min_length = 1, max_length = 500)]
    pub context: Option<String>,
    /// How long to hold it without renewing; the environment's default if left out. One that does not allow it is not given.
    #[schema(minimum = 1)]
    pub ttl_seconds: Option<i64>,
}
