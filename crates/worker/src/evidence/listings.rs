//! The lists of commits that are requested from forges. They run beside the collection of evidence, so that a slow forge
//! delays neither the evidence of its own organization nor that of others.

use std::collections::{HashSet, VecDeque};

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use greenroom_domain::id::{JobId, OrganizationId};
use greenroom_store::Store;
use greenroom_store::failure::DueFailure;

use super::commits::{self, ForgeAccess};

/// How many forges are called concurrently, each of another organization.
const CONCURRENCY: usize = 8;
/// Beyond this the oldest one is dropped: its evidence stays without a list of commits.
const MAX_WAITING: usize = 500;

/// A failure whose evidence is stored, and the last good attempt before it.
pub(super) struct Listing {
    pub(super) due: DueFailure,
    pub(super) good_job: JobId,
}

pub(super) struct Listings<'a> {
    store: &'a Store,
    access: &'a ForgeAccess,
    waiting: VecDeque<Listing>,
    running: FuturesUnordered<BoxFuture<'a, OrganizationId>>,
    busy: HashSet<OrganizationId>,
}

impl<'a> Listings<'a> {
    pub(super) fn new(store: &'a Store, access: &'a ForgeAccess) -> Self {
        let (waiting, running, busy) = (VecDeque::new(), FuturesUnordered::new(), HashSet::new());
        Self { store, access, waiting, running, busy }
    }

    pub(super) fn push(&mut self, listing: Listing) {
        if self.waiting.len() >= MAX_WAITING {
            self.waiting.pop_front();
            tracing::warn!("too many lists of commits are waiting for forges; dropped the oldest one");
        }
        self.waiting.push_back(listing);
        self.start();
    }

    /// Waits until one of the running calls has ended, and starts the next ones. Pending for ever if none runs.
    pub(super) async fn advance(&mut self) {
        match self.running.next().await {
            Some(organization) => {
                self.busy.remove(&organization);
                self.start();
            }
            None => std::future::pending().await,
        }
    }

    fn start(&mut self) {
        while self.running.len() < CONCURRENCY {
            let is_free = |listing: &Listing| !self.busy.contains(&listing.due.organization_id);
            let Some(listing) =
                self.waiting.iter().position(is_free).and_then(|index| self.waiting.remove(index))
            else {
                return;
            };
            self.busy.insert(listing.due.organization_id);
            self.running.push(Box::pin(run(self.store, self.access, listing)));
        }
    }
}

/// Lists the commits of one failure. Returns its organization.
pub(super) async fn run(store: &Store, access: &ForgeAccess, listing: Listing) -> OrganizationId {
    let Listing { due, good_job } = listing;
    if let Err(error) = commits::list(store, access, &due, good_job).await {
        tracing::warn!(
            failure = %due.id,
            error = &error as &dyn std::error::Error,
            "could not store the commits since the last good run"
        );
    }
    due.organization_id
}
