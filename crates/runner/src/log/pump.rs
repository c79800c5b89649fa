//! Reads a step's output, masks it, and sends it to the server in pieces. Only one piece is sent at a time,
//! so that they arrive in order; meanwhile the next one is collected.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes};
use jiff::Timestamp;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Masker, SecretPatterns};

/// A piece is sent when it has reached this size or this age.
const FLUSH_BYTES: usize = 512 * 1024;
const FLUSH_INTERVAL: Duration = Duration::from_millis(200);
/// The server's limit for one request.
const MAX_PIECE_BYTES: usize = 1024 * 1024;
/// The limit of output in memory. When it is reached, the step's output is not read, and the step blocks as
/// soon as it writes more.
const BUFFER_BYTES: usize = 4 * 1024 * 1024;
/// How long to wait for more output, or its end, after the step has ended.
const OUTPUT_END_TIMEOUT: Duration = Duration::from_secs(15);
const READ_BYTES: usize = 64 * 1024;
/// How often a piece is sent again if the server still expects the same offset.
const MAX_ATTEMPTS_WITHOUT_PROGRESS: u32 = 3;

/// Receives the log. Implementations retry as long as that makes sense.
pub trait Sink: Send + Sync {
    fn append(&self, offset: u64, at: Timestamp, bytes: Bytes) -> impl Future<Output = AppendResult> + Send;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AppendResult {
    /// The stored log has this length.
    Stored(u64),
    /// The log has reached the server's limit.
    Full,
    /// The log cannot be delivered, with the reason.
    Lost(String),
}

/// How the log ended. Each variant has the number of delivered bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogEnd {
    /// The whole log was delivered.
    Complete(u64),
    /// The step wrote more than the limit.
    Full(u64),
    /// The rest is lost, with the reason.
    Lost(u64, String),
}

#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The maximum log size of a step.
    pub bytes: u64,
}

/// Output that was read and masked, and is not being sent yet.
struct LogBuffer {
    masker: Masker,
    /// The patterns that are masked in what is read from now on.
    patterns: watch::Receiver<Arc<SecretPatterns>>,
    bytes: Vec<u8>,
    /// When the first of these bytes was read.
    since: Option<(Instant, Timestamp)>,
    /// How many more bytes the step may write.
    remaining: u64,
    /// The step has written more than that.
    has_overflowed: bool,
}

pub struct Pump<S> {
    sink: S,
    buffer: LogBuffer,
    signals: LogSignals,
}

/// Signals between the pump and the step.
#[derive(Clone, Debug, Default)]
pub struct LogSignals {
    /// Sent by the pump when the step has to be killed, because its log can't be delivered or is too large.
    pub kill_step: CancellationToken,
    /// Sent when the step has ended. Its output has to end soon after that.
    pub step_ended: CancellationToken,
}

/// A piece that is being sent. Returns the length of the log after its delivery.
type PendingAppend<'a> = Pin<Box<dyn Future<Output = Result<u64, LogEnd>> + Send + 'a>>;

impl<S: Sink> Pump<S> {
    /// Patterns that are sent before the step can print their values are masked from their first occurrence on.
    pub fn new(
        sink: S,
        patterns: watch::Receiver<Arc<SecretPatterns>>,
        limits: Limits,
        signals: LogSignals,
    ) -> Self {
        let masker = Masker::new(Arc::clone(&patterns.borrow()));
        let buffer = LogBuffer {
            masker,
            patterns,
            bytes: Vec::new(),
            since: None,
            remaining: limits.bytes,
            has_overflowed: false,
        };
        Pump { sink, buffer, signals }
    }

    /// Runs until the output has ended and was delivered, or can't be delivered.
    pub async fn run(self, mut output: impl AsyncRead + Send + Unpin) -> LogEnd {
        let Pump { sink, mut buffer, signals } = self;
        let mut delivered_bytes = 0;
        let mut pending: Option<PendingAppend> = None;
        let mut pending_bytes = 0;
        let mut broken = None;
        let mut ended = false;
        let mut read = vec![0; READ_BYTES];
        loop {
            if pending.is_none() && (ended || buffer.is_due()) {
                if let Some((at, piece)) = buffer.take() {
                    pending_bytes = piece.len();
                    pending = Some(Box::pin(deliver(&sink, delivered_bytes, at, piece)));
                } else if ended {
                    break;
                }
            }
            let has_room = buffer.bytes.len() + pending_bytes < BUFFER_BYTES;
            tokio::select! {
                // A delivery frees buffer space, so it is handled first.
                biased;
                delivered = async { Some(pending.as_mut()?.await) }, if pending.is_some() => {
                    (pending, pending_bytes) = (None, 0);
                    match delivered {
                        Some(Ok(length)) => delivered_bytes = length,
                        Some(Err(end)) => {
                            signals.kill_step.cancel();
                            return end;
                        }
                        None => {}
                    }
                }
                count = read_some(&mut output, &mut read, &signals.step_ended), if !ended && has_room => {
                    match count {
                        Ok(0) => ended = true,
                        Ok(count) => buffer.add(&read[..count]),
                        Err(error) => {
                            broken = Some(format!("the step's output could not be read: {error}"));
                            ended = true;
                        }
                    }
                    if buffer.has_overflowed && !ended {
                        signals.kill_step.cancel();
                        ended = true;
                    }
                    if ended {
                        buffer.finish();
                    }
                }
                () = buffer.until_due(), if pending.is_none() && buffer.since.is_some() => {}
            }
        }
        match broken {
            Some(reason) => {
                signals.kill_step.cancel();
                LogEnd::Lost(delivered_bytes, reason)
            }
            None if buffer.has_overflowed => LogEnd::Full(delivered_bytes),
            None => LogEnd::Complete(delivered_bytes),
        }
    }
}

