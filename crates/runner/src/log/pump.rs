//! Reads a step's output, masks it, and gives it to the server piece by piece. One piece is under way at a time, so that
//! the order is the offsets'; meanwhile the next one is collected.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use bytes::{Buf, Bytes};
use jiff::Timestamp;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Masker;

/// A piece is sent when it is this large, or this old.
const FLUSH_BYTES: usize = 512 * 1024;
const FLUSH_AFTER: Duration = Duration::from_millis(200);
/// The server takes no more at once.
const PIECE_BYTES: usize = 1024 * 1024;
/// What may wait in memory; beyond it the step has to wait.
const BUFFER_BYTES: usize = 4 * 1024 * 1024;
/// How long an ended step's output may go without a byte and without an end.
const END_PATIENCE: Duration = Duration::from_secs(15);
const READ_BYTES: usize = 64 * 1024;
/// A server that keeps expecting the piece that it was just given is not argued with any longer.
const TRIES_WITHOUT_PROGRESS: u32 = 3;

/// Where the log goes. Tries again by itself as long as that makes sense.
pub trait Sink: Send + Sync {
    fn append(&self, offset: u64, at: Timestamp, bytes: Bytes) -> impl Future<Output = Taken> + Send;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// The log is this long.
    UpTo(u64),
    /// No more is taken.
    Full,
    /// It cannot be delivered, and why.
    Lost(String),
}

/// How it went, when nothing more is to come. So many bytes have arrived in each case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogEnd {
    /// All of it.
    Complete(u64),
    /// The step said more than it may.
    Full(u64),
    /// The rest is lost, and why.
    Lost(u64, String),
}

#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// What a step may say.
    pub bytes: u64,
}

/// What was read and masked and is not under way yet.
struct Waiting {
    masker: Masker,
    bytes: Vec<u8>,
    /// When the first of them came.
    since: Option<(Instant, Timestamp)>,
    /// How much more the step may say.
    room: u64,
    /// The step said more than that.
    overflowed: bool,
}

pub struct Pump<S> {
    sink: S,
    waiting: Waiting,
    signs: Signs,
}

/// What pump and step tell each other.
#[derive(Clone, Debug, Default)]
pub struct Signs {
    /// By the pump, as soon as there is no use in going on: the step is to be killed.
    pub hopeless: CancellationToken,
    /// By the step: its output has to end soon now.
    pub step_ended: CancellationToken,
}

/// A piece under way: how long the log is when it has arrived.
type UnderWay<'a> = Pin<Box<dyn Future<Output = Result<u64, LogEnd>> + Send + 'a>>;

impl<S: Sink> Pump<S> {
    pub fn new(sink: S, masker: Masker, limits: Limits, signs: Signs) -> Self {
        let waiting =
            Waiting { masker, bytes: Vec::new(), since: None, room: limits.bytes, overflowed: false };
        Pump { sink, waiting, signs }
    }

