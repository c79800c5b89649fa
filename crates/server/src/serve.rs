//! The listener: bounded headers, timeouts for receiving them and for sending the response, a bounded number
//! of connections in total and per address, and a graceful shutdown. `axum::serve` has only the last.
//! HTTP/1.1 only: distinguishing it from HTTP/2 takes reading the first bytes, for which hyper has no
//! timeout, and the proxy in front supports HTTP/2 for browsers.

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

const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// A client that reads nothing of its response for this long is disconnected.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_HEADERS: usize = 64;
const MAX_HEADER_BYTES: usize = 16 * 1024;
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
    /// How long a client may read nothing of its response.
    write_timeout: Duration,
}

impl Default for Connections {
    fn default() -> Self {
        Self { max: MAX_CONNECTIONS, limits: None, write_timeout: WRITE_TIMEOUT }
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
        Self { max, limits: Some(limits.clone()), ..Self::default() }
    }

    /// Replaces the time for which a client may read nothing of its response.
    #[must_use]
    pub fn with_write_timeout(self, write_timeout: Duration) -> Self {
        Self { write_timeout, ..self }
    }
}

/// Returns the soft limit of this process on open files.
fn max_open_files() -> Option<usize> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// Serves until `stop` is canceled, then waits for open requests, at most for the shutdown grace.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    accepted: Connections,
    stop: CancellationToken,
) -> io::Result<()> {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEADER_BYTES);
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
    if tokio::time::timeout(SHUTDOWN_GRACE, graceful.shutdown()).await.is_err() {
        tracing::warn!("requests were still open after {} s and were cut off", SHUTDOWN_GRACE.as_secs());
    }
    Ok(())
}
