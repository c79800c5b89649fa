//! The listener: bounded headers, a time limit on sending them and on taking the response, a bounded number of connections in
//! all and per address, and a graceful end. `axum::serve` has only the last. HTTP/1.1 only: telling it from HTTP/2 takes reading the first bytes, for
//! which hyper has no time limit, and the proxy in front speaks HTTP/2 with browsers.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::limits::{Limits, PeerAddress};
use crate::write_timeout::WriteTimeout;

const HEADER_PATIENCE: Duration = Duration::from_secs(10);
/// A client that takes nothing of its response for this long is disconnected.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
const MOST_HEADERS: usize = 64;
const HEADER_BYTES: usize = 16 * 1024;
const MAX_CONNECTIONS: usize = 10_000;
/// File descriptors that are kept for everything but clients: the database, files, other services.
const OTHER_FILES: usize = 256;
const DRAIN: Duration = Duration::from_secs(25);
const AFTER_ACCEPT_ERROR: Duration = Duration::from_millis(50);

/// How many connections are accepted.
pub struct Connections {
    max: usize,
    /// What one address may have of them.
    limits: Option<Limits>,
    /// How long a client may take nothing of its response.
    write_timeout: Duration,
}

impl Default for Connections {
    fn default() -> Self {
        Self { max: MAX_CONNECTIONS, limits: None, write_timeout: WRITE_TIMEOUT }
    }
}

impl Connections {
    /// As many as were set, but never so many that no file descriptor is left for anything else.
    pub fn of(limits: &Limits) -> Self {
        let wanted = limits.settings.max_connections.max(1);
        let max = max_open_files()
            .map_or(wanted, |files| wanted.min(files.saturating_sub(OTHER_FILES).max(files / 2)).max(1));
        if max < wanted {
            tracing::warn!(
                max,
                wanted,
                "the limit on open files (`ulimit -n`) allows fewer connections than were set"
            );
        }
        Self { max, limits: Some(limits.clone()), ..Self::default() }
    }

    /// With another bound on how long a client may take nothing of its response.
    #[must_use]
    pub fn with_write_timeout(self, write_timeout: Duration) -> Self {
        Self { write_timeout, ..self }
    }
}

/// The soft limit of this process.
fn max_open_files() -> Option<usize> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// Serves until `stop`, then lets open requests end, for a while.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    accepted: Connections,
    stop: CancellationToken,
) -> io::Result<()> {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(HEADER_PATIENCE)
        .max_headers(MOST_HEADERS)
        .max_buf_size(HEADER_BYTES);
    let graceful = GracefulShutdown::new();
    let tasks = TaskTracker::new();
    let connections = Arc::new(Semaphore::new(accepted.max));

    loop {
        let permit = tokio::select! {
            () = stop.cancelled() => break,
            permit = Arc::clone(&connections).acquire_owned() => permit,
        };
        let Ok(permit) = permit else { break };
        let connected = tokio::select! {
            () = stop.cancelled() => break,
            connected = listener.accept() => connected,
        };
        let (stream, peer) = match connected {
            Ok((stream, peer)) => (stream, peer.ip()),
            Err(error) => {
                // Out of file descriptors, or a client that was gone already: neither ends the server.
                tracing::warn!(error = &error as &dyn std::error::Error, "a connection was not accepted");
                tokio::time::sleep(AFTER_ACCEPT_ERROR).await;
                continue;
            }
        };
        let counted = match accepted.limits.as_ref().map(|limits| limits.connection(peer)) {
            Some(None) => {
                metrics::counter!("greenroom_connections_refused_total").increment(1);
                tracing::debug!(%peer, "closed a connection: its address has as many as it may have");
                continue;
            }
            counted => counted.flatten(),
        };
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(error = &error as &dyn std::error::Error, "TCP_NODELAY was not set");
        }
        let service = TowerToHyperService::new(router.clone());
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(PeerAddress(peer));
            service.call(request)
        });
        let stream = WriteTimeout::new(stream, accepted.write_timeout);
        let connection = http.serve_connection(TokioIo::new(stream), service);
        let connection = graceful.watch(connection);
        tasks.spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(error = &error as &dyn std::error::Error, "a connection ended early");
            }
            drop((permit, counted));
        });
    }

    drop(listener);
    tasks.close();
    if tokio::time::timeout(DRAIN, graceful.shutdown()).await.is_err() {
        tracing::warn!("requests were still open after {} s and were cut off", DRAIN.as_secs());
    }
    Ok(())
}
