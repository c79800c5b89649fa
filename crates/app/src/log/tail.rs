//! Follows logs for this server's streams. There is one tail per step, however many streams follow it. Its
//! streams wake up only when that log has grown, and share the bytes that were read at its end. An idle
//! stream costs no query: one periodic query reads the lengths of all followed logs, for pieces that other
//! servers have stored. A piece that this server stores wakes up its tail directly.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use greenroom_boxed_futures::boxed_futures;
use greenroom_domain::id::{OrganizationId, StepRunId};
use greenroom_store::log::LogState;
use greenroom_store::{Store, StoreError, with_db_timeout};
use greenroom_worker::log_reader::{LogPart, LogReader};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;

const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// How much of a log a stream reads in one call, and how much of its end a tail caches for its streams.
const READ_BYTES: u64 = 64 * 1024;

type Key = (OrganizationId, StepRunId);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogProgress {
    pub bytes: u64,
    /// The step has ended, and the log is complete.
    pub closed: bool,
}

#[derive(Default)]
pub struct LogTails {
    tails: Mutex<HashMap<Key, Arc<Tail>>>,
}

pub struct Tail {
    key: Key,
    progress: watch::Sender<LogProgress>,
    end: Mutex<End>,
    /// Locked by the stream that reads the end of the log for all streams.
    reading: tokio::sync::Mutex<()>,
}

/// The cached end of the log. Public for the tests in `tests/`.
#[doc(hidden)]
#[derive(Default)]
pub struct End {
    parts: VecDeque<LogPart>,
    /// Whether it was read since the last poll.
    is_fresh: bool,
}

/// A stream's subscription to a tail.
pub struct Follower {
    tail: Arc<Tail>,
    progress: watch::Receiver<LogProgress>,
}

#[boxed_futures]
impl LogTails {
    /// Follows a step's log. `state` is its state, which may be stale.
    pub fn follow(&self, organization: OrganizationId, step: StepRunId, state: LogState) -> Follower {
        let (key, now) = ((organization, step), LogProgress { bytes: state.bytes, closed: state.closed });
        let mut tails = self.tails();
        let tail = Arc::clone(tails.entry(key).or_insert_with(|| {
            let (end, reading) = (Mutex::default(), tokio::sync::Mutex::new(()));
            Arc::new(Tail { key, progress: watch::Sender::new(now), end, reading })
        }));
        tail.advance(now);
        // Subscribe with the tails locked, so that `poll` does not remove the tail as one without followers.
        let progress = tail.progress.subscribe();
        Follower { tail, progress }
    }

    /// Called after this server has stored a piece. `bytes` is the new length of the log.
    pub fn advance(&self, organization: OrganizationId, step: StepRunId, bytes: u64) {
        if let Some(tail) = self.tails().get(&(organization, step)) {
            tail.advance(LogProgress { bytes, closed: false });
        }
    }

