//! Errors as RFC 9457 `application/problem+json`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// Address of a page that explains the code, relative to the server.
    #[schema(example = "/docs/errors/not_found")]
    pub r#type: String,
    pub title: String,
    #[schema(minimum = 400, maximum = 599)]
    pub status: u16,
    /// What happened here and what to do next, for people.
    pub detail: String,
    /// Stable name of the problem, for programs.
    #[schema(example = "not_found")]
    pub code: String,
    pub request_id: String,
    /// The fields that were wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub errors: Vec<FieldProblem>,
    /// Additional data for programs; differs per code.
    #[serde(flatten)]
    pub extensions: serde_json::Map<String, serde_json::Value>,
}

/// A request that can be sent instead of the rejected one, with its fields.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SuggestedRequest {
    /// `queue`, `request_handover`, `force_claim`, `deploy`, `release`, `wait`; more may come.
    #[schema(example = "queue")]
    pub action: String,
    #[schema(example = "POST")]
    pub method: String,
    /// The address, absolute on this server.
    #[schema(
        example = "/api/v1/organizations/acme/pipelines/storefront/ephemeral-environments/qa-1/sessions"
    )]
    pub href: String,
    /// The same, relative to the environment; of `pool_exhausted`, to the pipeline's environments.
    #[schema(example = "sessions")]
    pub path: String,
    /// What to send. A `deploy` without it needs a `commitId` of your choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>, example = json!({ "context": "Checkout fix", "queue": true }))]
    pub body: Option<serde_json::Map<String, serde_json::Value>>,
    /// Headers to send with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub headers: Option<serde_json::Map<String, serde_json::Value>>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldProblem {
    /// Where: a JSON pointer into the body, or into the definition if `line` is there; the name for a query parameter.
    pub pointer: String,
    pub detail: String,
    /// Line in the pipeline definition, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Column in the pipeline definition, from 1.
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
