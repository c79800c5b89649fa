//! Asking a holder to let go, and its answer.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequestHandover {
    /// What for; the holder reads it.
    #[schema(min_length = 1, max_length = 500)]
    pub context: Option<String>,
    /// How long the holder has to answer. Default: the definition's `handover.grace`, or 300 without one; a shorter time is rejected.
    #[schema(minimum = 60, maximum = 3600)]
    pub grace_seconds: Option<i64>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeclineHandover {
    /// Why not; who asked reads it.
    #[schema(min_length = 1, max_length = 500)]
    pub context: Option<String>,
}
