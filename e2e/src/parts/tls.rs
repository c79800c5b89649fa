//! TLS for servers of the harness: a certificate for 127.0.0.1, and a listener that axum can serve on.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, bail};
use axum::serve::Listener;
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::server::TlsStream;

/// The pause after an error of accept(), such as too many open files.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// A certificate that signs itself, so clients trust it only if they are configured to.
#[derive(Clone)]
pub(crate) struct Certificate {
    /// The certificate as PEM.
    pub(crate) file: PathBuf,
    acceptor: TlsAcceptor,
}

impl Certificate {
    /// Creates the certificate and its key in a folder.
    pub(crate) async fn make(folder: &Path) -> anyhow::Result<Self> {
        Self::make_with(folder, &[]).await
    }

    /// Creates a certificate that clients with rustls can trust: one that is not an authority's.
    pub(crate) async fn make_leaf(folder: &Path) -> anyhow::Result<Self> {
        Self::make_with(folder, &["-addext", "basicConstraints=critical,CA:FALSE"]).await
    }

    async fn make_with(folder: &Path, extensions: &[&str]) -> anyhow::Result<Self> {
        let made = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"])
            .args(["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"])
            .args(extensions)
            .args(["-keyout", "key.pem", "-out", "cert.pem"])
            .current_dir(folder)
            .stdin(Stdio::null())
            .output()
            .await
            .context("openssl is needed: apt-get install openssl")?;
        if !made.status.success() {
            bail!("openssl req: {}", String::from_utf8_lossy(&made.stderr));
        }
        let file = folder.join("cert.pem");
        let chain = vec![CertificateDer::from_pem_file(&file)?];
        let key = PrivateKeyDer::from_pem_file(folder.join("key.pem"))?;
        let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, key)?;
        Ok(Self { file, acceptor: TlsAcceptor::from(Arc::new(config)) })
    }
}

pub(crate) struct TlsListener {
    listener: TcpListener,
    acceptor: TlsAcceptor,
    handshakes: JoinSet<Option<(TlsStream<TcpStream>, SocketAddr)>>,
    connections: Arc<AtomicUsize>,
}

impl TlsListener {
    /// Listens on a port of loopback. `connections` counts all connections, with or without a handshake.
    pub(crate) async fn bind(
        certificate: &Certificate,
        connections: Arc<AtomicUsize>,
    ) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let (acceptor, handshakes) = (certificate.acceptor.clone(), JoinSet::new());
        Ok(Self { listener, acceptor, handshakes, connections })
    }
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            tokio::select! {
                accepted = self.listener.accept() => {
                    let Ok((stream, address)) = accepted else {
                        tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                        continue;
                    };
                    self.connections.fetch_add(1, Ordering::Relaxed);
                    let handshake = self.acceptor.accept(stream);
                    self.handshakes.spawn(async move { Some((handshake.await.ok()?, address)) });
                }
                Some(Ok(Some(connected))) = self.handshakes.join_next() => return connected,
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}
