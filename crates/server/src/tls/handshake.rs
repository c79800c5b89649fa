//! The handshake of a connection. It is counted when it fails, and plain HTTP is answered with the reason.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

use crate::serve::write_timeout::WriteTimeout;
use crate::tls::current::Tls;

/// How many bytes of a plain request are read, so that the client receives the response before the connection is reset.
const MAX_DISCARDED: u64 = 64 * 1024;
const DISCARD_TIMEOUT: Duration = Duration::from_secs(1);
const PLAIN_HTTP_RESPONSE: &[u8] = b"HTTP/1.1 400 Bad Request\r\n\
    Content-Type: text/plain\r\n\
    Content-Length: 69\r\n\
    Connection: close\r\n\
    \r\n\
    This port serves HTTPS only: use an address that begins with https://";

/// A connection whose handshake has succeeded.
pub struct Accepted {
    pub stream: TlsStream<WriteTimeout<TcpStream>>,
    /// Whether the client has chosen HTTP/2.
    pub is_http2: bool,
}

/// Why a handshake failed, as in the label of the metric.
enum Refused {
    PlainHttp,
    Timeout,
    Tls(io::Error),
}

impl Tls {
    /// Carries out the handshake. Returns `None` if it has failed or has taken longer than the timeout.
    pub async fn accept(
        &self,
        stream: TcpStream,
        timeout: Duration,
        write_timeout: Duration,
    ) -> Option<Accepted> {
        let accepted = tokio::time::timeout(timeout, self.handshake(stream, write_timeout)).await;
        let refused = match accepted.unwrap_or(Err(Refused::Timeout)) {
            Ok(stream) => {
                let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
                return Some(Accepted { stream, is_http2 });
            }
            Err(refused) => refused,
        };
        let reason = match refused {
            Refused::PlainHttp => "plain_http",
            Refused::Timeout => "timeout",
            Refused::Tls(error) if error.kind() == io::ErrorKind::InvalidData => {
                tracing::debug!(error = &error as &dyn std::error::Error, "a TLS handshake was refused");
                "tls"
            }
            Refused::Tls(_) => "disconnected",
        };
        metrics::counter!("greenroom_tls_handshakes_failed_total", "reason" => reason).increment(1);
        None
    }

    async fn handshake(
        &self,
        mut stream: TcpStream,
        write_timeout: Duration,
    ) -> Result<TlsStream<WriteTimeout<TcpStream>>, Refused> {
        let mut first = [0];
        let peeked = stream.peek(&mut first).await.map_err(Refused::Tls)?;
        // A TLS connection begins with the number of the handshake's record, 22, and plain HTTP with a method.
        if peeked == 1 && first[0].is_ascii_uppercase() {
            // The client may have disconnected, or may never read it.
            let _ = tokio::time::timeout(DISCARD_TIMEOUT, refuse_plain_http(&mut stream)).await;
            return Err(Refused::PlainHttp);
        }
        self.acceptor().accept(WriteTimeout::new(stream, write_timeout)).await.map_err(Refused::Tls)
    }
}

async fn refuse_plain_http(stream: &mut TcpStream) -> io::Result<()> {
    stream.write_all(PLAIN_HTTP_RESPONSE).await?;
    stream.shutdown().await?;
    tokio::io::copy(&mut stream.take(MAX_DISCARDED), &mut tokio::io::sink()).await?;
    Ok(())
}
