//! Removes from the object store what nothing refers to any more. The store lists it, in the transactions after which that
//! is so; this may run on any number of servers, and again after whatever went wrong.

use std::time::Duration;

use greenroom_store::system::object::DiscardedObject;
use greenroom_store::{Store, within_patience};
use tokio_util::sync::CancellationToken;

use crate::app::failure::Failure;
use crate::app::objects::Objects;

const EVERY: Duration = Duration::from_secs(60);
const AT_A_TIME: i64 = 100;
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

/// Whether there may be more.
pub async fn once(store: &Store, objects: &Objects) -> Result<bool, Failure> {
    let taken = within_patience(store.take_discarded_objects(AT_A_TIME, TAKEN_FOR)).await?;
    let mut gone: Vec<DiscardedObject> = Vec::with_capacity(taken.len());
    let mut outcome = Ok(taken.len() as i64 == AT_A_TIME);
    for object in taken {
        match objects.remove(&object.name).await {
            Ok(()) => gone.push(object),
            Err(failure) => {
                // Those that are gone are noted all the same.
                outcome = Err(failure);
                break;
            }
        }
    }
    if !gone.is_empty() {
        within_patience(store.objects_are_gone(&gone)).await?;
        metrics::counter!("greenroom_objects_removed_total").increment(gone.len() as u64);
    }
    outcome
}
