//! How much of the server each party uses at this moment. A party has an entry only while it uses something,
//! so the size of the table is bounded by the total use.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use uuid::Uuid;

/// The party whose use of the server is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Party {
    /// An API token or a runner's token, by the id of its record.
    Token(Uuid),
    /// A user who is no service account: all tokens and browser sessions together, in all organizations.
    Person(Uuid),
    /// The members of an organization, and its service accounts.
    Organization(Uuid),
    /// The runners of an organization, so that its members can't use up what its jobs need.
    Runners(Uuid),
    Address(IpAddr),
    /// All addresses that do not fit into the table of addresses, counted together.
    OtherAddresses,
}

impl Party {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Token(_) => "token",
            Self::Person(_) => "person",
            Self::Runners(_) => "runners",
            Self::Organization(_) => "organization",
            Self::Address(_) | Self::OtherAddresses => "address",
        }
    }
}

/// How much a party may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartyLimit {
    pub party: Party,
    /// 0 means no limit.
    pub limit: u32,
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Requests whose body has arrived, or that have none.
    Requests,
    /// Requests with reserved capacity are counted separately, so that other requests of the same party can't
    /// block them.
    ReservedRequests,
    /// Requests whose body has not arrived completely. Such a request uses a connection and a few KiB, and must
    /// not take the place of one that can be served.
    Bodies,
    ReservedBodies,
    /// Requests whose token could not be looked up.
    UnverifiedRequests,
    Streams,
    Polls,
    Uploads,
    Downloads,
    Searches,
    Connections,
}

impl Kind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Requests | Self::ReservedRequests | Self::UnverifiedRequests => "in_flight",
            Self::Bodies | Self::ReservedBodies => "bodies",
            Self::Streams => "streams",
            Self::Polls => "polls",
            Self::Uploads => "uploads",
            Self::Downloads => "downloads",
            Self::Searches => "searches",
            Self::Connections => "connections",
        }
    }
}

type Key = (Kind, Party);

/// The parties of one use: a token, its person, and its organization, or less.
type Parties<T> = [Option<T>; 3];

/// Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    in_use: Arc<Mutex<HashMap<Key, u32>>>,
}

/// A use that is counted for its parties until this is dropped.
#[derive(Debug)]
#[must_use = "the use ends when this is dropped"]
pub struct Counted {
    counts: Counts,
    keys: Parties<Key>,
}

impl Counts {
    /// Counts one use for each of these parties. If one has reached its limit, counts it for none and returns
    /// that party's quota.
    pub fn count(&self, kind: Kind, quotas: Parties<PartyLimit>) -> Result<Counted, PartyLimit> {
        let quotas = quotas.map(|quota| quota.filter(|quota| quota.limit > 0));
        let mut in_use = self.in_use();
        let used = |party| in_use.get(&(kind, party)).copied().unwrap_or(0);
        if let Some(full) = quotas.into_iter().flatten().find(|quota| used(quota.party) >= quota.limit) {
            return Err(full);
        }
        let keys = quotas.map(|quota| quota.map(|quota| (kind, quota.party)));
        for key in keys.into_iter().flatten() {
            *in_use.entry(key).or_insert(0) += 1;
        }
        Ok(Counted { counts: self.clone(), keys })
    }

    /// Returns how many parties use something.
    pub fn entry_count(&self) -> usize {
        self.in_use().len()
    }

    fn in_use(&self) -> MutexGuard<'_, HashMap<Key, u32>> {
        self.in_use.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut in_use = self.counts.in_use();
        for key in self.keys.into_iter().flatten() {
            if let Some(used) = in_use.get_mut(&key) {
                *used -= 1;
                if *used == 0 {
                    in_use.remove(&key);
                }
            }
        }
    }
}
