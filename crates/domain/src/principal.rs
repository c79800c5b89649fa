//! The caller of a request: a user of one organization, with one token or browser session and the current
//! rights of the user.

use jiff::Timestamp;
use uuid::Uuid;

use crate::id::{BrowserSessionId, OrganizationId, TokenId, UserId};
use crate::owner::{Owner, ServiceToken};
use crate::policy::{self, Action, Denied};
use crate::role::Role;
use crate::scope::Scopes;
use crate::token::TokenKind;
use crate::token_grant::{PipelineLimit, TokenGrant};

/// What a request was authenticated with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Credential {
    Token(TokenId),
    /// The cookie of a browser in which the user is signed in. It counts as a token of kind `user` with all
    /// scopes.
    Browser(BrowserSessionId),
}

impl Credential {
    /// Returns the id without its type: ids of tokens and of browser sessions never coincide.
    pub const fn uuid(self) -> Uuid {
        match self {
            Self::Token(id) => id.uuid(),
            Self::Browser(id) => id.uuid(),
        }
    }

    pub const fn token(self) -> Option<TokenId> {
        match self {
            Self::Token(id) => Some(id),
            Self::Browser(_) => None,
        }
    }

    pub const fn browser_session(self) -> Option<BrowserSessionId> {
        match self {
            Self::Browser(id) => Some(id),
            Self::Token(_) => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    pub organization_id: OrganizationId,
    pub organization_slug: String,
    pub user_id: UserId,
    pub user_name: String,
    pub role: Role,
    pub credential: Credential,
    pub token_kind: TokenKind,
    pub token_allow_force: bool,
    pub token_expires_at: Option<Timestamp>,
    /// What the token allows, as far as the role allows it too.
    pub scopes: Scopes,
    /// The pipelines that the token is limited to.
    pub pipelines: PipelineLimit,
    /// How many sessions the token, and those made by it, may hold at a time; `None`: any number.
    pub max_sessions: Option<u16>,
    /// The token, if the user is a service account; `None` for a person.
    pub service_token: Option<ServiceToken>,
    /// Of a service account's token: the tokens from which it descends, the first one first, and itself. Empty for a person.
    pub lineage: Vec<TokenId>,
}

impl Principal {
    /// Returns whose the sessions are that this principal claims.
    pub fn owner(&self) -> Owner {
        Owner { user: self.user_id, token: self.service_token.as_ref().map(|token| token.id) }
    }

    /// Returns whether a session with this owner is the principal's own.
    pub fn owns(&self, session: Owner) -> bool {
        self.owner().owns(session, &self.lineage)
    }

    /// Returns whether role and scopes allow the action.
    pub fn may(&self, action: Action) -> bool {
        self.require(action).is_ok()
    }

    /// Checks role and scopes. The error contains which of them is missing.
    pub fn require(&self, action: Action) -> Result<(), Denied> {
        policy::check(self.role, self.scopes, action)
    }

    /// Returns whether the `orgId` of a path, an id or a slug, is the organization of this principal.
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
            max_sessions: self.max_sessions,
        }
    }
}
