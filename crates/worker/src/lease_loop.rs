//! Work that is due in leased rows: several organizations concurrently, one row of each at a time, so that none delays another.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use greenroom_domain::id::OrganizationId;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How many rows are worked on concurrently, each of another organization.
const CONCURRENCY: usize = 8;
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// What a loop leases and works on.
pub(crate) trait LeasedWork {
    type Due;

    /// Leases a row that is due, of an organization that is not busy.
    fn lease(&self, busy: Vec<OrganizationId>) -> impl Future<Output = Option<Self::Due>> + Send;

    fn organization(due: &Self::Due) -> OrganizationId;

    /// Works on a leased row. Errors are handled there.
    fn work_on(&self, due: Self::Due) -> impl Future<Output = ()> + Send;
}

/// Runs until shutdown.
pub(crate) async fn run(work: &impl LeasedWork, stop: CancellationToken) {
    let mut running = FuturesUnordered::new();
    let mut busy: HashSet<OrganizationId> = HashSet::new();
    let mut next_poll = Instant::now();
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            Some(organization) = running.next(), if !running.is_empty() => {
                busy.remove(&organization);
                next_poll = Instant::now();
            }
            () = tokio::time::sleep_until(next_poll), if running.len() < CONCURRENCY => {
                match work.lease(busy.iter().copied().collect()).await {
                    Some(due) => {
                        let organization = organization_of(work, &due);
                        busy.insert(organization);
                        running.push(async move {
                            work.work_on(due).await;
                            organization
                        });
                    }
                    None => next_poll = Instant::now() + POLL_INTERVAL,
                }
            }
        }
    }
}

/// Works on one row that is due. Returns false if there is none.
pub(crate) async fn run_once(work: &impl LeasedWork) -> bool {
    match work.lease(Vec::new()).await {
        Some(due) => {
            work.work_on(due).await;
            true
        }
        None => false,
    }
}

fn organization_of<W: LeasedWork>(_: &W, due: &W::Due) -> OrganizationId {
    W::organization(due)
}
