//! Connections of an attacker: frames of HTTP/2 that no client sends.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

pub(super) const HEADERS: u8 = 1;
pub(super) const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
pub(super) const CONTINUATION: u8 = 9;
pub(super) const END_STREAM: u8 = 1;
pub(super) const END_HEADERS: u8 = 4;
/// `GET /livez`, with names and values of HPACK's static table where it has them.
pub(super) const REQUEST: &[u8] = b"\x82\x87\x04\x06/livez\x01\x01x";

/// How long a server may take to close a connection.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(20);

pub(super) struct Client {
    address: SocketAddr,
    tls: TlsConnector,
}

impl Client {
    pub(super) fn new(address: SocketAddr, certificate: &Path) -> anyhow::Result<Self> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(certificate)?)?;
        let mut config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(Self { address, tls: TlsConnector::from(Arc::new(config)) })
    }

    /// Connects without a handshake.
    pub(super) async fn connect(&self) -> io::Result<TcpStream> {
        TcpStream::connect(self.address).await
    }

    /// Opens an HTTP/2 connection.
    pub(super) async fn open(&self) -> io::Result<TlsStream<TcpStream>> {
        let mut stream = self.tls.connect(ServerName::from(self.address.ip()), self.connect().await?).await?;
        stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await?;
        stream.write_all(&frame(SETTINGS, 0, 0, &[])).await?;
        Ok(stream)
    }
}

pub(super) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = u32::try_from(payload.len()).unwrap_or(u32::MAX).to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// Sends batches until the server closes the connection. Returns whether it has done so before all were sent.
pub(super) async fn flood(
    stream: TlsStream<TcpStream>,
    batches: u32,
    batch: impl Fn(u32) -> Vec<u8>,
) -> bool {
    let (mut reader, mut writer) = tokio::io::split(stream);
    let send = async {
        for number in 0..batches {
            if writer.write_all(&batch(number)).await.is_err() {
                return true;
            }
        }
        false
    };
    let read = async {
        let mut buffer = [0; 4096];
        while reader.read(&mut buffer).await.is_ok_and(|read| read > 0) {}
        true
    };
    tokio::select! {
        is_closed = send => is_closed,
        is_closed = read => is_closed,
    }
}

/// Waits until the server closes the connection. Returns what it has sent, or `None` if it did not close.
pub(super) async fn read_to_end(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut received = Vec::new();
    let read = tokio::time::timeout(CLOSE_TIMEOUT, stream.read_to_end(&mut received)).await;
    // A reset is as good as an end.
    read.ok().map(|_| received)
}
