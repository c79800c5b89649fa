//! Warnings about names in a request.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A name in a request that is accepted and matches nothing yet: it is mistyped, or meant for later.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReferenceWarning {
    /// The stable name of the warning, for programs. Later versions may add names.
    #[schema(example = "matches_nothing")]
    pub code: String,
    #[schema(example = "`prodution` matches no environment yet; did you mean `production`?")]
    pub message: String,
    /// The place in the record, as a JSON pointer.
    #[schema(example = "/policy/environments")]
    pub path: String,
    /// The nearest name that matches something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "production")]
    pub suggestion: Option<String>,
}
