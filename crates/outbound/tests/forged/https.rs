//! TLS: the certificate has to be valid for the host, and of an authority that this machine trusts.

use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, OnceLock};

use greenroom_outbound::OutboundError;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::server::{Server, greet};
use crate::{client, get};

const ADDRESS_VARIABLE: &str = "GREENROOM_TEST_HTTPS_ADDRESS";
static ACCEPTOR: OnceLock<TlsAcceptor> = OnceLock::new();

/// Makes a certificate for 127.0.0.1 that signs itself.
async fn make_certificate(folder: &Path) {
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-days",
            "2",
        ])
        .args(["-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE", "-keyout", "key.pem", "-out", "cert.pem"])
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .await;
    let made = made.unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let chain = vec![CertificateDer::from_pem_file(folder.join("cert.pem")).unwrap()];
    let key = PrivateKeyDer::from_pem_file(folder.join("key.pem")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    assert!(ACCEPTOR.set(TlsAcceptor::from(Arc::new(config))).is_ok(), "one test per process");
}

async fn greet_with_tls(stream: TcpStream) {
    let Ok(mut stream) = ACCEPTOR.get().unwrap().accept(stream).await else { return };
    let mut request = [0; 1024];
    let _ = stream.read(&mut request).await;
    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello").await;
    let _ = stream.shutdown().await;
}

/// Runs [`one_request`] in another process, which trusts `authority` or only what this machine trusts.
async fn is_accepted(address: &str, authority: Option<&Path>) -> bool {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "https::one_request", "--ignored"]).env(ADDRESS_VARIABLE, address);
    if let Some(authority) = authority {
        command.env("SSL_CERT_FILE", authority);
    }
    let output = command.output().await.unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("running 1 test"), "{text}");
    output.status.success()
}

#[tokio::test]
#[ignore = "run by the test below, in a process of its own: which authorities are trusted is read from its environment"]
async fn one_request() {
    let address = std::env::var(ADDRESS_VARIABLE).unwrap();
    assert_eq!(get(&client("127.0.0.0/8"), &address).await.unwrap().body(), b"hello");
}

#[tokio::test]
async fn the_certificate_is_verified() {
    let folder = TempDir::new().unwrap();
    make_certificate(folder.path()).await;
    let server = Server::start("127.0.0.1:0", greet_with_tls).await;
    let (address, authority) = (format!("https://{}/", server.address), folder.path().join("cert.pem"));
    assert!(is_accepted(&address, Some(&authority)).await);
    // An authority that is not trusted, and a trusted one whose certificate is for another host.
    assert!(!is_accepted(&address, None).await);
    assert!(!is_accepted(&format!("https://localhost:{}/", server.port()), Some(&authority)).await);
    assert_eq!(server.connections(), 3);
}

#[tokio::test]
async fn a_server_without_tls_is_rejected() {
    let server = Server::start("127.0.0.1:0", greet).await;
    let result = get(&client("127.0.0.0/8"), &format!("https://{}/", server.address)).await;
    assert!(matches!(result, Err(OutboundError::Http(_) | OutboundError::Timeout(_))), "{result:?}");
}
