//! What the clients did, with the times of the harness's clock: requests are sent after, and acknowledged before,
//! these moments.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use uuid::Uuid;

use crate::fault::clock::Micros;
use crate::fault::deployments::history::Request;

/// A lasting environment of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    /// The pipeline's slug.
    pub(crate) pipeline: &'static str,
    pub(crate) environment: &'static str,
}

#[derive(Debug, Default)]
pub(crate) struct History {
    pub(crate) requests: Vec<Request>,
    /// Who sent them, by commit.
    pub(crate) starts: HashMap<String, Start>,
    pub(crate) retries: Vec<Retry>,
    pub(crate) holds: Vec<Hold>,
    pub(crate) freezes: Vec<Freeze>,
    /// The deployments that were seen waiting, by what they waited for.
    pub(crate) waiting: BTreeMap<String, BTreeSet<Uuid>>,
    /// The deployments for which a rollback was requested.
    pub(crate) rolled_back: HashSet<Uuid>,
}

/// The request for a deployment.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    pub(crate) user: Uuid,
    pub(crate) allows_older: bool,
    pub(crate) sent_at: Micros,
    /// When the response arrived, if it did.
    pub(crate) acknowledged_at: Option<Micros>,
}

/// A retry that was carried out, or may have been.
#[derive(Clone, Debug)]
pub(crate) struct Retry {
    pub(crate) deployment: Uuid,
    pub(crate) user: Uuid,
    pub(crate) allows_older: bool,
}

/// A hold that was acknowledged.
#[derive(Clone, Debug)]
pub(crate) struct Hold {
    pub(crate) place: Place,
    pub(crate) user: Uuid,
    pub(crate) acknowledged_at: Micros,
    pub(crate) until: Micros,
    /// When its holder began to end it.
    pub(crate) lifted_at: Option<Micros>,
}

/// A freeze that was acknowledged.
#[derive(Clone, Debug)]
pub(crate) struct Freeze {
    pub(crate) place: Place,
    pub(crate) acknowledged_at: Micros,
    pub(crate) from: Micros,
    pub(crate) to: Micros,
    /// When its end was requested.
    pub(crate) lifted_at: Option<Micros>,
}
