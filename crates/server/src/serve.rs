//! The listener: bounded headers, a time limit on sending them, a bounded number of connections, and a graceful end.
//! `axum::serve` has none of the first three.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
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
    let mut http = Builder::new(TokioExecutor::new());
    http.http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_PATIENCE)
        .max_headers(MOST_HEADERS)
        .max_buf_size(HEADER_BYTES);
    http.http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(Duration::from_secs(20))
        .max_header_list_size(HEADER_BYTES as u32)
        .max_concurrent_streams(128);
    let http = Arc::new(http);
    let graceful = GracefulShutdown::new();
    let tasks = TaskTracker::new();
    let connections = Arc::new(Semaphore::new(MOST_CONNECTIONS));

    loop {
        let Ok(permit) = Arc::clone(&connections).acquire_owned().await else { break };
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
        let service = TowerToHyperService::new(router.clone());
        let connection = http.serve_connection_with_upgrades(TokioIo::new(stream), service).into_owned();
        let connection = graceful.watch(connection);
        tasks.spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(error = error.as_ref() as &dyn std::error::Error, "a connection ended early");
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
