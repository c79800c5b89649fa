//! On whose behalf requests are sent, and what admins may read about a failure.

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::purpose::Purpose;

/// What admins of organizations read about every failure at a destination that only the operator's list allows. A closed
/// port, another service, a status and a redirect would otherwise show them what is in a network that they can't reach.
const LISTED_FAILURE: &str = "there is no usable response from this address, which is in a network that only the \
     setting --outbound-allow opens: the operator finds the reason in the log";

/// The names by which an entry can refer to an organization.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrganizationNames {
    pub id: String,
    pub slug: String,
}

/// On whose behalf the requests of one piece of work are sent, and for what. Clones share whether one of these requests was
/// for a destination that only the operator's list allows.
#[derive(Clone, Debug)]
pub struct Requester {
    purpose: Purpose,
    organization: Option<OrganizationNames>,
    has_used_list: Arc<AtomicBool>,
}

impl Requester {
    /// Requests to addresses that the operator names.
    pub fn operator(purpose: Purpose) -> Self {
        Self { purpose, organization: None, has_used_list: Arc::default() }
    }

    /// Requests to addresses that admins of an organization name.
    pub fn of_organization(purpose: Purpose, names: OrganizationNames) -> Self {
        Self { organization: Some(names), ..Self::operator(purpose) }
    }

    pub const fn purpose(&self) -> Purpose {
        self.purpose
    }

    pub const fn organization(&self) -> Option<&OrganizationNames> {
        self.organization.as_ref()
    }

    /// Returns whether a request was for a destination that only the operator's list allows.
    pub fn has_used_list(&self) -> bool {
        self.has_used_list.load(Ordering::Relaxed)
    }

    /// Is called before the connection is made, so that a request that is dropped counts too.
    pub(crate) fn record_use_of_list(&self) {
        self.has_used_list.store(true, Ordering::Relaxed);
    }

    /// Returns what admins of the organization may read about a failure: the same text for every one, if a request was for a
    /// destination that only the operator's list allows. The caller logs the failure.
    pub fn public_text(&self, failure: &dyn Display) -> String {
        if self.has_used_list() { LISTED_FAILURE.to_owned() } else { failure.to_string() }
    }
}
