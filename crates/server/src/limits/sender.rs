//! The sender of a request, as far as the limits need it.

use std::net::IpAddr;

use greenroom_domain::browser_session::BrowserPrincipal;
use greenroom_domain::principal::Principal;
use greenroom_store::job::RunnerPrincipal;
use uuid::Uuid;

/// The token or browser session of a request, and its organization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bearer {
    pub(super) token: Uuid,
    pub(super) organization: Uuid,
}

impl From<&Principal> for Bearer {
    fn from(principal: &Principal) -> Self {
        Self { token: principal.credential.uuid(), organization: principal.organization_id.uuid() }
    }
}

/// For requests of a browser session that belong to no organization: they are counted per user.
impl From<&BrowserPrincipal> for Bearer {
    fn from(browser: &BrowserPrincipal) -> Self {
        Self { token: browser.session_id.uuid(), organization: browser.user_id.uuid() }
    }
}

impl From<&RunnerPrincipal> for Bearer {
    fn from(runner: &RunnerPrincipal) -> Self {
        Self { token: runner.id.uuid(), organization: runner.organization_id.uuid() }
    }
}

/// The party that a request is counted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    Bearer(Bearer),
    /// The request has no valid token.
    Address(IpAddr),
    /// The token could not be looked up. It may be valid, so requests without a valid token from the same address
    /// do not use up its rate.
    Unverified(IpAddr),
}
