//! The listener: bounded headers, timeouts for receiving them and for sending the response, a bounded number
//! of connections in total and per address, and a graceful shutdown. `axum::serve` has only the last.
//! With TLS the client chooses HTTP/2 or HTTP/1.1 in the handshake. Without it HTTP/1.1 only: distinguishing it from
//! HTTP/2 takes reading the first bytes, for which hyper has no timeout.

mod connection;
mod streams;
pub(crate) mod write_timeout;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use greenroom_app::limits::{ClientTiming, Limits};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::serve::connection::Protocols;
use crate::tls::Tls;

/// A client that reads nothing of its response for this long is disconnected.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_CONNECTIONS: usize = 10_000;
/// File descriptors that are reserved for everything but clients: the database, files, other services.
const RESERVED_FILES: usize = 256;
const SHUTDOWN_GRACE: Duration = Duration::from_secs(25);
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// The limits of accepted connections.
pub struct Connections {
    max: usize,
    /// The limits per address.
    limits: Option<Limits>,
    header_timeout: Duration,
    /// How long a client may read nothing of its response.
    write_timeout: Duration,
}

impl Default for Connections {
    fn default() -> Self {
        let header_timeout = ClientTiming::default().header_timeout;
        Self { max: MAX_CONNECTIONS, limits: None, header_timeout, write_timeout: WRITE_TIMEOUT }
    }
}

impl Connections {
    /// The configured maximum, reduced so that file descriptors are left for everything else.
    pub fn of(limits: &Limits) -> Self {
        let wanted = limits.settings.max_connections.max(1);
        let max = max_open_files()
            .map_or(wanted, |files| wanted.min(files.saturating_sub(RESERVED_FILES).max(files / 2)).max(1));
        if max < wanted {
            tracing::warn!(
                max,
                wanted,
                "the limit on open files (`ulimit -n`) allows fewer connections than configured"
            );
        }
        let header_timeout = limits.client_timing.header_timeout;
        Self { max, limits: Some(limits.clone()), header_timeout, ..Self::default() }
    }

    /// Replaces the time for which a client may read nothing of its response.
    #[must_use]
    pub fn with_write_timeout(self, write_timeout: Duration) -> Self {
        Self { write_timeout, ..self }
    }

    /// Replaces the time that the head of a request may take, and for which a connection may be idle.
    #[must_use]
    pub fn with_header_timeout(self, header_timeout: Duration) -> Self {
        Self { header_timeout, ..self }
    }
}

/// Returns the soft limit of this process on open files.
fn max_open_files() -> Option<usize> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// Where connections come from, and whether they are encrypted.
pub struct Listener {
    tcp: TcpListener,
    tls: Option<Tls>,
}

impl Listener {
    pub const fn new(tcp: TcpListener, tls: Option<Tls>) -> Self {
        Self { tcp, tls }
    }

    pub const fn tls(&self) -> Option<&Tls> {
        self.tls.as_ref()
    }
}

impl From<TcpListener> for Listener {
    fn from(tcp: TcpListener) -> Self {
        Self { tcp, tls: None }
    }
}

/// Serves until `stop` is canceled, then waits for open requests, at most for the shutdown grace.
pub async fn serve(
    listener: impl Into<Listener>,
    router: Router,
    accepted: Connections,
    stop: CancellationToken,
) -> io::Result<()> {
    let Listener { tcp, tls } = listener.into();
    let tasks = TaskTracker::new();
    let protocols = Protocols::new(router, accepted.header_timeout, accepted.write_timeout, stop.clone());
    let connections = Arc::new(Semaphore::new(accepted.max));

    loop {
        let permit = tokio::select! {
            () = stop.cancelled() => break,
            permit = Arc::clone(&connections).acquire_owned() => permit,
        };
        let Ok(permit) = permit else { break };
        let connected = tokio::select! {
            () = stop.cancelled() => break,
            connected = tcp.accept() => connected,
        };
        let (stream, peer) = match connected {
            Ok((stream, peer)) => (stream, peer.ip()),
            Err(error) => {
                // There are no free file descriptors, or the client has disconnected already: neither stops
                // the server.
                tracing::warn!(error = &error as &dyn std::error::Error, "could not accept a connection");
                tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                continue;
            }
        };
        let counted = match accepted.limits.as_ref().map(|limits| limits.connection(peer)) {
            Some(None) => {
                metrics::counter!("greenroom_connections_refused_total").increment(1);
                tracing::debug!(%peer, "closed a connection: its address has reached its limit");
                continue;
            }
            counted => counted.flatten(),
        };
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(error = &error as &dyn std::error::Error, "could not set TCP_NODELAY");
        }
        let (protocols, tls) = (protocols.clone(), tls.clone());
        tasks.spawn(async move {
            let ended = match tls {
                None => protocols.serve_plain(stream, peer).await,
                Some(tls) => protocols.serve_encrypted(stream, peer, &tls).await,
            };
            if let Err(error) = ended {
                tracing::debug!(error = &error as &dyn std::error::Error, "a connection ended early");
            }
            // A handshake counts as a connection, too.
            drop((permit, counted));
        });
    }

    drop(tcp);
    tasks.close();
    if tokio::time::timeout(SHUTDOWN_GRACE, tasks.wait()).await.is_err() {
        tracing::warn!("requests were still open after {} s and were cut off", SHUTDOWN_GRACE.as_secs());
    }
    Ok(())
}
