//! Requests for hand-over and their answers.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequestHandover {
    /// What for; shown to the holder.
    #[schema(min_length = 1, max_length = 500)]
    pub context: Option<String>,
    /// How long the holder has to answer. Default: the definition's `handover.grace`, or 300 without one; a shorter time is rejected.
    #[schema(minimum = 60, maximum = 3600)]
    pub grace_seconds: Option<i64>,
    /// Deployed when the turn comes, as with a claim that queues. A session of yours that waits already keeps its own.
    #[serde(default)]
    #[schema(pattern = "^[0-9a-f]{7,64}$")]
    pub commit_id: Option<String>,
    /// The branch that the commit is on; it needs `commitId`.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 255)]
    pub branch: Option<String>,
    /// How long to hold it without renewing, once it is yours; the environment's default if left out.
    #[serde(default)]
    #[schema(minimum = 1)]
    pub ttl_seconds: Option<i64>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeclineHandover {
    /// Why not; shown to the requester.
    #[schema(min_length = 1, max_length = 500)]
    pub context: Option<String>,
}
