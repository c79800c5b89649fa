//! Who is asking: a user of one organization, through one token, with the rights that the user has there now.

use jiff::Timestamp;

use crate::id::{OrganizationId, TokenId, UserId};
use crate::policy::{self, Action};
use crate::role::Role;
use crate::token::{TokenGrant, TokenKind};

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
}

impl Principal {
    pub fn may(&self, action: Action) -> bool {
        policy::allowed(self.role, action)
    }

    /// Whether a path's `orgId`, an id or a slug, names the organization of this token.
    pub fn is_of(&self, organization: &str) -> bool {
        organization == self.organization_slug || organization.parse() == Ok(self.organization_id)
    }

    pub fn token_grant(&self) -> TokenGrant {
        TokenGrant {
            kind: self.token_kind,
            allow_force: self.token_allow_force,
            expires_at: self.token_expires_at,
        }
    }
}
