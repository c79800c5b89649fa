//! One reader of the feed per server, which hands each new event to the streams of its organization.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use greenroom_domain::event::Event;
use greenroom_domain::id::OrganizationId;
use greenroom_store::system::feed::FeedEntry;
use greenroom_store::{Store, StoreError, within_patience};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

const BATCH: i64 = 1_000;
/// A stream that falls further behind than this goes back to the database for what it missed.
const BUFFER: usize = 1_024;
/// NOTIFY tells of new events at once; this is for the ones whose NOTIFY got lost with its connection.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const AFTER_ERROR: Duration = Duration::from_millis(500);

#[derive(Default)]
pub struct Feed {
    channels: Mutex<HashMap<OrganizationId, broadcast::Sender<Arc<Event>>>>,
}

impl Feed {
    /// Every event of the organization that is sequenced from now on.
    pub fn subscribe(&self, organization: OrganizationId) -> broadcast::Receiver<Arc<Event>> {
        self.channels().entry(organization).or_insert_with(|| broadcast::channel(BUFFER).0).subscribe()
    }

    fn publish(&self, entry: FeedEntry) {
        let mut channels = self.channels();
        if let Some(channel) = channels.get(&entry.organization_id)
            && channel.send(Arc::new(entry.event)).is_err()
        {
            // Nobody listens any more.
            channels.remove(&entry.organization_id);
        }
    }

    fn channels(&self) -> MutexGuard<'_, HashMap<OrganizationId, broadcast::Sender<Arc<Event>>>> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the feed until it is told to stop.
    pub async fn run(&self, store: Store, stop: CancellationToken) {
        let mut cursor = None;
        loop {
            let ended = tokio::select! {
                () = stop.cancelled() => return,
                ended = self.follow(&store, &mut cursor) => ended,
            };
            if let Err(error) = ended {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "the feed broke off; connecting again"
                );
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(AFTER_ERROR) => {}
            }
        }
    }

    async fn follow(&self, store: &Store, cursor: &mut Option<i64>) -> Result<(), StoreError> {
        // Listen first, read after: what is told in between is heard.
        let mut listener = within_patience(store.feed_listener()).await?;
        // The first time from now on; after a break from where it broke off.
        let mut at = match *cursor {
            Some(at) => at,
            None => within_patience(store.feed_head()).await?,
        };
        loop {
            *cursor = Some(at);
            let page = within_patience(store.feed_after(at, BATCH)).await?;
            let full = page.rows == BATCH as usize;
            at = page.last.unwrap_or(at);
            for entry in page.entries {
                self.publish(entry);
            }
            if page.unknown > 0 {
                metrics::counter!("greenroom_events_unknown_total").increment(page.unknown as u64);
                tracing::warn!(
                    unknown = page.unknown,
                    "events of a type or category that this version does not know were skipped"
                );
            }
            *cursor = Some(at);
            metrics::gauge!("greenroom_feed_position").set(at as f64);
            if !full {
                // A lost connection is an answer too: it is read again after it.
                let _heard = tokio::time::timeout(LOOK_EVERY, listener.try_recv()).await;
            }
        }
    }
}
