//! Many who watch one event stream, on one thread: each only looks whether what it is sent has the word that is looked for.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, JoinSet};

use super::scene::Scene;
use super::wire;

const PATIENCE: Duration = Duration::from_secs(60);
/// How many connect at once.
const CONNECTING: usize = 64;

/// What is looked for.
#[derive(Clone, Copy)]
pub(crate) enum Sighting {
    Claim,
    Release,
}

impl Sighting {
    fn word(self) -> &'static [u8] {
        match self {
            Self::Claim => b"session.claimed",
            Self::Release => b"session.released",
        }
    }
}

pub(crate) struct Watchers {
    board: Arc<Board>,
    last_saw: mpsc::UnboundedReceiver<Instant>,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<anyhow::Result<()>>,
    count: u32,
}

/// What all watchers look at and write to.
struct Board {
    /// Claims in odd rounds, releases in even ones. Nothing is looked for in round 0.
    round: AtomicU64,
    /// How many have not seen it yet.
    missing: AtomicU32,
    last_saw: mpsc::UnboundedSender<Instant>,
}

impl Watchers {
    /// Opens the streams, and returns when the server has begun to answer on each.
    pub(crate) async fn open(scene: &Scene, path: &str, count: u32) -> anyhow::Result<Self> {
        let (sender, last_saw) = mpsc::unbounded_channel();
        let board = Arc::new(Board { round: 0.into(), missing: 0.into(), last_saw: sender });
        let (stop, stopped) = oneshot::channel();
        let (ready, opened) = oneshot::channel();
        let request = Arc::new(wire::request("GET", &scene.host, path, &scene.token, ""));
        let (host, for_thread) = (scene.host.clone(), Arc::clone(&board));
        let thread = tokio::task::spawn_blocking(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let mut watching = open_all(&host, &request, count, &for_thread).await?;
                let _ = ready.send(());
                tokio::select! {
                    _ = stopped => Ok(()),
                    ended = watching.join_next() => ended.context("nobody watches")??,
                }
            })
        });
        let mut watchers = Self { board, last_saw, stop, thread, count };
        if opened.await.is_err() {
            return Err(watchers.why().await);
        }
        Ok(watchers)
    }

    /// To be said before it can happen.
    pub(crate) fn look_for(&self, what: Sighting) {
        self.board.missing.store(self.count, Ordering::SeqCst);
        let now = self.board.round.load(Ordering::SeqCst);
        let wants_odd = matches!(what, Sighting::Claim);
        self.board.round.store(now + if (now % 2 == 1) == wants_odd { 2 } else { 1 }, Ordering::SeqCst);
    }

    /// When the last of them saw it.
    pub(crate) async fn all_have_seen(&mut self) -> anyhow::Result<Instant> {
        tokio::select! {
            seen = tokio::time::timeout(PATIENCE, self.last_saw.recv()) => match seen {
                Ok(Some(at)) => Ok(at),
                _ => bail!("{} had not seen it after {PATIENCE:?}", self.board.missing.load(Ordering::SeqCst)),
            },
            error = why(&mut self.thread) => Err(error),
        }
    }

    pub(crate) async fn end(self) -> anyhow::Result<()> {
        let _ = self.stop.send(());
        self.thread.await?
    }

    async fn why(&mut self) -> anyhow::Error {
        why(&mut self.thread).await
    }
}

async fn why(thread: &mut JoinHandle<anyhow::Result<()>>) -> anyhow::Error {
    match thread.await {
        Ok(Ok(())) => anyhow::anyhow!("the watchers left"),
        Ok(Err(error)) => error,
        Err(error) => error.into(),
    }
}

async fn open_all(
    host: &str,
    request: &Arc<Vec<u8>>,
    count: u32,
    board: &Arc<Board>,
) -> anyhow::Result<JoinSet<anyhow::Result<()>>> {
    let (mut opening, mut watching) = (JoinSet::new(), JoinSet::new());
    for _ in 0..count {
        if opening.len() >= CONNECTING {
            let opened = opening.join_next().await.context("none is being opened")?;
            watching.spawn(watch(opened??, Arc::clone(board)));
        }
        opening.spawn(open_one(host.to_owned(), Arc::clone(request)));
    }
    while let Some(opened) = opening.join_next().await {
        watching.spawn(watch(opened??, Arc::clone(board)));
    }
    Ok(watching)
}

async fn open_one(host: String, request: Arc<Vec<u8>>) -> anyhow::Result<TcpStream> {
    let mut stream = TcpStream::connect(host).await?;
    stream.write_all(&request).await?;
    let mut start = [0; 12];
    stream.read_exact(&mut start).await?;
    if !start.ends_with(b" 200") {
        bail!("a stream was answered {}", String::from_utf8_lossy(&start));
    }
    Ok(stream)
}

async fn watch(stream: TcpStream, board: Arc<Board>) -> anyhow::Result<()> {
    let mut seen_in = 0;
    loop {
        stream.readable().await?;
        // On the stack, and only while there is something to read: thousands wait without a buffer.
        let mut received = [0; 8 * 1024];
        let length = match stream.try_read(&mut received) {
            Ok(0) => bail!("the server ended a stream"),
            Ok(length) => length,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => continue,
            Err(error) => return Err(error.into()),
        };
        let round = board.round.load(Ordering::SeqCst);
        let looked_for = if round % 2 == 1 { Sighting::Claim } else { Sighting::Release };
        let text = received.get(..length).unwrap_or_default();
        if seen_in == round || wire::find(text, looked_for.word()).is_none() {
            continue;
        }
        seen_in = round;
        if board.missing.fetch_sub(1, Ordering::SeqCst) == 1 {
            let _ = board.last_saw.send(Instant::now());
        }
    }
}
