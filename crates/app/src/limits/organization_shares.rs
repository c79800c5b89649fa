//! What an organization may use of a scarce resource, and what its members may use of that. Its runners can use
//! all of it, its members together three quarters, and one person half: so no person can take it from the other
//! members, and all members together can't take it from the runners.

use greenroom_boxed_futures::boxed_futures;

use crate::limits::shares::{Share, Shares};
use crate::limits::{Bearer, Party};

#[derive(Debug)]
pub struct OrganizationShares {
    single: Shares,
    members: Shares,
    organization: Shares,
}

/// A part of these shares, released when it is dropped.
pub type PartOfShares = [Option<Share>; 3];

#[boxed_futures]
impl OrganizationShares {
    /// `whole` is the share of one organization; 0 means no limit.
    pub fn new(whole: usize) -> Self {
        // A part that rounds to 0 would have no limit.
        let part = |part: usize| if whole == 0 { 0 } else { part.max(1) };
        Self {
            single: Shares::new(part(whole / 2)),
            members: Shares::new(part(whole * 3 / 4)),
            organization: Shares::new(whole),
        }
    }

    /// Acquires `count` units, and waits for them in order of arrival. `single` can use half of its organization's
    /// share. The smaller shares come first, so that no request occupies a larger one while it waits for its own.
    pub async fn acquire(&self, bearer: Bearer, single: Option<Party>, count: usize) -> PartOfShares {
        let single = match single {
            Some(single) => Some(self.single.acquire(single, count).await),
            None => None,
        };
        let members = match members_of(bearer) {
            Some(members) => Some(self.members.acquire(members, count).await),
            None => None,
        };
        [single, members, Some(self.organization.acquire(bearer.organization(), count).await)]
    }

    /// Acquires one unit, if that is possible without waiting.
    pub fn try_acquire(&self, bearer: Bearer, single: Option<Party>) -> Option<PartOfShares> {
        let single = match single {
            Some(single) => Some(self.single.try_acquire(single)?),
            None => None,
        };
        let members = match members_of(bearer) {
            Some(members) => Some(self.members.try_acquire(members)?),
            None => None,
        };
        Some([single, members, Some(self.organization.try_acquire(bearer.organization())?)])
    }
}

fn members_of(bearer: Bearer) -> Option<Party> {
    (!bearer.is_runner()).then(|| bearer.organization())
}
