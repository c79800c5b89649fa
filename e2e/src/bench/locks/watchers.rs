//! Many watchers of one event stream, on one thread: each only searches the received bytes for a text.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, JoinSet};

use super::fixture::LockFixture;
use super::wire;

const WAIT_TIMEOUT: Duration = Duration::from_secs(60);
/// The number of watchers that connect concurrently.
const MAX_CONNECTING: usize = 64;

/// The text to search for.
#[derive(Clone, Copy)]
pub(crate) enum WatchedEvent {
    Claim,
    Release,
}

impl WatchedEvent {
    fn pattern(self) -> &'static [u8] {
        match self {
            Self::Claim => b"session.claimed",
            Self::Release => b"session.released",
        }
    }
}

pub(crate) struct Watchers {
    state: Arc<WatchState>,
    last_saw: mpsc::UnboundedReceiver<Instant>,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<anyhow::Result<()>>,
    count: u32,
}

/// State that all watchers share.
struct WatchState {
    /// The number of the round. Watchers search for a claim in odd rounds, for a release in even ones, and
    /// for nothing in round 0.
    round: AtomicU64,
    /// The number of watchers that have not received the event of this round yet.
    missing: AtomicU32,
    last_saw: mpsc::UnboundedSender<Instant>,
}

impl Watchers {
    /// Opens the streams, and returns when the server has begun to respond on each.
    pub(crate) async fn open(fixture: &LockFixture, path: &str, count: u32) -> anyhow::Result<Self> {
        let (sender, last_saw) = mpsc::unbounded_channel();
        let state = Arc::new(WatchState { round: 0.into(), missing: 0.into(), last_saw: sender });
        let (stop, stopped) = oneshot::channel();
        let (ready, opened) = oneshot::channel();
        let request = Arc::new(wire::request("GET", &fixture.host, path, &fixture.token, ""));
        let (host, for_thread) = (fixture.host.clone(), Arc::clone(&state));
        let thread = tokio::task::spawn_blocking(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let mut watching = open_all(&host, &request, count, &for_thread).await?;
                let _ = ready.send(());
                tokio::select! {
                    _ = stopped => Ok(()),
                    ended = watching.join_next() => ended.context("there are no watchers")??,
                }
            })
        });
        let mut watchers = Self { state, last_saw, stop, thread, count };
        if opened.await.is_err() {
            return Err(watchers.failure().await);
        }
        Ok(watchers)
    }

    /// Starts a new round. It has to be called before the event can happen.
    pub(crate) fn expect_event(&self, what: WatchedEvent) {
        self.state.missing.store(self.count, Ordering::SeqCst);
        let now = self.state.round.load(Ordering::SeqCst);
        let wants_odd = matches!(what, WatchedEvent::Claim);
        self.state.round.store(now + if (now % 2 == 1) == wants_odd { 2 } else { 1 }, Ordering::SeqCst);
    }

    /// Waits until all watchers have received the event. Returns when the last one did.
    pub(crate) async fn wait_for_all(&mut self) -> anyhow::Result<Instant> {
        tokio::select! {
            seen = tokio::time::timeout(WAIT_TIMEOUT, self.last_saw.recv()) => match seen {
                Ok(Some(at)) => Ok(at),
                _ => bail!("{} had not seen it after {WAIT_TIMEOUT:?}", self.state.missing.load(Ordering::SeqCst)),
            },
            error = failure(&mut self.thread) => Err(error),
        }
    }

    pub(crate) async fn end(self) -> anyhow::Result<()> {
        let _ = self.stop.send(());
        self.thread.await?
    }

    async fn failure(&mut self) -> anyhow::Error {
        failure(&mut self.thread).await
    }
}

async fn failure(thread: &mut JoinHandle<anyhow::Result<()>>) -> anyhow::Error {
    match thread.await {
        Ok(Ok(())) => anyhow::anyhow!("the watchers have ended"),
        Ok(Err(error)) => error,
        Err(error) => error.into(),
    }
}

async fn open_all(
    host: &str,
    request: &Arc<Vec<u8>>,
    count: u32,
    state: &Arc<WatchState>,
) -> anyhow::Result<JoinSet<anyhow::Result<()>>> {
    let (mut opening, mut watching) = (JoinSet::new(), JoinSet::new());
    for _ in 0..count {
        if opening.len() >= MAX_CONNECTING {
            let opened = opening.join_next().await.context("none is being opened")?;
            watching.spawn(watch(opened??, Arc::clone(state)));
        }
        opening.spawn(open_one(host.to_owned(), Arc::clone(request)));
    }
    while let Some(opened) = opening.join_next().await {
        watching.spawn(watch(opened??, Arc::clone(state)));
    }
    Ok(watching)
}

async fn open_one(host: String, request: Arc<Vec<u8>>) -> anyhow::Result<TcpStream> {
    let mut stream = TcpStream::connect(host).await?;
    stream.write_all(&request).await?;
    let mut start = [0; 12];
    stream.read_exact(&mut start).await?;
    if !start.ends_with(b" 200") {
        bail!("a stream returned {}", String::from_utf8_lossy(&start));
    }
    Ok(stream)
}

async fn watch(stream: TcpStream, state: Arc<WatchState>) -> anyhow::Result<()> {
    let mut seen_in = 0;
    loop {
        stream.readable().await?;
        // The buffer is on the stack, and exists only while there is something to read. So thousands of
        // watchers wait without a buffer.
        let mut received = [0; 8 * 1024];
        let length = match stream.try_read(&mut received) {
            Ok(0) => bail!("the server ended a stream"),
            Ok(length) => length,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => continue,
            Err(error) => return Err(error.into()),
        };
        let round = state.round.load(Ordering::SeqCst);
        let expected = if round % 2 == 1 { WatchedEvent::Claim } else { WatchedEvent::Release };
        let text = received.get(..length).unwrap_or_default();
        if seen_in == round || wire::find(text, expected.pattern()).is_none() {
            continue;
        }
        seen_in = round;
        if state.missing.fetch_sub(1, Ordering::SeqCst) == 1 {
            let _ = state.last_saw.send(Instant::now());
        }
    }
}
