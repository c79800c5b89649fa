//! Garbage collection of the object store. A transaction that drops the last reference to an object also
//! lists the object as discarded; this task removes the listed objects. It is idempotent and may run on
//! several servers concurrently.

use std::time::Duration;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::OrganizationId;
use greenroom_store::system::object::DiscardedObject;
use greenroom_store::{Store, with_db_timeout};
use greenroom_worker::objects::Objects;
use tokio_util::sync::CancellationToken;

use crate::App;
use crate::failure::Failure;

const POLL_INTERVAL: Duration = Duration::from_secs(60);
const BATCH_SIZE: i64 = 100;
const MAX_FAILURES: usize = 3;
/// How long a batch belongs to the server that took it. After this time that server has removed the objects
/// or has crashed, and another server may take them.
const BATCH_LEASE: Duration = Duration::from_secs(600);

#[boxed_futures]
pub async fn run(store: Store, objects: Objects, stop: CancellationToken) {
    loop {
        let has_more = match run_once(&store, &objects).await {
            Ok(has_more) => has_more,
            Err(failure) => {
                let error = failure.source.as_deref().map(|source| source as &dyn std::error::Error);
                tracing::warn!(error, "could not remove discarded objects; will retry: {}", failure.detail);
                false
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(if has_more { Duration::ZERO } else { POLL_INTERVAL }) => {}
        }
    }
}

/// Removes a stored object that no record refers to. If this fails, the object is left to garbage collection.
#[boxed_futures]
pub async fn remove_now(app: &App, organization: OrganizationId, name: &str) {
    let recorded = match app.objects.remove(name).await {
        Ok(()) => with_db_timeout(app.store.unregister_object(organization, name)).await,
        Err(_) => with_db_timeout(app.store.discard_object(organization, name)).await,
    };
    if let Err(error) = recorded {
        tracing::warn!(
            error = &error as &dyn std::error::Error,
            name,
            "could not record the removal of an unreferenced object; garbage collection will remove it"
        );
    }
}

/// Removes one batch. Returns whether there may be more.
#[boxed_futures]
pub async fn run_once(store: &Store, objects: &Objects) -> Result<bool, Failure> {
    let taken = with_db_timeout(store.lease_discarded_objects(BATCH_SIZE, BATCH_LEASE)).await?;
    let mut gone: Vec<DiscardedObject> = Vec::with_capacity(taken.len());
    let mut outcome = Ok(taken.len() as i64 == BATCH_SIZE);
    let mut failures = 0;
    for object in taken {
        match objects.remove(&object.name).await {
            Ok(()) => gone.push(object),
            Err(error) => {
                // One object that can't be removed must not delay the others. Several failures mean that the
                // object store is unavailable.
                outcome = Err(error.into());
                failures += 1;
                if failures == MAX_FAILURES {
                    break;
                }
            }
        }
    }
    if !gone.is_empty() {
        with_db_timeout(store.delete_discarded_objects(&gone)).await?;
        metrics::counter!("greenroom_objects_removed_total").increment(gone.len() as u64);
    }
    outcome
}
