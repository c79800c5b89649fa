//! Errors as RFC 9457 `application/problem+json`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// The URL, relative to the server, of a page that explains `code`.
    #[schema(example = "/docs/errors/not_found")]
    pub r#type: String,
    pub title: String,
    #[schema(minimum = 400, maximum = 599)]
    pub status: u16,
    /// A human-readable explanation of what happened and what to do next.
    pub detail: String,
    /// The stable name of the problem, for programs.
    #[schema(example = "not_found")]
    pub code: String,
    pub request_id: String,
    /// The fields or parameters that were wrong; left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub errors: Vec<FieldProblem>,
    /// Requests that this token may send instead of the rejected one. The problems `environment_locked`,
    /// `held_by_you`, `handover_pending` and `pool_exhausted` have them; they are left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub actions: Vec<SuggestedRequest>,
    /// Additional data for programs, which differs by `code`.
    #[serde(flatten)]
    pub extensions: serde_json::Map<String, serde_json::Value>,
}

/// A request that can be sent instead of the rejected one, with its fields.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SuggestedRequest {
    /// One of: `queue`, `request_handover`, `force_claim`, `deploy`, `release`, `wait`. Later versions may
    /// add others.
    #[schema(example = "queue")]
    pub action: String,
    #[schema(example = "POST")]
    pub method: String,
    /// The absolute path of the URL on this server.
    #[schema(
        example = "/api/v1/organizations/acme/pipelines/storefront/ephemeral-environments/qa-1/sessions"
    )]
    pub href: String,
    /// The same path, relative to the environment. For the problem `pool_exhausted`, it is relative to the
    /// list of the pipeline's environments.
    #[schema(example = "sessions")]
    pub path: String,
    /// The body to send. If it is left out for `deploy`, send a body with a `commitId` of your choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>, example = json!({ "context": "Checkout fix", "queue": true }))]
    pub body: Option<serde_json::Map<String, serde_json::Value>>,
    /// The headers to send; left out if none are needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub headers: Option<serde_json::Map<String, serde_json::Value>>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldProblem {
    /// The place of the error: a JSON pointer into the body, or into the pipeline definition if `line` is
    /// present. For a query parameter, its name.
    pub pointer: String,
    pub detail: String,
    /// The line in the pipeline definition, starting at 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column in the pipeline definition, starting at 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The valid values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub expected: Vec<String>,
    /// The nearest valid value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
}