impl LogBuffer {
    fn add(&mut self, read: &[u8]) {
        // Compared after the read: these bytes may contain values that the step has got in the meantime.
        let patterns = Arc::clone(&self.patterns.borrow());
        if !Arc::ptr_eq(&patterns, self.masker.patterns()) {
            self.masker.replace_patterns(patterns);
        }
        let before = self.bytes.len();
        self.masker.push(read, &mut self.bytes);
        self.enforce_limit(before);
    }

    /// Ends the input of the masker.
    fn finish(&mut self) {
        let before = self.bytes.len();
        self.masker.finish(&mut self.bytes);
        self.enforce_limit(before);
    }

    /// Truncates the new bytes at the log limit.
    fn enforce_limit(&mut self, before: usize) {
        let added = (self.bytes.len() - before) as u64;
        if added > self.remaining {
            // Less than the number of bytes that were added, which is a `usize`.
            self.bytes.truncate(before + self.remaining as usize);
            self.has_overflowed = true;
        }
        self.remaining = self.remaining.saturating_sub(added);
        if self.since.is_none() && !self.bytes.is_empty() {
            self.since = Some((Instant::now(), local_time()));
        }
    }

    fn is_due(&self) -> bool {
        self.bytes.len() >= FLUSH_BYTES
            || self.since.is_some_and(|(since, _)| since.elapsed() >= FLUSH_INTERVAL)
    }

    async fn until_due(&self) {
        if let Some((since, _)) = self.since {
            tokio::time::sleep_until(since + FLUSH_INTERVAL).await;
        }
    }

    fn take(&mut self) -> Option<(Timestamp, Bytes)> {
        let (_, at) = self.since?;
        let rest = self.bytes.split_off(self.bytes.len().min(MAX_PIECE_BYTES));
        let piece = std::mem::replace(&mut self.bytes, rest);
        // Remaining bytes keep their time, so that they are sent next.
        if self.bytes.is_empty() {
            self.since = None;
        }
        Some((at, piece.into()))
    }
}

/// Reads output. Fails if the output does not end in time after the step has ended.
async fn read_some(
    output: &mut (impl AsyncRead + Unpin),
    into: &mut [u8],
    step_ended: &CancellationToken,
) -> std::io::Result<usize> {
    tokio::select! {
        count = output.read(into) => count,
        () = async { step_ended.cancelled().await; tokio::time::sleep(OUTPUT_END_TIMEOUT).await } => {
            Err(std::io::Error::other("the step has ended, but its output has not"))
        }
    }
}

/// Sends a piece until the sink has stored all of it. Returns the length of the log.
async fn deliver<S: Sink>(sink: &S, mut offset: u64, at: Timestamp, mut piece: Bytes) -> Result<u64, LogEnd> {
    let mut without_progress = 0;
    while !piece.is_empty() {
        let length = match sink.append(offset, at, piece.clone()).await {
            AppendResult::Stored(length) => length,
            AppendResult::Full => return Err(LogEnd::Full(offset)),
            AppendResult::Lost(reason) => return Err(LogEnd::Lost(offset, reason)),
        };
        let progress = length.checked_sub(offset).and_then(|progress| usize::try_from(progress).ok());
        match progress {
            Some(0) if without_progress < MAX_ATTEMPTS_WITHOUT_PROGRESS => without_progress += 1,
            Some(progress) if progress > 0 && progress <= piece.len() => {
                without_progress = 0;
                piece.advance(progress);
                offset = length;
            }
            _ => {
                let reason = format!("the server has {length} bytes of the log, but {offset} were sent");
                return Err(LogEnd::Lost(offset, reason));
            }
        }
    }
    Ok(offset)
}

