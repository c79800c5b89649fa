//! Runs the store's sequencer: at once when this daemon has told something, and every so often for what others told.

use std::sync::Arc;
use std::time::Duration;

use greenroom_store::system::sequencer::Sequenced;
use greenroom_store::{Store, within_patience};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

const BATCH: i64 = 2_000;
/// How soon events are found that another daemon told and did not get to sequence itself.
const IDLE: Duration = Duration::from_millis(200);
/// While another daemon's sequencer is at work, which may have begun before this daemon's events were there.
const BLOCKED: Duration = Duration::from_millis(10);
/// After a batch, so that many commands at once make few batches: a batch costs a commit, whatever is in it. An event
/// that is told while nothing else goes on does not wait for this.
const GATHER: Duration = Duration::from_millis(20);
const AFTER_ERROR: Duration = Duration::from_secs(1);

/// By which a command that has committed wakes the sequencer of its own daemon.
#[derive(Clone, Debug, Default)]
pub struct SequencerBell(Arc<Notify>);

impl SequencerBell {
    pub fn ring(&self) {
        self.0.notify_one();
    }
}

/// Runs until it is told to stop.
pub async fn run(store: Store, bell: SequencerBell, stop: CancellationToken) {
    loop {
        let pause = match within_patience(store.sequence_events(BATCH)).await {
            Ok(Sequenced::Moved(moved)) => {
                metrics::counter!("greenroom_events_sequenced_total")
                    .increment(u64::try_from(moved).unwrap_or(0));
                match moved {
                    // A full batch means that more is waiting.
                    BATCH => Duration::ZERO,
                    0 => IDLE,
                    _ => {
                        tokio::time::sleep(GATHER).await;
                        IDLE
                    }
                }
            }
            Ok(Sequenced::Busy) => BLOCKED,
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "events could not be sequenced; trying again"
                );
                AFTER_ERROR
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            // The bell shortens an idle wait only: ringing can't make a blocked sequencer spin.
            () = bell.0.notified(), if pause == IDLE => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}
