//! Requests for hand-over, and declining them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequestHandover {
    /// What you need the environment for, shown to the holder. Line breaks and tabs
    /// become spaces, and a text of blanks only counts as none.
    #[schema(max_length = 500)]
    pub context: Option<String>,
    /// How long the holder has to accept or decline. If the definition has `handover.grace`, that is
    /// the default and the minimum. Otherwise the default is 300.
    #[schema(minimum = 60, maximum = 3600)]
    pub grace_seconds: Option<i64>,
    /// The commit that is deployed when you get the environment. If you already have a session in the queue,
    /// it keeps its own commit.
    #[serde(default)]
    #[schema(pattern = r"^\s*[0-9A-Fa-f]{7,64}\s*$")]
    pub commit_id: Option<String>,
    /// The branch that the commit is on; only allowed together with `commitId`.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 255)]
    pub branch: Option<String>,
    /// How long the session lasts, once you have the environment, unless it is renewed; the environment's
    /// default if left out.
    #[serde(default)]
    #[schema(minimum = 1)]
    pub ttl_seconds: Option<i64>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeclineHandover {
    /// Why you decline, shown to the requester.
    #[schema(min_length = 1, max_length = 500)]
    pub context: Option<String>,
}
