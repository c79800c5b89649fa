//! Collects the evidence of failed steps: reads their logs, compares them with those of good runs, and decides
//! whose failure it is. Safe to run in several daemons concurrently, and repeatable.

mod baseline;
mod collect;
mod commits;
mod listings;
mod log;
mod read;
mod running;
mod sources;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use greenroom_domain::id::OrganizationId;
use greenroom_store::failure::DueFailure;
use greenroom_store::{Store, with_db_timeout};
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub use self::commits::ForgeAccess;
use self::listings::{Listing, Listings};
pub use self::running::{MAX_RUNNING_BYTES, RunningEvidence, read_running};
pub use self::sources::Sources;
use crate::objects::Objects;

/// How many failures are worked on concurrently, each of another organization.
const CONCURRENCY: usize = 4;
/// How often to poll for failures that were recorded by another daemon, and for retries.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Shorter than the lease of a failure.
const TIMEOUT: Duration = Duration::from_secs(100);

/// Notifies the collector of this daemon after a transaction has made failures due.
#[derive(Clone, Debug, Default)]
pub struct EvidenceBell(Arc<Notify>);

impl EvidenceBell {
    pub fn ring(&self) {
        self.0.notify_one();
    }
}

/// Runs until shutdown.
pub async fn run(store: Store, sources: Sources, bell: EvidenceBell, stop: CancellationToken) {
    let mut listings = sources.forges.as_ref().map(|access| Listings::new(&store, access));
    let mut running = FuturesUnordered::new();
    let mut busy: HashSet<OrganizationId> = HashSet::new();
    let mut next_poll = Instant::now();
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            Some((organization, listing)) = running.next(), if !running.is_empty() => {
                busy.remove(&organization);
                if let (Some(listings), Some(listing)) = (&mut listings, listing) {
                    listings.push(listing);
                }
                next_poll = Instant::now();
            }
            () = advance(&mut listings) => {}
            () = bell.0.notified() => next_poll = Instant::now(),
            () = tokio::time::sleep_until(next_poll), if running.len() < CONCURRENCY => {
                match lease(&store, &busy).await {
                    Some(due) => {
                        busy.insert(due.organization_id);
                        running.push(work_on(&store, &sources.objects, due));
                    }
                    None => next_poll = Instant::now() + POLL_INTERVAL,
                }
            }
        }
    }
}

/// Works on one failure that is due. Returns false if there is none.
pub async fn run_once(store: &Store, sources: &Sources) -> bool {
    match lease(store, &HashSet::new()).await {
        Some(due) => {
            let (_, listing) = work_on(store, &sources.objects, due).await;
            if let (Some(access), Some(listing)) = (&sources.forges, listing) {
                listings::run(store, access, listing).await;
            }
            true
        }
        None => false,
    }
}

async fn lease(store: &Store, busy: &HashSet<OrganizationId>) -> Option<DueFailure> {
    let busy: Vec<OrganizationId> = busy.iter().copied().collect();
    match with_db_timeout(store.lease_due_failure(&busy)).await {
        Ok(due) => due,
        Err(error) => {
            tracing::warn!(error = &error as &dyn std::error::Error, "could not lease a failure; retrying");
            None
        }
    }
}

/// Advances the calls of forges; pending for ever without them.
async fn advance(listings: &mut Option<Listings<'_>>) {
    match listings {
        Some(listings) => listings.advance().await,
        None => std::future::pending().await,
    }
}

/// Collects the evidence of one failure, or decides its verdict again. Returns its organization, and what can be requested
/// from a forge.
async fn work_on(store: &Store, objects: &Objects, due: DueFailure) -> (OrganizationId, Option<Listing>) {
    let organization = due.organization_id;
    let collected = tokio::time::timeout(TIMEOUT, collect::collect(store, objects, &due)).await;
    let mut good_job = None;
    let outcome = match collected {
        Ok(Ok(found)) => {
            good_job = found;
            "ok"
        }
        Ok(Err(error)) => {
            tracing::warn!(
                failure = %due.id,
                error = &error as &dyn std::error::Error,
                "could not collect the evidence of a failure; retrying"
            );
            "error"
        }
        Err(_) => {
            tracing::warn!(failure = %due.id, "collecting the evidence of a failure timed out; retrying");
            "timeout"
        }
    };
    if outcome != "ok"
        && let Err(error) = with_db_timeout(store.put_off_failure(&due)).await
    {
        // The lease ends, and another worker tries again.
        tracing::warn!(error = &error as &dyn std::error::Error, "could not put off a failure");
    }
    metrics::counter!("greenroom_failures_collected_total", "outcome" => outcome).increment(1);
    (organization, good_job.map(|good_job| Listing { due, good_job }))
}