#[expect(clippy::disallowed_methods, reason = "only shown to readers of a log; no decision depends on it")]
fn local_time() -> Timestamp {
    Timestamp::now()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tokio::io::AsyncWriteExt;

    use super::*;

    /// Stores at most `max_bytes` of a piece, as a server does whose connection was cut.
    struct PartialSink {
        log: Mutex<Vec<u8>>,
        max_bytes: usize,
        full_at: u64,
    }

    impl Sink for &PartialSink {
        async fn append(&self, offset: u64, _at: Timestamp, bytes: Bytes) -> AppendResult {
            assert!(bytes.len() <= MAX_PIECE_BYTES);
            let mut log = self.log.lock().unwrap();
            if offset + bytes.len() as u64 > self.full_at {
                return AppendResult::Full;
            }
            assert_eq!(log.len() as u64, offset);
            log.extend_from_slice(&bytes[..bytes.len().min(self.max_bytes)]);
            AppendResult::Stored(log.len() as u64)
        }
    }

    fn sink(max_bytes: usize, full_at: u64) -> PartialSink {
        PartialSink { log: Mutex::new(Vec::new()), max_bytes, full_at }
    }

    fn text(length: usize) -> Vec<u8> {
        (0..length).map(|index| (index % 251) as u8).collect()
    }

    async fn pump(sink: &PartialSink, limit: u64, output: &[u8]) -> (LogEnd, bool) {
        let signals = LogSignals::default();
        let (_, patterns) = watch::channel(Arc::default());
        let pump = Pump::new(sink, patterns, Limits { bytes: limit }, signals.clone());
        (pump.run(output).await, signals.kill_step.is_cancelled())
    }

    #[tokio::test]
    async fn everything_is_delivered_in_order_despite_partial_appends() {
        let text = text(5_000_000);
        for max_bytes in [usize::MAX, 300_000, 700_001] {
            let sink = sink(max_bytes, u64::MAX);
            assert_eq!(pump(&sink, u64::MAX, &text).await, (LogEnd::Complete(5_000_000), false));
            assert!(*sink.log.lock().unwrap() == text);
        }
    }

    #[tokio::test]
    async fn patterns_that_are_added_are_masked_in_what_is_written_after_them() {
        let sink = sink(usize::MAX, u64::MAX);
        let known = |secrets: &[&str]| {
            let secrets = secrets.iter().map(|secret| ("secret", secret.as_bytes()));
            Arc::new(SecretPatterns::new(secrets).unwrap())
        };
        let (sender, patterns) = watch::channel(known(&["hunter22"]));
        let pump = Pump::new(&sink, patterns, Limits { bytes: u64::MAX }, LogSignals::default());
        let (mut writer, output) = tokio::io::duplex(64);
        let write = async move {
            writer.write_all(b"hunter22 renewed-1 hun").await.unwrap();
            // Longer than the pump takes to read it.
            tokio::time::sleep(Duration::from_millis(300)).await;
            sender.send_replace(known(&["hunter22", "renewed-1"]));
            writer.write_all(b"ter22 renewed-1").await.unwrap();
        };
        let (end, ()) = tokio::join!(pump.run(output), write);
        assert_eq!(end, LogEnd::Complete(21));
        assert_eq!(String::from_utf8_lossy(&sink.log.lock().unwrap()), "*** renewed-1 *** ***");
    }

    #[tokio::test]
    async fn an_empty_log_is_complete() {
        assert_eq!(pump(&sink(1, 0), 0, b"").await, (LogEnd::Complete(0), false));
    }

    #[tokio::test]
    async fn a_log_is_truncated_at_the_limit() {
        let sink = sink(usize::MAX, u64::MAX);
        assert_eq!(pump(&sink, 1000, &text(1001)).await, (LogEnd::Full(1000), true));
        assert_eq!(*sink.log.lock().unwrap(), text(1000));
    }

    #[tokio::test]
    async fn a_log_of_exactly_the_limit_is_complete() {
        assert_eq!(pump(&sink(usize::MAX, 1000), 1000, &text(1000)).await, (LogEnd::Complete(1000), false));
    }

    #[tokio::test]
    async fn the_log_ends_when_the_server_has_reached_its_limit() {
        let (end, is_killed) = pump(&sink(usize::MAX, 600_000), u64::MAX, &text(5_000_000)).await;
        assert!(matches!(end, LogEnd::Full(bytes) if bytes <= 600_000), "{end:?}");
        assert!(is_killed);
    }

    #[tokio::test]
    async fn the_log_is_lost_if_the_server_makes_no_progress() {
        let (end, is_killed) = pump(&sink(0, u64::MAX), u64::MAX, &text(10)).await;
        assert!(matches!(end, LogEnd::Lost(0, _)), "{end:?}");
        assert!(is_killed);
    }
}
