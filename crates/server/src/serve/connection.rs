//! One connection: its protocol with the limits of that protocol, until it ends or the server stops.

use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use greenroom_app::limits::PeerAddress;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulConnection;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use crate::serve::streams::{PacedResponse, Streams};
use crate::serve::write_timeout::WriteTimeout;
use crate::tls::Tls;

const MAX_HEADERS: usize = 64;
const MAX_HEADER_BYTES: u32 = 16 * 1024;
/// Concurrent requests of an HTTP/2 connection. Browsers send those of all tabs on one connection.
const MAX_STREAMS: u32 = 100;
/// Streams that a client has reset before they were accepted, after which the connection is closed (rapid reset).
const MAX_RESET_STREAMS: usize = 20;
/// Streams that the server has reset because of errors of the client, after which the connection is closed.
const MAX_ERROR_STREAMS: usize = 100;
/// How much of a response is buffered for a client that does not take it.
const MAX_SEND_BUFFER: usize = 64 * 1024;
/// How much of request bodies is buffered before a handler reads them: of each, and of all on one connection. Limits on memory for bodies
/// count what handlers have read.
const RECEIVE_WINDOW: u32 = 64 * 1024;
/// How often a ping is sent to a client, and how long its response may take.
const PING_INTERVAL: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(20);
/// How long the client of a connection without open requests may take to end it when the server wants it to.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// What all connections of a listener share. Cheap to clone.
#[derive(Clone)]
pub struct Protocols(Arc<Parts>);

struct Parts {
    http1: http1::Builder,
    router: Router,
    header_timeout: Duration,
    write_timeout: Duration,
    stop: CancellationToken,
}

impl Protocols {
    pub fn new(
        router: Router,
        header_timeout: Duration,
        write_timeout: Duration,
        stop: CancellationToken,
    ) -> Self {
        let mut http1 = http1::Builder::new();
        http1
            .timer(TokioTimer::new())
            .header_read_timeout(header_timeout)
            .max_headers(MAX_HEADERS)
            .max_buf_size(MAX_HEADER_BYTES as usize);
        Self(Arc::new(Parts { http1, router, header_timeout, write_timeout, stop }))
    }

    pub async fn serve_plain(&self, stream: TcpStream, peer: IpAddr) -> hyper::Result<()> {
        self.serve_http1(WriteTimeout::new(stream, self.0.write_timeout), peer).await
    }

    /// The handshake decides which protocol is used.
    pub async fn serve_encrypted(&self, stream: TcpStream, peer: IpAddr, tls: &Tls) -> hyper::Result<()> {
        let accepting = tls.accept(stream, self.0.header_timeout, self.0.write_timeout);
        let accepted = tokio::select! {
            () = self.0.stop.cancelled() => None,
            accepted = accepting => accepted,
        };
        match accepted {
            None => Ok(()),
            Some(accepted) if accepted.is_http2 => self.serve_http2(accepted.stream, peer).await,
            Some(accepted) => self.serve_http1(accepted.stream, peer).await,
        }
    }

    async fn serve_http1<S>(&self, stream: S, peer: IpAddr) -> hyper::Result<()>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let service = TowerToHyperService::new(self.0.router.clone());
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(PeerAddress(peer));
            service.call(request)
        });
        let connection = self.0.http1.serve_connection(TokioIo::new(stream), service);
        // hyper closes connections that are idle.
        self.drive(connection, |_| std::future::pending::<()>()).await
    }

    async fn serve_http2<S>(&self, stream: S, peer: IpAddr) -> hyper::Result<()>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let service = TowerToHyperService::new(self.0.router.clone());
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(PeerAddress(peer));
            let response = service.call(request);
            async move { response.await.map(|response| response.map(|body| Body::new(PacedResponse::new(body)))) }
        });
        let streams = Streams::new(self.0.write_timeout);
        let connection = http2::Builder::new(streams.clone())
            .timer(TokioTimer::new())
            .max_concurrent_streams(MAX_STREAMS)
            .max_header_list_size(MAX_HEADER_BYTES)
            .max_pending_accept_reset_streams(MAX_RESET_STREAMS)
            .max_local_error_reset_streams(MAX_ERROR_STREAMS)
            .max_send_buf_size(MAX_SEND_BUFFER)
            .initial_stream_window_size(RECEIVE_WINDOW)
            .initial_connection_window_size(RECEIVE_WINDOW)
            .keep_alive_interval(PING_INTERVAL)
            .keep_alive_timeout(PING_TIMEOUT)
            .serve_connection(TokioIo::new(stream), service);
        self.drive(connection, |timeout| streams.idle(timeout)).await
    }

    /// Serves until the connection has ended. When it has been idle for too long, or the server stops, it accepts no further
    /// requests, and those that are open are completed. If `idle` completes again after that, the connection is dropped: a client
    /// that does not end it must not delay a stop.
    async fn drive<C, F>(&self, connection: C, idle: impl Fn(Duration) -> F) -> Result<(), C::Error>
    where
        C: GracefulConnection,
        F: Future<Output = ()>,
    {
        let mut connection = pin!(connection);
        tokio::select! {
            ended = connection.as_mut() => return ended,
            () = self.0.stop.cancelled() => {}
            () = idle(self.0.header_timeout) => {}
        }
        connection.as_mut().graceful_shutdown();
        tokio::select! {
            ended = connection.as_mut() => ended,
            () = idle(CLOSE_TIMEOUT) => Ok(()),
        }
    }
}
