//! The server's one reader of the event feed. It passes each new event to the streams of its organization.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::event::Event;
use greenroom_domain::id::OrganizationId;
use greenroom_store::system::feed::FeedEntry;
use greenroom_store::{Store, StoreError, with_db_timeout};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

const BATCH_SIZE: i64 = 1_000;
/// A stream that falls further behind than this reads the events that it missed from the database.
const CHANNEL_CAPACITY: usize = 1_024;
/// The fallback poll interval: new events are announced by NOTIFY, but a notification is lost with its
/// connection.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
const RETRY_DELAY: Duration = Duration::from_millis(500);

#[derive(Default)]
pub struct Feed {
    channels: Mutex<HashMap<OrganizationId, broadcast::Sender<Arc<Event>>>>,
}

#[boxed_futures]
impl Feed {
    /// Returns every event of the organization that is sequenced from now on.
    pub fn subscribe(&self, organization: OrganizationId) -> broadcast::Receiver<Arc<Event>> {
        self.channels()
            .entry(organization)
            .or_insert_with(|| broadcast::channel(CHANNEL_CAPACITY).0)
            .subscribe()
    }

    fn publish(&self, entry: FeedEntry) {
        let mut channels = self.channels();
        if let Some(channel) = channels.get(&entry.organization_id)
            && channel.send(Arc::new(entry.event)).is_err()
        {
            // The organization has no streams any more.
            channels.remove(&entry.organization_id);
        }
    }

    fn channels(&self) -> MutexGuard<'_, HashMap<OrganizationId, broadcast::Sender<Arc<Event>>>> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the feed until `stop` is canceled.
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
                    "could not read the event feed; will reconnect"
                );
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(RETRY_DELAY) => {}
            }
        }
    }

    async fn follow(&self, store: &Store, cursor: &mut Option<i64>) -> Result<(), StoreError> {
        // Register for notifications before querying, so that none is lost in between.
        let mut listener = with_db_timeout(store.feed_listener()).await?;
        // Start at the head of the feed the first time, and at the last position after an error.
        let mut at = match *cursor {
            Some(at) => at,
            None => with_db_timeout(store.feed_head()).await?,
        };
        loop {
            *cursor = Some(at);
            let page = with_db_timeout(store.feed_after(at, BATCH_SIZE)).await?;
            let is_full = page.rows == BATCH_SIZE as usize;
            at = page.last.unwrap_or(at);
            for entry in page.entries {
                self.publish(entry);
            }
            if page.unknown > 0 {
                metrics::counter!("greenroom_events_unknown_total").increment(page.unknown as u64);
                tracing::warn!(
                    unknown = page.unknown,
                    "skipped events with a type or category that this version does not support"
                );
            }
            *cursor = Some(at);
            metrics::gauge!("greenroom_feed_position").set(at as f64);
            if !is_full {
                // A lost connection also ends the wait, and the feed is read again.
                let _notified = tokio::time::timeout(POLL_INTERVAL, listener.try_recv()).await;
            }
        }
    }
}
