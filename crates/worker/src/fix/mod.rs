//! Continues the fixes that are due: claims an environment, deploys the failing commit and then the fix, and opens the draft of
//! a pull request. Every step is one transaction or one call of a forge that can be repeated, and workers lease the rows, so
//! this needs no engine of its own; the deployments have theirs.

mod call;
mod open;
mod watch;

use std::collections::HashSet;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use greenroom_domain::fix::FixStatus;
use greenroom_domain::id::OrganizationId;
use greenroom_store::fix::DueFix;
use greenroom_store::{Store, StoreError, with_db_timeout};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::evidence::ForgeAccess;

/// How many fixes are worked on concurrently, each of another organization.
const CONCURRENCY: usize = 8;
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Runs until shutdown.
pub async fn run(store: Store, access: ForgeAccess, stop: CancellationToken) {
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
                match lease(&store, &busy).await {
                    Some(due) => {
                        busy.insert(due.organization_id);
                        running.push(work_on(&store, &access, due));
                    }
                    None => next_poll = Instant::now() + POLL_INTERVAL,
                }
            }
        }
    }
}

/// Continues one fix that is due. Returns false if there is none.
pub async fn run_once(store: &Store, access: &ForgeAccess) -> bool {
    match lease(store, &HashSet::new()).await {
        Some(due) => {
            work_on(store, access, due).await;
            true
        }
        None => false,
    }
}

async fn lease(store: &Store, busy: &HashSet<OrganizationId>) -> Option<DueFix> {
    let busy: Vec<OrganizationId> = busy.iter().copied().collect();
    match with_db_timeout(store.lease_due_fix(&busy)).await {
        Ok(due) => due,
        Err(error) => {
            tracing::warn!(error = &error as &dyn std::error::Error, "could not read fixes that are due");
            None
        }
    }
}

/// Continues a fix by one step. Returns its organization.
async fn work_on(store: &Store, access: &ForgeAccess, due: DueFix) -> OrganizationId {
    let outcome = match step(store, access, &due).await {
        Ok(()) => "ok",
        Err(error) => {
            tracing::warn!(
                fix = %due.fix.id,
                error = &error as &dyn std::error::Error,
                "could not continue a fix; trying again"
            );
            if let Err(error) = with_db_timeout(store.put_off_fix(&due, None)).await {
                tracing::warn!(error = &error as &dyn std::error::Error, "could not put off a fix");
            }
            "error"
        }
    };
    metrics::counter!("greenroom_fix_steps_total", "outcome" => outcome).increment(1);
    due.organization_id
}

async fn step(store: &Store, access: &ForgeAccess, due: &DueFix) -> Result<(), StoreError> {
    match due.fix.status() {
        FixStatus::Queued | FixStatus::Waiting => with_db_timeout(store.claim_for_fix(due)).await,
        FixStatus::Reproducing | FixStatus::Verifying => with_db_timeout(store.advance_fix(due)).await,
        FixStatus::Opening => open::open(store, access, due).await,
        FixStatus::Opened => watch::watch(store, access, due).await,
        FixStatus::Merged
        | FixStatus::Closed
        | FixStatus::Refused
        | FixStatus::Failed
        | FixStatus::Canceled => Ok(()),
    }
}
