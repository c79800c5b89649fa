//! Runs the store's sequencer: immediately after this daemon has recorded events, and periodically for the
//! events of other daemons.

use std::sync::Arc;
use std::time::Duration;

use greenroom_store::system::sequencer::{MovedEvents, Sequenced};
use greenroom_store::{Store, with_db_timeout};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

const BATCH_SIZE: u32 = 2_000;
/// How often to poll for events that another daemon recorded and could not sequence itself.
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// The delay while another daemon's sequencer runs: it may have started before this daemon's events were
/// committed.
const BUSY_DELAY: Duration = Duration::from_millis(10);
/// The delay after a batch, so that many concurrent commands make few batches: every batch costs one commit.
/// A single event on an idle system does not wait for it.
const BATCH_DELAY: Duration = Duration::from_millis(20);
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// Notifies the sequencer of this daemon after a command has committed events.
#[derive(Clone, Debug, Default)]
pub struct SequencerBell(Arc<Notify>);

impl SequencerBell {
    pub fn ring(&self) {
        self.0.notify_one();
    }
}

/// Runs until shutdown.
pub async fn run(store: Store, bell: SequencerBell, stop: CancellationToken) {
    loop {
        let delay = match with_db_timeout(store.sequence_events(BATCH_SIZE.into())).await {
            Ok(Sequenced::Moved(moved)) => {
                count(moved);
                match moved.total {
                    0 => POLL_INTERVAL,
                    // A full batch means that more events are waiting.
                    full if full == u64::from(BATCH_SIZE) => Duration::ZERO,
                    _ => {
                        tokio::time::sleep(BATCH_DELAY).await;
                        POLL_INTERVAL
                    }
                }
            }
            Ok(Sequenced::Busy) => BUSY_DELAY,
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "could not sequence events; retrying"
                );
                RETRY_DELAY
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            // The bell only interrupts the regular poll interval. It does not interrupt the other delays, so
            // that frequent commands can't make this sequencer try in a loop while that of another daemon
            // runs.
            () = bell.0.notified(), if delay == POLL_INTERVAL => {}
            () = tokio::time::sleep(delay) => {}
        }
    }
}

/// Counts what was moved. Each event is moved once, so that the sum over all processes is exact.
fn count(moved: MovedEvents) {
    metrics::counter!("greenroom_events_sequenced_total").increment(moved.total);
    for (cause, ended) in
        [("released", moved.released), ("expired", moved.expired), ("overridden", moved.overridden)]
    {
        metrics::counter!("greenroom_leases_ended_total", "cause" => cause).increment(ended);
    }
}