    pub async fn run(&self, store: Store, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(POLL_INTERVAL) => {}
            }
            // Streams stay open while the database is unavailable.
            if let Err(error) = self.poll(&store).await {
                tracing::debug!(error = &error as &dyn std::error::Error, "could not poll the followed logs");
            }
        }
    }

    async fn poll(&self, store: &Store) -> Result<(), StoreError> {
        let followed: Vec<Key> = {
            let mut tails = self.tails();
            tails.retain(|_, tail| tail.progress.receiver_count() > 0);
            tails.values().for_each(|tail| tail.forget_end());
            tails.keys().copied().collect()
        };
        metrics::gauge!("greenroom_followed_logs").set(followed.len() as f64);
        if followed.is_empty() {
            return Ok(());
        }
        let found = with_db_timeout(store.followed_logs(&followed)).await?;
        let mut missing: HashSet<Key> = followed.into_iter().collect();
        let by_step: HashMap<StepRunId, Key> = missing.iter().map(|key| (key.1, *key)).collect();
        let tails = self.tails();
        for log in found {
            let Some(key) = by_step.get(&log.step) else { continue };
            missing.remove(key);
            if let Some(tail) = tails.get(key) {
                tail.advance(LogProgress { bytes: log.bytes, closed: log.closed });
            }
        }
        // The steps of missing logs were removed, so these logs are closed.
        for tail in missing.iter().filter_map(|key| tails.get(key)) {
            tail.advance(LogProgress { closed: true, ..LogProgress::default() });
        }
        Ok(())
    }

    fn tails(&self) -> MutexGuard<'_, HashMap<Key, Arc<Tail>>> {
        self.tails.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tail {
    /// Wakes up the tail's streams if the log has progressed. Progress never decreases, because concurrent
    /// results may arrive out of order.
    fn advance(&self, to: LogProgress) {
        self.progress.send_if_modified(|now| {
            let before = *now;
            now.bytes = now.bytes.max(to.bytes);
            now.closed |= to.closed;
            *now != before
        });
    }

    async fn read(&self, reader: LogReader<'_>, from: u64, to: u64) -> Result<Vec<LogPart>, Failure> {
        let (organization, step) = self.key;
        if to.saturating_sub(from) > READ_BYTES {
            // The stream is far behind, and another stream is unlikely to need the same bytes. So they are
            // read for this one alone and not cached.
            return Ok(reader.read_parts(organization, step, from..to, READ_BYTES).await?);
        }
        if let Some(parts) = self.end().parts_from(from) {
            return Ok(parts);
        }
        let _reading = self.reading.lock().await;
        if let Some(parts) = self.end().parts_from(from) {
            return Ok(parts);
        }
        let parts = reader.read_parts(organization, step, from..to, READ_BYTES).await?;
        self.end().add(&parts);
        Ok(parts)
    }

    fn end(&self) -> MutexGuard<'_, End> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops the cached end if no stream has read it since the last poll, so that an idle tail uses no
    /// memory.
    fn forget_end(&self) {
        let mut end = self.end();
        if !std::mem::take(&mut end.is_fresh) {
            end.parts = VecDeque::new();
        }
    }
}

impl End {
    /// Returns all cached bytes from an offset on; `None` if that offset is not cached.
    pub fn parts_from(&self, from: u64) -> Option<Vec<LogPart>> {
        let first = self.parts.iter().position(|part| (part.start..part.end()).contains(&from))?;
        let mut parts: Vec<LogPart> = self.parts.iter().skip(first).cloned().collect();
        if let Some(part) = parts.first_mut() {
            // The part contains `from`, so this is less than its length.
            part.bytes = part.bytes.slice((from - part.start) as usize..);
            part.start = from;
        }
        Some(parts)
    }

    pub fn add(&mut self, parts: &[LogPart]) {
        let continues = match (self.parts.back(), parts.first()) {
            (Some(last), Some(first)) => last.end() == first.start,
            _ => false,
        };
        if !continues {
            self.parts.clear();
        }
        self.parts.extend(parts.iter().cloned());
        let held = |parts: &VecDeque<LogPart>| parts.iter().map(|part| part.bytes.len() as u64).sum::<u64>();
        while held(&self.parts) > READ_BYTES {
            self.parts.pop_front();
        }
        self.is_fresh = true;
    }
}

#[boxed_futures]
impl Follower {
    /// Returns the current progress of the log.
    pub fn progress(&mut self) -> LogProgress {
        *self.progress.borrow_and_update()
    }

    /// Waits until the log has progressed since the last call of [`Follower::progress`].
    pub async fn changed(&mut self) {
        // This can't fail: the sender is owned by the tail, which is referenced here.
        let _open = self.progress.changed().await;
    }

    /// Returns the next parts from an offset on. Empty if the log was removed.
    pub async fn read(&self, reader: LogReader<'_>, from: u64, to: u64) -> Result<Vec<LogPart>, Failure> {
        self.tail.read(reader, from, to).await
    }
}
