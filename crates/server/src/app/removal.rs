//! Removes from the object store what nothing refers to any more. The store lists it, in the transactions after which that
//! is so; this may run on any number of servers, and again after whatever went wrong.

use std::time::Duration;

use greenroom_domain::id::OrganizationId;
use greenroom_store::system::object::DiscardedObject;
use greenroom_store::{Store, within_patience};
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::app::failure::Failure;
use crate::app::objects::Objects;

const EVERY: Duration = Duration::from_secs(60);
const AT_A_TIME: i64 = 100;
const MAX_FAILURES: usize = 3;
/// By then whoever took them has removed them, or has died.
const TAKEN_FOR: Duration = Duration::from_secs(600);

pub async fn run(store: Store, objects: Objects, stop: CancellationToken) {
    loop {
        let more = match once(&store, &objects).await {
            Ok(more) => more,
            Err(failure) => {
                let error = failure.source.as_deref().map(|source| source as &dyn std::error::Error);
                tracing::warn!(error, "objects were not removed; trying again: {}", failure.detail);
                false
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(if more { Duration::ZERO } else { EVERY }) => {}
        }
    }
}

/// Removes an object that was stored and not kept. If that fails, it is left to the next round.
pub async fn remove_now(app: &App, organization: OrganizationId, name: &str) {
    let noted = match app.objects.remove(name).await {
        Ok(()) => within_patience(app.store.object_removed(organization, name)).await,
        Err(_) => within_patience(app.store.forget_object(organization, name)).await,
    };
    if let Err(error) = noted {
        tracing::warn!(error = &error as &dyn std::error::Error, name, "a rejected object is removed later");
    }
}

/// Whether there may be more.
pub async fn once(store: &Store, objects: &Objects) -> Result<bool, Failure> {
    let taken = within_patience(store.take_discarded_objects(AT_A_TIME, TAKEN_FOR)).await?;
    let mut gone: Vec<DiscardedObject> = Vec::with_capacity(taken.len());
    let mut outcome = Ok(taken.len() as i64 == AT_A_TIME);
    let mut failures = 0;
    for object in taken {
        match objects.remove(&object.name).await {
            Ok(()) => gone.push(object),
            Err(failure) => {
                // One that can't be removed must not put off the others; when several can't, the object store is away.
                outcome = Err(failure);
                failures += 1;
                if failures == MAX_FAILURES {
                    break;
                }
            }
        }
    }
    if !gone.is_empty() {
        within_patience(store.objects_are_gone(&gone)).await?;
        metrics::counter!("greenroom_objects_removed_total").increment(gone.len() as u64);
    }
    outcome
}
