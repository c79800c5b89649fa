//! A listener with TLS, its certificates, and clients that trust them.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use greenroom_server::serve::{Connections, Listener, serve};
use greenroom_server::tls::{Tls, TlsFiles};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub const TIMEOUT: Duration = Duration::from_secs(20);

/// A certificate for 127.0.0.1 that signs itself, and its key.
pub struct Pair {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

impl Pair {
    pub fn make(folder: &Path, name: &str) -> Self {
        Self::made_by(&mut Command::new("openssl"), folder, name)
    }

    /// A certificate that has expired.
    pub fn expired(folder: &Path, name: &str) -> Self {
        Self::made_by(Command::new("faketime").args(["10 days ago", "openssl"]), folder, name)
    }

    fn made_by(openssl: &mut Command, folder: &Path, name: &str) -> Self {
        let (certificate, key) = (folder.join(format!("{name}.pem")), folder.join(format!("{name}.key")));
        openssl.args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            "2",
        ]);
        openssl.args(["-subj", &format!("/CN={name}"), "-addext", "subjectAltName=IP:127.0.0.1"]);
        openssl.args(["-addext", "basicConstraints=critical,CA:FALSE"]);
        openssl.arg("-keyout").arg(&key).arg("-out").arg(&certificate).stdin(Stdio::null());
        let made = openssl.output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        Self { certificate, key }
    }

    pub fn certificate(&self) -> CertificateDer<'static> {
        CertificateDer::from_pem_file(&self.certificate).unwrap()
    }

    /// Copies the certificate to where the server reads it.
    pub fn install_certificate(&self, folder: &Path) {
        install(&self.certificate, &folder.join("tls.crt"));
    }

    pub fn install_key(&self, folder: &Path) {
        install(&self.key, &folder.join("tls.key"));
    }

    pub fn install(&self, folder: &Path) {
        self.install_key(folder);
        self.install_certificate(folder);
    }
}

/// Replaces a file in one step, as programs that renew certificates do.
fn install(from: &Path, to: &Path) {
    let new = to.with_extension("new");
    std::fs::copy(from, &new).unwrap();
    std::fs::rename(new, to).unwrap();
}

pub fn files(folder: &Path) -> TlsFiles {
    TlsFiles { certificate: folder.join("tls.crt"), key: folder.join("tls.key") }
}

pub struct TlsFixture {
    pub folder: TempDir,
    pub pair: Pair,
    pub address: SocketAddr,
    pub stop: CancellationToken,
    tasks: TaskTracker,
}

impl TlsFixture {
    /// Serves a page at `/`.
    pub async fn start() -> Self {
        let router = Router::new().route("/", get(async || "page"));
        Self::start_with(router, Connections::default()).await
    }

    pub async fn start_with(router: Router, connections: Connections) -> Self {
        let folder = TempDir::new().unwrap();
        let pair = Pair::make(folder.path(), "first");
        pair.install(folder.path());
        let tls = Tls::load(files(folder.path())).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        tasks.spawn(tls.clone().reload(stop.clone()));
        let listener = Listener::new(listener, Some(tls));
        tasks.spawn(serve(listener, router, connections, stop.clone()));
        Self { folder, pair, address, stop, tasks }
    }

    /// Returns a client that trusts the certificates and offers these protocols.
    pub fn client(pairs: &[&Pair], protocols: &[&str]) -> TlsConnector {
        let mut roots = RootCertStore::empty();
        for pair in pairs {
            roots.add(pair.certificate()).unwrap();
        }
        let mut config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
        TlsConnector::from(Arc::new(config))
    }

    /// Connects with the first certificate.
    pub async fn connect(&self, protocols: &[&str]) -> TlsStream<TcpStream> {
        connect(&Self::client(&[&self.pair], protocols), self.address).await.unwrap()
    }

    pub async fn end(self) {
        self.stop.cancel();
        self.tasks.close();
        tokio::time::timeout(TIMEOUT, self.tasks.wait()).await.unwrap();
    }
}

pub async fn connect(client: &TlsConnector, address: SocketAddr) -> io::Result<TlsStream<TcpStream>> {
    let stream = TcpStream::connect(address).await?;
    client.connect(ServerName::from(address.ip()), stream).await
}

/// Sends one HTTP/1.1 request, after which the server closes the connection, and returns the whole response.
pub async fn get_once(stream: &mut TlsStream<TcpStream>, host: &str, fields: &str) -> io::Result<String> {
    let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\n{fields}Connection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut response = String::new();
    stream.read_to_string(&mut response).await?;
    Ok(response)
}
