//! Requests on plain TCP connections that are kept open, as an attacker keeps them: of some the body never comes, of others
//! the response is a stream. A connection that ends is opened again.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// A connection whose request was refused, or that has ended, is opened again after this time.
const RETRY_INTERVAL: Duration = Duration::from_secs(2);
const REFUSED: &[u8] = b"HTTP/1.1 429";
const ACCEPTED: &[u8] = b"HTTP/1.1 200";
const BUFFER_BYTES: usize = 1024;

/// Connections that stay open until this is dropped.
pub(crate) struct HeldConnections {
    counters: Arc<Counters>,
    _connections: JoinSet<()>,
}

#[derive(Default)]
struct Counters {
    /// How many requests wait for their body, or send a stream, now.
    held: AtomicUsize,
    /// How many requests were refused with 429.
    refused: AtomicUsize,
    /// How many have ended in another way.
    ended: AtomicUsize,
}

impl HeldConnections {
    /// Opens one connection for each request.
    pub(crate) fn open(address: SocketAddr, requests: Vec<String>) -> Self {
        let (counters, mut connections) = (Arc::<Counters>::default(), JoinSet::new());
        for request in requests {
            let counters = Arc::clone(&counters);
            connections.spawn(async move {
                loop {
                    // A connection that fails is one that the server has closed: the loop opens another one.
                    let _ = counters.send(address, request.as_bytes()).await;
                    tokio::time::sleep(RETRY_INTERVAL).await;
                }
            });
        }
        Self { counters, _connections: connections }
    }

    pub(crate) fn counts(&self) -> Value {
        let Counters { held, refused, ended } = &*self.counters;
        let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
        json!({ "held": count(held), "refused": count(refused), "ended": count(ended) })
    }
}

impl Counters {
    /// Sends a request and reads until the server ends the connection or refuses the request.
    async fn send(&self, address: SocketAddr, request: &[u8]) -> std::io::Result<()> {
        let mut connection = TcpStream::connect(address).await?;
        connection.write_all(request).await?;
        let held = Held::enter(&self.held);
        let (mut buffer, mut start) = (Vec::<u8>::with_capacity(BUFFER_BYTES), Vec::<u8>::new());
        while connection.read_buf(&mut buffer).await? > 0 {
            if start.len() < ACCEPTED.len() {
                start.extend_from_slice(&buffer);
                if start.len() >= ACCEPTED.len() && !start.starts_with(ACCEPTED) {
                    break;
                }
            }
            buffer.clear();
        }
        drop(held);
        let counter = if start.starts_with(REFUSED) { &self.refused } else { &self.ended };
        counter.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// Counts a request until it is dropped.
struct Held<'a>(&'a AtomicUsize);

impl<'a> Held<'a> {
    fn enter(counter: &'a AtomicUsize) -> Self {
        counter.fetch_add(1, Ordering::Relaxed);
        Self(counter)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
