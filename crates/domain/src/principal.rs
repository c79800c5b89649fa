//! The caller of a request: a user of one organization, with one token and the current rights of the user.

use jiff::Timestamp;

use crate::id::{OrganizationId, TokenId, UserId};
use crate::policy::{self, Action, Denied};
use crate::role::Role;
use crate::scope::Scopes;
use crate::token::TokenKind;
use crate::token_grant::{PipelineLimit, TokenGrant};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    pub organization_id: OrganizationId,
    pub organization_slug: String,
    pub user_id: UserId,
    pub user_name: String,
    pub role: Role,
    pub token_id: TokenId,
    pub token_kind: TokenKind,
    pub token_allow_force: bool,
    pub token_expires_at: Option<Timestamp>,
    /// What the token allows, as far as the role allows it too.
    pub scopes: Scopes,
    /// The pipelines that the token is limited to.
    pub pipelines: PipelineLimit,
}

impl Principal {
    /// Returns whether role and scopes allow the action.
    pub fn may(&self, action: Action) -> bool {
        self.require(action).is_ok()
    }

    /// Checks role and scopes. The error contains which of them is missing.
    pub fn require(&self, action: Action) -> Result<(), Denied> {
        policy::check(self.role, self.scopes, action)
    }

    /// Returns whether the `orgId` of a path, an id or a slug, is the organization of this token.
    pub fn is_of(&self, organization: &str) -> bool {
        organization == self.organization_slug || organization.parse() == Ok(self.organization_id)
    }

    pub fn token_grant(&self) -> TokenGrant {
        TokenGrant {
            kind: self.token_kind,
            allow_force: self.token_allow_force,
            expires_at: self.token_expires_at,
            scopes: self.scopes,
            pipelines: self.pipelines.clone(),
        }
    }
}
