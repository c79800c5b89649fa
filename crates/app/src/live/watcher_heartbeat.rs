//! Heartbeats on behalf of queued sessions whose event stream is open, so that they keep their place in the
//! queue. Each round takes one query for all streams of this server, and one transaction for each environment
//! in which one of them waits.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use greenroom_boxed_futures::boxed_futures;
use greenroom_store::system::watcher::Watcher;
use greenroom_store::{Store, StoreError, with_db_timeout};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// A quarter of the time after which a waiting session without a heartbeat loses its place.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(30);
/// Streams that open within this time, as after a restart, are handled in one batch.
const BATCH_DELAY: Duration = Duration::from_millis(250);
const RETRY_DELAY: Duration = Duration::from_secs(5);

#[derive(Clone, Default)]
pub struct WatcherHeartbeat {
    streams: Arc<Mutex<OpenStreams>>,
    opened: Arc<Notify>,
}

#[derive(Default)]
struct OpenStreams {
    /// How many streams each watcher has.
    counts: HashMap<Watcher, usize>,
    /// Watchers whose first heartbeat has not been sent.
    new: HashSet<Watcher>,
}

/// Registers a stream until it is dropped.
pub struct WatcherGuard {
    heartbeat: WatcherHeartbeat,
    watcher: Watcher,
}

#[boxed_futures]
impl WatcherHeartbeat {
    pub fn register(&self, watcher: Watcher) -> WatcherGuard {
        let mut streams = self.streams();
        *streams.counts.entry(watcher).or_default() += 1;
        streams.new.insert(watcher);
        self.opened.notify_one();
        WatcherGuard { heartbeat: self.clone(), watcher }
    }

    fn streams(&self) -> MutexGuard<'_, OpenStreams> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub async fn run(&self, store: Store, stop: CancellationToken) {
        let mut next = tokio::time::Instant::now() + HEARTBEAT_INTERVAL;
        loop {
            let all = tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep_until(next) => true,
                () = self.opened.notified() => false,
            };
            if !all {
                tokio::time::sleep(BATCH_DELAY).await;
            }
            let due = self.take_due(all);
            if all {
                next = tokio::time::Instant::now() + HEARTBEAT_INTERVAL;
            }
            if let Err(error) = send_heartbeats(&store, &due).await {
                // A session keeps its place for several rounds without a heartbeat, so retrying soon is
                // enough.
                next = next.min(tokio::time::Instant::now() + RETRY_DELAY);
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "could not send the heartbeats of open streams; will retry"
                );
            }
        }
    }

    /// Returns all watchers, or only those that are new since the last call.
    fn take_due(&self, all: bool) -> Vec<Watcher> {
        let mut streams = self.streams();
        let new = std::mem::take(&mut streams.new);
        metrics::gauge!("greenroom_environment_watchers").set(streams.counts.len() as f64);
        if all { streams.counts.keys().copied().collect() } else { new.into_iter().collect() }
    }
}

async fn send_heartbeats(store: &Store, watching: &[Watcher]) -> Result<(), StoreError> {
    if watching.is_empty() {
        return Ok(());
    }
    let mut outcome = Ok(());
    let watched = with_db_timeout(store.waiting_watched_sessions(watching)).await?;
    for ((organization, environment), sessions) in watched {
        let recorded = store.record_watcher_heartbeats(organization, environment, &sessions);
        // A busy environment must not cost the waiters of other environments their place.
        if let Err(error) = with_db_timeout(recorded).await {
            outcome = Err(error);
        }
    }
    outcome
}

impl Drop for WatcherGuard {
    fn drop(&mut self) {
        let mut streams = self.heartbeat.streams();
        if let Some(count) = streams.counts.get_mut(&self.watcher) {
            *count -= 1;
            if *count == 0 {
                streams.counts.remove(&self.watcher);
                streams.new.remove(&self.watcher);
            }
        }
    }
}
