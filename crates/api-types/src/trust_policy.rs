//! Trust policies of service accounts.

use greenroom_domain::id::PipelineId;
use greenroom_domain::trust_policy::{Audience, TrustPolicy as DomainTrustPolicy};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// Which tokens of a CI system are exchanged for a token of the service account.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrustPolicy {
    #[schema(example = "tru_0190a0b0-0000-7000-8000-000000000001")]
    pub id: String,
    /// The id of the service account.
    #[schema(example = "usr_0190a0b0-0000-7000-8000-000000000002")]
    pub service_account_id: String,
    /// Also the name of the tokens, which locks show as `holder.token`.
    pub name: String,
    /// The issuer, exactly as in `iss` of its tokens.
    #[schema(example = "https://token.actions.githubusercontent.com")]
    pub issuer: String,
    /// The `aud` that tokens must have; null: the public address of this server.
    pub audience: Option<String>,
    /// The claims with the value that each must have.
    #[schema(value_type = Object)]
    pub claims: Map<String, Value>,
    /// The ids of the pipelines that the tokens reach.
    pub pipelines: Vec<String>,
    /// How long the tokens are valid.
    pub ttl_seconds: i64,
    pub created_at: Timestamp,
    /// The id of the user who created the policy.
    #[schema(example = "usr_0190a0b0-0000-7000-8000-000000000001")]
    pub created_by: String,
}

impl From<DomainTrustPolicy> for TrustPolicy {
    fn from(policy: DomainTrustPolicy) -> Self {
        let claims = policy.claims.iter().map(|(name, value)| (name.to_owned(), value.clone()));
        Self {
            id: policy.id.to_string(),
            service_account_id: policy.service_account.to_string(),
            claims: claims.collect(),
            name: policy.name,
            issuer: policy.issuer.to_string(),
            audience: policy.audience.as_ref().map(Audience::as_str).map(str::to_owned),
            pipelines: policy.pipelines.iter().map(PipelineId::to_string).collect(),
            ttl_seconds: policy.lifetime.seconds(),
            created_at: policy.created_at,
            created_by: policy.created_by.to_string(),
        }
    }
}

/// A new trust policy.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateTrustPolicy {
    /// The name, which is unique among the account's policies, regardless of case. Locks that are held with the tokens
    /// show it.
    #[schema(min_length = 1, max_length = 100)]
    pub name: String,
    /// The issuer, exactly as in `iss` of its tokens. Its keys are found by OpenID Connect Discovery.
    #[schema(min_length = 1, max_length = 255)]
    pub issuer: String,
    /// The `aud` that tokens must have. Default: the public address of this server.
    #[schema(min_length = 1, max_length = 255)]
    pub audience: Option<String>,
    /// 1 to 16 claims with the value that each must have: a text, a whole number, or true or false. Values are compared
    /// exactly. For GitHub, GitLab, Buildkite and Forgejo one of them must be an id that never changes, and one the ref, the
    /// environment or the workflow.
    #[schema(value_type = Object)]
    pub claims: Map<String, Value>,
    /// The ids of the pipelines that the tokens reach.
    #[schema(min_items = 1, max_items = 100)]
    pub pipelines: Vec<String>,
    /// How long the tokens are valid. Default: 3600.
    #[schema(minimum = 60, maximum = 3600)]
    pub ttl_seconds: Option<i64>,
}
