//! API tokens. Only the first response to the request that created a token contains its secret.

use greenroom_domain::scope::Scopes;
use greenroom_domain::token::Token as DomainToken;
use greenroom_domain::token_grant::PipelineLimit;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::step_registry::given;

#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum TokenKind {
    User,
    Ci,
    Agent,
}

impl From<greenroom_domain::token::TokenKind> for TokenKind {
    fn from(kind: greenroom_domain::token::TokenKind) -> Self {
        use greenroom_domain::token::TokenKind as K;
        match kind {
            K::User => Self::User,
            K::Ci => Self::Ci,
            K::Agent => Self::Agent,
        }
    }
}

impl From<TokenKind> for greenroom_domain::token::TokenKind {
    fn from(kind: TokenKind) -> Self {
        match kind {
            TokenKind::User => Self::User,
            TokenKind::Ci => Self::Ci,
            TokenKind::Agent => Self::Agent,
        }
    }
}

/// A group of operations that a token permits, as far as the role of its user permits them too.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    Read,
    Hold,
    Deploy,
    Start,
    Write,
    Admin,
}

impl From<greenroom_domain::scope::Scope> for Scope {
    fn from(scope: greenroom_domain::scope::Scope) -> Self {
        use greenroom_domain::scope::Scope as S;
        match scope {
            S::Read => Self::Read,
            S::Hold => Self::Hold,
            S::Deploy => Self::Deploy,
            S::Start => Self::Start,
            S::Write => Self::Write,
            S::Admin => Self::Admin,
        }
    }
}

impl From<Scope> for greenroom_domain::scope::Scope {
    fn from(scope: Scope) -> Self {
        match scope {
            Scope::Read => Self::Read,
            Scope::Hold => Self::Hold,
            Scope::Deploy => Self::Deploy,
            Scope::Start => Self::Start,
            Scope::Write => Self::Write,
            Scope::Admin => Self::Admin,
        }
    }
}

/// Converts a set of scopes to its form in records.
pub fn scope_list(scopes: Scopes) -> Vec<Scope> {
    scopes.iter().map(Scope::from).collect()
}

/// Converts a limit to pipelines to its form in records; `None` means all of them.
pub fn pipeline_list(limit: &PipelineLimit) -> Option<Vec<String>> {
    limit.ids().map(|ids| ids.iter().map(ToString::to_string).collect())
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApiToken {
    #[schema(example = "tok_0190a0b0-0000-7000-8000-000000000001")]
    pub id: String,
    pub name: String,
    pub kind: TokenKind,
    /// Whether the token may take an environment over by force.
    pub allow_force: bool,
    pub scopes: Vec<Scope>,
    /// The ids of the pipelines that the token is limited to; null if the token is not limited.
    pub pipelines: Option<Vec<String>>,
    /// How many sessions the token, and those made by it, may hold at a time; null for any number.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 1000)]
    pub max_sessions: Option<u16>,
    pub user_id: String,
    pub user_name: String,
    /// The first characters of the secret, to recognize the token.
    #[schema(example = "grn_4fTq")]
    pub hint: String,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    /// When the token was last used, accurate to one minute; null if it was never used.
    pub last_used_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

impl From<DomainToken> for ApiToken {
    fn from(token: DomainToken) -> Self {
        Self {
            id: token.id.to_string(),
            name: token.name,
            kind: token.kind.into(),
            allow_force: token.allow_force,
            scopes: scope_list(token.scopes),
            pipelines: pipeline_list(&token.pipelines),
            max_sessions: token.max_sessions,
            user_id: token.user_id.to_string(),
            user_name: token.user_name,
            hint: token.hint,
            created_at: token.created_at,
            expires_at: token.expires_at,
            last_used_at: token.last_used_at,
            revoked_at: token.revoked_at,
        }
    }
}

/// A token that was just created.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreatedApiToken {
    #[serde(flatten)]
    pub record: ApiToken,
    /// The token's secret. Only this response contains it; it is left out if the request is repeated with the
    /// same Idempotency-Key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateApiToken {
    #[schema(min_length = 1, max_length = 100)]
    pub name: String,
    /// Default: the kind of the token that sends the request. Only a token of kind `user` can create another
    /// of that kind.
    pub kind: Option<TokenKind>,
    /// Whether the token may take an environment over by force. Default: true for kind `user`, false for
    /// other kinds.
    pub allow_force: Option<bool>,
    /// The token's scopes. Default: all for kind `user`; `read`, `hold` and `deploy` for `agent`; `read`,
    /// `hold`, `deploy` and `start` for `ci`. The default leaves out scopes that the token that sends the
    /// request does not have. Tokens of kind `ci` and `agent` can't have `admin`.
    #[schema(min_items = 1)]
    pub scopes: Option<Vec<Scope>>,
    /// The ids of the pipelines that the token is limited to. For such a token, other pipelines do not exist,
    /// and requests that belong to no pipeline are rejected. Default: the same limit as the token that sends
    /// the request.
    #[schema(min_items = 1, max_items = 100)]
    pub pipelines: Option<Vec<String>>,
    /// When the token expires. It must be in the future, not later than the expiry of the token that sends
    /// the request, and within 366 days for kinds `ci` and `agent`. Default: in 90 days, or together with the
    /// token that sends the request if that is sooner. `null`: never for kind `user`; the default for others.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Timestamp>)]
    pub expires_at: Option<Option<Timestamp>>,
    /// How many sessions the token, and those made by it, may hold at a time. It can't exceed that of the token that
    /// sends the request. Default: the same as that token; any number if it has no maximum.
    #[schema(minimum = 1, maximum = 1000)]
    pub max_sessions: Option<i64>,
}
