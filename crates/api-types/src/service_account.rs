//! Service accounts of an organization, and requests for their tokens.

use greenroom_domain::service_account::ServiceAccount as DomainServiceAccount;
use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::member::Role;
use crate::session_ending::EndedSession;
use crate::token::{CreateApiToken, Scope, TokenKind};

/// A user that is a program. It has a role and tokens, but no e-mail address, and can't sign in.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceAccount {
    /// The id of a user: events, sessions and deployments of the account name it.
    #[schema(example = "usr_0190a0b0-0000-7000-8000-000000000002")]
    pub id: String,
    pub name: String,
    /// What the account is for; null if this was not stated.
    pub description: Option<String>,
    /// Any role but `owner`.
    pub role: Role,
    pub created_at: Timestamp,
    /// The id of the user who created the account.
    #[schema(example = "usr_0190a0b0-0000-7000-8000-000000000001")]
    pub created_by: String,
    pub updated_at: Timestamp,
}

impl From<DomainServiceAccount> for ServiceAccount {
    fn from(account: DomainServiceAccount) -> Self {
        Self {
            id: account.id.to_string(),
            name: account.name,
            description: account.description,
            role: account.role.into(),
            created_at: account.created_at,
            created_by: account.created_by.to_string(),
            updated_at: account.updated_at,
        }
    }
}

/// A service account after a change or a deletion.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangedServiceAccount {
    #[serde(flatten)]
    pub account: ServiceAccount,
    /// The account's sessions that ended because it was deleted or has a role below developer. The list has at
    /// most 500; any others end shortly after the response.
    pub ended: Vec<EndedSession>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateServiceAccount {
    /// The name, which is unique among the organization's service accounts, regardless of case.
    #[schema(min_length = 1, max_length = 100)]
    pub name: String,
    /// Any role but `owner`.
    pub role: Role,
    /// What the account is for.
    #[schema(min_length = 1, max_length = 500)]
    pub description: Option<String>,
}

/// Changes to a service account. Fields that are left out stay unchanged.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateServiceAccount {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 100)]
    pub name: Option<String>,
    /// Any role but `owner`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// `null` removes it.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 500)]
    pub description: Option<Option<String>>,
}

/// A request for a token of a service account. It can't permit more than the credential that sends the request.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateServiceAccountToken {
    /// The name. Locks that are held with the token show it.
    #[schema(min_length = 1, max_length = 100)]
    pub name: String,
    /// `ci` or `agent`. Default: `ci`.
    pub kind: Option<TokenKind>,
    /// Whether the token may take an environment over by force. Default: false.
    pub allow_force: Option<bool>,
    /// The token's scopes, without `admin`. Default: `read`, `hold` and `deploy` for `agent`; `read`, `hold`, `deploy`
    /// and `start` for `ci`.
    #[schema(min_items = 1)]
    pub scopes: Option<Vec<Scope>>,
    /// The ids of the pipelines that the token is limited to. Default: all.
    #[schema(min_items = 1, max_items = 100)]
    pub pipelines: Option<Vec<String>>,
    /// When the token expires: in the future, and within 366 days. Default: in 90 days.
    pub expires_at: Option<Timestamp>,
    /// How many sessions the token, and those made by it, may hold at a time. Default: any number.
    #[schema(minimum = 1, maximum = 1000)]
    pub max_sessions: Option<i64>,
}

impl From<CreateServiceAccountToken> for CreateApiToken {
    fn from(request: CreateServiceAccountToken) -> Self {
        Self {
            name: request.name,
            kind: Some(request.kind.unwrap_or(TokenKind::Ci)),
            allow_force: request.allow_force,
            scopes: request.scopes,
            pipelines: request.pipelines,
            expires_at: request.expires_at.map(Some),
            max_sessions: request.max_sessions,
        }
    }
}

/// Distinguishes a field that is `null` from one that is left out.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}
