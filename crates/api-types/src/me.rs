//! The caller of a request.

use greenroom_domain::browser_session::BrowserPrincipal;
use greenroom_domain::principal::Principal;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::member::Role;
use crate::token::{Scope, TokenKind, pipeline_list, scope_list};

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Me {
    pub user_id: String,
    pub name: String,
    pub organization_id: String,
    pub organization_slug: String,
    pub role: Role,
    /// The token that sent the request. It is left out for a browser session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<MyToken>,
    /// The organizations that the caller can reach, sorted by slug: that of the token, or all of the person who
    /// is signed in with a browser.
    #[serde(default)]
    pub organizations: Vec<MyOrganization>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MyOrganization {
    pub id: String,
    pub slug: String,
    /// The person's name in this organization.
    pub name: String,
    pub role: Role,
}

impl From<&Principal> for MyOrganization {
    fn from(principal: &Principal) -> Self {
        Self {
            id: principal.organization_id.to_string(),
            slug: principal.organization_slug.clone(),
            name: principal.user_name.clone(),
            role: principal.role.into(),
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MyToken {
    pub id: String,
    pub kind: TokenKind,
    pub allow_force: bool,
    pub scopes: Vec<Scope>,
    /// The ids of the pipelines that the token is limited to; null if the token is not limited.
    pub pipelines: Option<Vec<String>>,
    /// How many sessions the token, and those made by it, may hold at a time; null for any number.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 1000)]
    pub max_sessions: Option<u16>,
    pub expires_at: Option<Timestamp>,
}

impl From<&Principal> for Me {
    fn from(principal: &Principal) -> Self {
        Self {
            user_id: principal.user_id.to_string(),
            name: principal.user_name.clone(),
            organization_id: principal.organization_id.to_string(),
            organization_slug: principal.organization_slug.clone(),
            role: principal.role.into(),
            token: principal.credential.token().map(|id| MyToken {
                id: id.to_string(),
                kind: principal.token_kind.into(),
                allow_force: principal.token_allow_force,
                scopes: scope_list(principal.scopes),
                pipelines: pipeline_list(&principal.pipelines),
                max_sessions: principal.max_sessions,
                expires_at: principal.token_expires_at,
            }),
            organizations: vec![MyOrganization::from(principal)],
        }
    }
}

impl Me {
    /// Returns the person who is signed in with a browser, in the first of their organizations; `None` if there
    /// is none.
    pub fn of_browser(browser: &BrowserPrincipal) -> Option<Self> {
        let first = browser.memberships.first()?;
        let organizations = browser.memberships.iter().map(|member| MyOrganization::from(&**member));
        Some(Self { organizations: organizations.collect(), ..Self::from(&**first) })
    }
}
