//! The listener: bounded headers, a time limit on sending them, a bounded number of connections, and a graceful end.
//! `axum::serve` has none of the first three. HTTP/1.1 only: telling it from HTTP/2 takes reading the first bytes, for
//! which hyper has no time limit, and the proxy in front speaks HTTP/2 with browsers.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

const HEADER_PATIENCE: Duration = Duration::from_secs(10);
const MOST_HEADERS: usize = 64;
const HEADER_BYTES: usize = 16 * 1024;
const MOST_CONNECTIONS: usize = 10_000;
const DRAIN: Duration = Duration::from_secs(25);
const AFTER_ACCEPT_ERROR: Duration = Duration::from_millis(50);

/// Serves until `stop`, then lets open requests end, for a while.
pub async fn serve(listener: TcpListener, router: Router, stop: CancellationToken) -> io::Result<()> {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(HEADER_PATIENCE)
        .max_headers(MOST_HEADERS)
        .max_buf_size(HEADER_BYTES);
    let graceful = GracefulShutdown::new();
    let tasks = TaskTracker::new();
    let connections = Arc::new(Semaphore::new(MOST_CONNECTIONS));

    loop {
        let permit = tokio::select! {
            () = stop.cancelled() => break,
            permit = Arc::clone(&connections).acquire_owned() => permit,
        };
        let Ok(permit) = permit else { break };
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Out of file descriptors, or a client that was gone already: neither ends the server.
                tracing::warn!(error = &error as &dyn std::error::Error, "a connection was not accepted");
                tokio::time::sleep(AFTER_ACCEPT_ERROR).await;
                continue;
            }
        };
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(error = &error as &dyn std::error::Error, "TCP_NODELAY was not set");
        }
        let connection =
            http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router.clone()));
        let connection = graceful.watch(connection);
        tasks.spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(error = &error as &dyn std::error::Error, "a connection ended early");
            }
            drop(permit);
        });
    }

    drop(listener);
    tasks.close();
    if tokio::time::timeout(DRAIN, graceful.shutdown()).await.is_err() {
        tracing::warn!("requests were still open after {} s and were cut off", DRAIN.as_secs());
    }
    Ok(())
}
