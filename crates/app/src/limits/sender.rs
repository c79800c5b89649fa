//! The sender of a request, as far as the limits need it.

use std::net::IpAddr;

use greenroom_domain::browser_session::BrowserPrincipal;
use greenroom_domain::principal::Principal;
use greenroom_store::job::RunnerPrincipal;
use uuid::Uuid;

use crate::limits::Party;

/// The token or browser session of a request, its person and its organization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bearer {
    token: Uuid,
    /// `None` for service accounts and runners.
    person: Option<Uuid>,
    organization: Uuid,
    is_runner: bool,
}

impl Bearer {
    pub(super) const fn token(self) -> Party {
        Party::Token(self.token)
    }

    pub(super) fn person(self) -> Option<Party> {
        self.person.map(Party::Person)
    }

    /// Returns the person, whose tokens share what one token may use, or the token if it is no person's.
    pub(super) fn person_or_token(self) -> Party {
        self.person().unwrap_or(self.token())
    }

    /// Returns the members or the runners of the organization, which are counted separately.
    pub(super) const fn group(self) -> Party {
        if self.is_runner { Party::Runners(self.organization) } else { self.organization() }
    }

    /// Returns the organization with its runners, for what they share.
    pub(super) const fn organization(self) -> Party {
        Party::Organization(self.organization)
    }

    pub(super) const fn is_runner(self) -> bool {
        self.is_runner
    }
}

impl From<&Principal> for Bearer {
    fn from(principal: &Principal) -> Self {
        let person = principal.service_token.is_none().then(|| principal.user_id.uuid());
        let (token, organization) = (principal.credential.uuid(), principal.organization_id.uuid());
        Self { token, person, organization, is_runner: false }
    }
}

/// For requests of a browser session that belong to no organization: they are counted per user.
impl From<&BrowserPrincipal> for Bearer {
    fn from(browser: &BrowserPrincipal) -> Self {
        let user = browser.user_id.uuid();
        Self { token: browser.session_id.uuid(), person: Some(user), organization: user, is_runner: false }
    }
}

impl From<&RunnerPrincipal> for Bearer {
    fn from(runner: &RunnerPrincipal) -> Self {
        let (token, organization) = (runner.id.uuid(), runner.organization_id.uuid());
        Self { token, person: None, organization, is_runner: true }
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