    /// Until the output has ended and all of it has arrived, or cannot any more.
    pub async fn run(self, mut output: impl AsyncRead + Send + Unpin) -> LogEnd {
        let Pump { sink, mut waiting, signs } = self;
        let mut arrived = 0;
        let mut under_way: Option<UnderWay> = None;
        let mut under_way_bytes = 0;
        let mut broken = None;
        let mut ended = false;
        let mut read = vec![0; READ_BYTES];
        loop {
            if under_way.is_none() && (ended || waiting.is_due()) {
                if let Some((at, piece)) = waiting.take() {
                    under_way_bytes = piece.len();
                    under_way = Some(Box::pin(deliver(&sink, arrived, at, piece)));
                } else if ended {
                    break;
                }
            }
            let has_room = waiting.bytes.len() + under_way_bytes < BUFFER_BYTES;
            tokio::select! {
                // What has arrived makes room, so it comes first.
                biased;
                delivered = async { Some(under_way.as_mut()?.await) }, if under_way.is_some() => {
                    (under_way, under_way_bytes) = (None, 0);
                    match delivered {
                        Some(Ok(length)) => arrived = length,
                        Some(Err(end)) => {
                            signs.hopeless.cancel();
                            return end;
                        }
                        None => {}
                    }
                }
                count = read_some(&mut output, &mut read, &signs.step_ended), if !ended && has_room => {
                    match count {
                        Ok(0) => ended = true,
                        Ok(count) => waiting.add(&read[..count]),
                        Err(error) => {
                            broken = Some(format!("the step's output could not be read: {error}"));
                            ended = true;
                        }
                    }
                    if waiting.overflowed && !ended {
                        signs.hopeless.cancel();
                        ended = true;
                    }
                    if ended {
                        waiting.finish();
                    }
                }
                () = waiting.until_due(), if under_way.is_none() && waiting.since.is_some() => {}
            }
        }
        match broken {
            Some(reason) => {
                signs.hopeless.cancel();
                LogEnd::Lost(arrived, reason)
            }
            None if waiting.overflowed => LogEnd::Full(arrived),
            None => LogEnd::Complete(arrived),
        }
    }
}

impl Waiting {
    fn add(&mut self, read: &[u8]) {
        let before = self.bytes.len();
        self.masker.push(read, &mut self.bytes);
        self.account(before);
    }

    /// Nothing more comes.
    fn finish(&mut self) {
        let before = self.bytes.len();
        self.masker.finish(&mut self.bytes);
        self.account(before);
    }

    /// Cuts what is too much.
    fn account(&mut self, before: usize) {
        let added = self.bytes.len() - before;
        let room = usize::try_from(self.room).unwrap_or(usize::MAX);
        if added > room {
            self.bytes.truncate(before + room);
            self.overflowed = true;
        }
        self.room = self.room.saturating_sub(added as u64);
        if self.since.is_none() && !self.bytes.is_empty() {
            self.since = Some((Instant::now(), local_time()));
        }
    }

    fn is_due(&self) -> bool {
        self.bytes.len() >= FLUSH_BYTES || self.since.is_some_and(|(since, _)| since.elapsed() >= FLUSH_AFTER)
    }

    async fn until_due(&self) {
        if let Some((since, _)) = self.since {
            tokio::time::sleep_until(since + FLUSH_AFTER).await;
        }
    }

    fn take(&mut self) -> Option<(Timestamp, Bytes)> {
        let (_, at) = self.since?;
        let rest = self.bytes.split_off(self.bytes.len().min(PIECE_BYTES));
        let piece = std::mem::replace(&mut self.bytes, rest);
        // What stays has waited too, and goes next.
        if self.bytes.is_empty() {
            self.since = None;
        }
        Some((at, piece.into()))
    }
}

/// The output of a step that has ended ends too; one that does not is not waited for.
async fn read_some(
    output: &mut (impl AsyncRead + Unpin),
    into: &mut [u8],
    step_ended: &CancellationToken,
) -> std::io::Result<usize> {
    tokio::select! {
        count = output.read(into) => count,
        () = async { step_ended.cancelled().await; tokio::time::sleep(END_PATIENCE).await } => {
            Err(std::io::Error::other("the step has ended, and its output has not"))
        }
    }
}

/// Gives a piece to the sink until it has all of it.
async fn deliver<S: Sink>(sink: &S, mut offset: u64, at: Timestamp, mut piece: Bytes) -> Result<u64, LogEnd> {
    let mut without_progress = 0;
    while !piece.is_empty() {
        let length = match sink.append(offset, at, piece.clone()).await {
            Taken::UpTo(length) => length,
            Taken::Full => return Err(LogEnd::Full(offset)),
            Taken::Lost(reason) => return Err(LogEnd::Lost(offset, reason)),
        };
        let progress = length.checked_sub(offset).and_then(|progress| usize::try_from(progress).ok());
        match progress {
            Some(0) if without_progress < TRIES_WITHOUT_PROGRESS => without_progress += 1,
            Some(progress) if progress > 0 && progress <= piece.len() => {
                without_progress = 0;
                piece.advance(progress);
                offset = length;
            }
            _ => {
                let reason = format!("the server has {length} bytes of the log, and was given {offset}");
                return Err(LogEnd::Lost(offset, reason));
            }
        }
    }
    Ok(offset)
}

