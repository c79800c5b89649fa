//! Open streams of waiting sessions. Such a stream keeps the session's place in the queue: one query for all streams of this
//! server, and one transaction for each environment in which one of them waits.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use greenroom_store::system::attendance::Attendant;
use greenroom_store::{Store, StoreError, within_patience};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// A waiter may be silent for four times as long.
const EVERY: Duration = Duration::from_secs(30);
/// Streams that open within this time, as after a restart, are asked about together.
const GATHER: Duration = Duration::from_millis(250);
const AFTER_ERROR: Duration = Duration::from_secs(5);

#[derive(Clone, Default)]
pub struct Attendance {
    present: Arc<Mutex<Present>>,
    opened: Arc<Notify>,
}

#[derive(Default)]
struct Present {
    streams: HashMap<Attendant, usize>,
    /// Not yet asked about.
    new: HashSet<Attendant>,
}

/// Held by an open stream for as long as it is open.
pub struct Attending {
    attendance: Attendance,
    attendant: Attendant,
}

impl Attendance {
    pub fn attend(&self, attendant: Attendant) -> Attending {
        let mut present = self.present();
        *present.streams.entry(attendant).or_default() += 1;
        present.new.insert(attendant);
        self.opened.notify_one();
        Attending { attendance: self.clone(), attendant }
    }

    fn present(&self) -> MutexGuard<'_, Present> {
        self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub async fn run(&self, store: Store, stop: CancellationToken) {
        let mut next = tokio::time::Instant::now() + EVERY;
        loop {
            let all = tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep_until(next) => true,
                () = self.opened.notified() => false,
            };
            if !all {
                tokio::time::sleep(GATHER).await;
            }
            let asked = self.asked(all);
            if all {
                next = tokio::time::Instant::now() + EVERY;
            }
            if let Err(error) = give_sign(&store, &asked).await {
                // Waiters have patience for several rounds; this one is made up for soon.
                next = next.min(tokio::time::Instant::now() + AFTER_ERROR);
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "open streams gave no sign of life; trying again"
                );
            }
        }
    }

    fn asked(&self, all: bool) -> Vec<Attendant> {
        let mut present = self.present();
        let new = std::mem::take(&mut present.new);
        metrics::gauge!("greenroom_environment_watchers").set(present.streams.len() as f64);
        if all { present.streams.keys().copied().collect() } else { new.into_iter().collect() }
    }
}

async fn give_sign(store: &Store, watching: &[Attendant]) -> Result<(), StoreError> {
    if watching.is_empty() {
        return Ok(());
    }
    let mut outcome = Ok(());
    for (place, sessions) in within_patience(store.waiting_attendants(watching)).await? {
        // One environment that is busy must not cost the others' waiters their place.
        if let Err(error) = within_patience(store.attend(place, &sessions)).await {
            outcome = Err(error);
        }
    }
    outcome
}

impl Drop for Attending {
    fn drop(&mut self) {
        let mut present = self.attendance.present();
        if let Some(streams) = present.streams.get_mut(&self.attendant) {
            *streams -= 1;
            if *streams == 0 {
                present.streams.remove(&self.attendant);
                present.new.remove(&self.attendant);
            }
        }
    }
}
