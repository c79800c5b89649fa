//! Environment pools: environments with the same labels, any of which can be claimed.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClaimFromPool {
    /// The labels that the environment must have, all of them.
    #[schema(min_items = 1, max_items = 20, example = json!(["web"]))]
    pub labels: Vec<String>,
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
    /// How long the session lasts unless it is renewed; the environment's default if left out. Environments
    /// that do not allow this duration are not considered.
    #[schema(minimum = 1)]
    pub ttl_seconds: Option<i64>,
}