#[expect(
    clippy::disallowed_methods,
    reason = "tells readers of a log when something was said; decides nothing"
)]
fn local_time() -> Timestamp {
    Timestamp::now()
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Takes at most so much of a piece, as a server does that was cut off.
    struct Grudging {
        log: Mutex<Vec<u8>>,
        at_once: usize,
        full_at: u64,
    }

    impl Sink for &Grudging {
        async fn append(&self, offset: u64, _at: Timestamp, bytes: Bytes) -> Taken {
            assert!(bytes.len() <= PIECE_BYTES);
            let mut log = self.log.lock().unwrap();
            if offset + bytes.len() as u64 > self.full_at {
                return Taken::Full;
            }
            assert_eq!(log.len() as u64, offset);
            log.extend_from_slice(&bytes[..bytes.len().min(self.at_once)]);
            Taken::UpTo(log.len() as u64)
        }
    }

    fn sink(at_once: usize, full_at: u64) -> Grudging {
        Grudging { log: Mutex::new(Vec::new()), at_once, full_at }
    }

    fn text(length: usize) -> Vec<u8> {
        (0..length).map(|index| (index % 251) as u8).collect()
    }

    async fn pump(sink: &Grudging, limit: u64, output: &[u8]) -> (LogEnd, bool) {
        let signs = Signs::default();
        let masker = Masker::new::<&[u8]>(&[]).unwrap();
        let pump = Pump::new(sink, masker, Limits { bytes: limit }, signs.clone());
        (pump.run(output).await, signs.hopeless.is_cancelled())
    }

    #[tokio::test]
    async fn everything_arrives_in_order_even_in_parts() {
        let text = text(5_000_000);
        for at_once in [usize::MAX, 300_000, 700_001] {
            let sink = sink(at_once, u64::MAX);
            assert_eq!(pump(&sink, u64::MAX, &text).await, (LogEnd::Complete(5_000_000), false));
            assert!(*sink.log.lock().unwrap() == text);
        }
    }

    #[tokio::test]
    async fn nothing_said_is_complete() {
        assert_eq!(pump(&sink(1, 0), 0, b"").await, (LogEnd::Complete(0), false));
    }

    #[tokio::test]
    async fn what_is_too_much_is_cut_at_the_limit() {
        let sink = sink(usize::MAX, u64::MAX);
        assert_eq!(pump(&sink, 1000, &text(1001)).await, (LogEnd::Full(1000), true));
        assert_eq!(*sink.log.lock().unwrap(), text(1000));
    }

    #[tokio::test]
    async fn what_is_just_enough_is_complete() {
        assert_eq!(pump(&sink(usize::MAX, 1000), 1000, &text(1000)).await, (LogEnd::Complete(1000), false));
    }

    #[tokio::test]
    async fn a_server_that_takes_no_more_ends_it() {
        let (end, hopeless) = pump(&sink(usize::MAX, 600_000), u64::MAX, &text(5_000_000)).await;
        assert!(matches!(end, LogEnd::Full(bytes) if bytes <= 600_000), "{end:?}");
        assert!(hopeless);
    }

    #[tokio::test]
    async fn a_server_that_takes_nothing_is_given_up() {
        let (end, hopeless) = pump(&sink(0, u64::MAX), u64::MAX, &text(10)).await;
        assert!(matches!(end, LogEnd::Lost(0, _)), "{end:?}");
        assert!(hopeless);
    }
}
