//! Signing in with a browser.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignInMethods {
    /// Whether people can sign in with an e-mail address and a password.
    pub password: bool,
    /// The OpenID providers, in the order in which the operator lists them.
    pub providers: Vec<SignInProvider>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignInProvider {
    /// The name in addresses.
    pub id: String,
    /// The name for people.
    pub name: String,
    /// Where to send the browser, relative to the server: `/api/v1/auth/oidc/{id}/start`.
    pub start_url: String,
}

#[derive(Clone, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PasswordSignIn {
    #[schema(max_length = 254)]
    pub email: String,
    #[schema(max_length = 128, format = Password)]
    pub password: String,
}

#[derive(Clone, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChangePassword {
    /// Required if the person has a password.
    #[schema(max_length = 128, format = Password)]
    pub current_password: Option<String>,
    /// 12 characters at least, and not easy to guess.
    #[schema(min_length = 12, max_length = 128, format = Password)]
    pub new_password: String,
}

#[derive(Clone, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LinkSignIn {
    /// The part of the link after `#`.
    #[schema(min_length = 64, max_length = 64)]
    pub code: String,
}

/// The first organization of an installation, and its first owner.
#[derive(Clone, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SetUp {
    /// The part of the printed link after `#`.
    #[schema(min_length = 64, max_length = 64)]
    pub code: String,
    #[schema(min_length = 1, max_length = 100)]
    pub organization_name: String,
    /// The organization's name in addresses. It can't be changed later.
    #[schema(min_length = 1, max_length = 63)]
    pub organization_slug: String,
    /// The owner's name.
    #[schema(min_length = 1, max_length = 100)]
    pub name: String,
    /// The owner's e-mail address.
    #[schema(min_length = 3, max_length = 254)]
    pub email: String,
}

/// A link with which a member signs in for the first time.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignInLink {
    pub user_id: String,
    pub expires_at: Timestamp,
    /// The link. Only this response contains it; it is left out if the request is repeated with the same
    /// Idempotency-Key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}
