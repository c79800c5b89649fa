//! Synchronizes step registries: reads their tags every 15 minutes, and the content of each new one.
//!
//! A registry is hostile until proven otherwise. Each call has a deadline, and so has a whole synchronization; one registry
//! per organization is read at a time, so that slow registries of one organization do not hold up those of others. The store
//! leases registries, so that several workers do not read the same one.

mod credential;
mod fetch;
pub(crate) mod plan;
mod registry;

use std::collections::HashSet;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use greenroom_domain::id::OrganizationId;
use greenroom_keys::Keys;
use greenroom_outbound::Purpose;
use greenroom_registry::{RegistryError, RegistryReader};
use greenroom_store::system::step_registry::DueRegistry;
use greenroom_store::{Store, StoreError, with_db_timeout};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::registry::{RegistrySync, SyncOutcome};
use crate::requester::requester;

const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// How many registries are read concurrently.
const CONCURRENCY: usize = 4;
/// How long one synchronization may take. What it has not read by then is read by the next one.
const SYNC_TIMEOUT: Duration = Duration::from_secs(8 * 60);
/// Longer than a synchronization, so that none loses its lease.
const LEASE: Duration = Duration::from_secs(10 * 60);

/// Runs until shutdown. The master keys open the credentials of private registries.
pub async fn run(store: Store, reader: RegistryReader, keys: Keys, stop: CancellationToken) {
    let mut running = FuturesUnordered::new();
    let mut busy: HashSet<OrganizationId> = HashSet::new();
    let mut next_poll = Instant::now();
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            Some(organization) = running.next(), if !running.is_empty() => {
                busy.remove(&organization);
            }
            () = tokio::time::sleep_until(next_poll), if running.len() < CONCURRENCY => {
                match lease(&store, &busy).await {
                    Some(due) => {
                        busy.insert(due.organization_id);
                        running.push(synchronize(&store, &reader, &keys, due));
                    }
                    None => next_poll = Instant::now() + POLL_INTERVAL,
                }
            }
        }
    }
}

async fn lease(store: &Store, busy: &HashSet<OrganizationId>) -> Option<DueRegistry> {
    let busy: Vec<OrganizationId> = busy.iter().copied().collect();
    match with_db_timeout(store.lease_due_registry(LEASE, &busy)).await {
        Ok(due) => due,
        Err(error) => {
            tracing::warn!(error = &error as &dyn std::error::Error, "could not lease a registry; retrying");
            None
        }
    }
}

/// Synchronizes one registry, and returns its organization.
async fn synchronize(
    store: &Store,
    reader: &RegistryReader,
    keys: &Keys,
    due: DueRegistry,
) -> OrganizationId {
    let outcome = match &synchronize_due(store, reader, keys, &due).await {
        Ok(outcome) => outcome.as_str(),
        Err(error) => {
            // The lease ends, and another worker tries again.
            tracing::warn!(
                registry = %due.id,
                error = error as &dyn std::error::Error,
                "could not record the synchronization of a registry"
            );
            "error"
        }
    };
    metrics::counter!("greenroom_registry_syncs_total", "outcome" => outcome).increment(1);
    due.organization_id
}

async fn synchronize_due(
    store: &Store,
    reader: &RegistryReader,
    keys: &Keys,
    due: &DueRegistry,
) -> Result<SyncOutcome, StoreError> {
    let requester = requester(store, Purpose::Registry, due.organization_id).await?;
    let reader = reader.for_requester(requester.clone());
    let sync = RegistrySync { store, reader: &reader, requester: &requester, keys, due };
    match tokio::time::timeout(SYNC_TIMEOUT, sync.run()).await {
        Ok(ended) => ended,
        Err(_) => sync.fail_reading(&RegistryError::Timeout(SYNC_TIMEOUT), None).await,
    }
}
