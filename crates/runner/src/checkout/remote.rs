//! The repository that is checked out.

use super::credential_helper::Grant;
use super::network::Route;

/// The repository, and how it may be reached.
#[derive(Clone, Copy)]
pub(super) struct Remote<'a> {
    pub(super) repository: &'a str,
    pub(super) route: &'a Route,
    pub(super) grant: Option<&'a Grant>,
}
