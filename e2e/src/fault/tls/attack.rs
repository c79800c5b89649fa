//! The floods, each with a bounded number of connections per second, because attackers and server share the machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::fault::tls::client::{
    CONTINUATION, Client, END_HEADERS, END_STREAM, HEADERS, REQUEST, RST_STREAM, flood, frame, read_to_end,
};

/// How many batches a flood has, unless it is refused before.
const BATCHES: u32 = 500;
/// How many frames a batch has.
const BATCH: u32 = 200;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attack {
    /// Streams that are reset as soon as they are opened (rapid reset).
    Resets,
    /// A header that never ends (CONTINUATION flood).
    Headers,
    /// Handshakes that never end.
    Handshakes,
    /// Plain HTTP.
    PlainHttp,
}

impl Attack {
    pub(super) const ALL: [Self; 4] = [Self::Resets, Self::Headers, Self::Handshakes, Self::PlainHttp];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Resets => "resets",
            Self::Headers => "headers",
            Self::Handshakes => "handshakes",
            Self::PlainHttp => "plainHttp",
        }
    }

    /// The time between two connections.
    const fn interval(self) -> Duration {
        match self {
            Self::Resets | Self::Headers => Duration::from_millis(200),
            Self::Handshakes | Self::PlainHttp => Duration::from_millis(20),
        }
    }

    /// Carries it out on one connection. Returns whether the server has refused it.
    async fn is_refused(self, client: &Client) -> std::io::Result<bool> {
        match self {
            Self::Resets => Ok(flood(client.open().await?, BATCHES, resets).await),
            Self::Headers => Ok(flood(client.open().await?, BATCHES, headers).await),
            Self::Handshakes => {
                let mut stream = client.connect().await?;
                stream.write_all(&[22, 3, 1]).await?;
                Ok(read_to_end(&mut stream).await.is_some())
            }
            Self::PlainHttp => {
                let mut stream = client.connect().await?;
                stream.write_all(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n").await?;
                let response = read_to_end(&mut stream).await;
                Ok(response.is_some_and(|response| response.starts_with(b"HTTP/1.1 400 ")))
            }
        }
    }
}

fn resets(number: u32) -> Vec<u8> {
    let streams = (0..BATCH / 2).map(|offset| (number * (BATCH / 2) + offset) * 2 + 1);
    streams
        .flat_map(|stream| {
            let request = frame(HEADERS, END_HEADERS | END_STREAM, stream, REQUEST);
            // With the code of a client that cancels.
            [request, frame(RST_STREAM, 0, stream, &[0, 0, 0, 8])].concat()
        })
        .collect()
}

fn headers(number: u32) -> Vec<u8> {
    let first = if number == 0 { frame(HEADERS, END_STREAM, 1, REQUEST) } else { Vec::new() };
    let field = frame(CONTINUATION, 0, 1, b"\x00\x01a\x01b");
    first.into_iter().chain((0..BATCH).flat_map(|_| field.clone())).collect()
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Count {
    pub(super) sent: u64,
    pub(super) refused: u64,
}

#[derive(Default)]
struct Counter {
    sent: AtomicU64,
    refused: AtomicU64,
}

pub(super) struct Attackers {
    client: Arc<Client>,
    counters: Arc<[Counter; Attack::ALL.len()]>,
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

impl Attackers {
    pub(super) fn new(client: Arc<Client>) -> Self {
        Self { client, counters: Arc::default(), stop: watch::Sender::new(false), tasks: JoinSet::new() }
    }

    /// Starts all floods.
    pub(super) fn start(&mut self) {
        self.stop.send_replace(false);
        for (index, attack) in Attack::ALL.into_iter().enumerate() {
            let (client, counters, mut stop) =
                (Arc::clone(&self.client), Arc::clone(&self.counters), self.stop.subscribe());
            self.tasks.spawn(async move {
                let mut connections = JoinSet::new();
                while tokio::time::timeout(attack.interval(), stop.wait_for(|stop| *stop)).await.is_err() {
                    let (client, counters) = (Arc::clone(&client), Arc::clone(&counters));
                    connections.spawn(async move {
                        let counter = &counters[index];
                        counter.sent.fetch_add(1, Ordering::Relaxed);
                        // A connection that fails was refused as well.
                        if attack.is_refused(&client).await.unwrap_or(true) {
                            counter.refused.fetch_add(1, Ordering::Relaxed);
                        }
                    });
                }
                while connections.join_next().await.is_some() {}
            });
        }
    }

    /// Opens no further connections, and waits until all have been refused.
    pub(super) async fn stop(&mut self) {
        self.stop.send_replace(true);
        while self.tasks.join_next().await.is_some() {}
    }

    pub(super) fn count(&self, attack: Attack) -> Count {
        let index = Attack::ALL.iter().position(|other| *other == attack).unwrap_or_default();
        let counter = &self.counters[index];
        let load = |number: &AtomicU64| number.load(Ordering::Relaxed);
        Count { sent: load(&counter.sent), refused: load(&counter.refused) }
    }
}
