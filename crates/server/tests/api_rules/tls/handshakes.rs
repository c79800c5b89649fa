//! What a handshake accepts and refuses.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use axum::Router;
use greenroom_server::serve::Connections;
use greenroom_server::tls::Tls;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::fixture::{Pair, TIMEOUT, TlsFixture, files, get_once};

const HEADER_TIMEOUT: Duration = Duration::from_millis(500);

/// Tries a handshake with one version of TLS. Returns the output of OpenSSL's client.
async fn handshake(fixture: &TlsFixture, version: &'static str) -> String {
    let (address, authority) = (fixture.address.to_string(), fixture.pair.certificate.clone());
    let run = move || {
        let mut command = Command::new("openssl");
        command.args(["s_client", "-connect", &address, version, "-verify_return_error", "-CAfile"]);
        // Otherwise the client itself refuses the old versions.
        command.arg(authority).args(["-cipher", "ALL:@SECLEVEL=0"]).stdin(Stdio::null());
        command.output().unwrap()
    };
    let output = tokio::task::spawn_blocking(run).await.unwrap();
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_tls_1_2_and_1_3_are_accepted() {
    let fixture = TlsFixture::start().await;
    for (version, name) in [("-tls1_2", "TLSv1.2"), ("-tls1_3", "TLSv1.3")] {
        let output = handshake(&fixture, version).await;
        assert!(
            output.contains("Verify return code: 0 (ok)") && output.contains(name),
            "{version}: {output}"
        );
    }
    for version in ["-tls1", "-tls1_1"] {
        let output = handshake(&fixture, version).await;
        // The client has sent the version, and the server has refused it.
        let is_refused = output.contains("SSL alert number") && output.contains("Cipher is (NONE)");
        assert!(is_refused, "{version}: {output}");
    }
    fixture.end().await;
}

#[tokio::test]
async fn the_client_chooses_the_protocol() {
    let fixture = TlsFixture::start().await;
    for (offered, chosen) in [
        (&["h2", "http/1.1"] as &[_], Some("h2")),
        (&["http/1.1", "h2"], Some("h2")),
        (&["http/1.1"], Some("http/1.1")),
        (&[], None),
    ] {
        let mut stream = fixture.connect(offered).await;
        let protocol =
            stream.get_ref().1.alpn_protocol().map(|name| String::from_utf8_lossy(name).into_owned());
        assert_eq!(protocol.as_deref(), chosen, "{offered:?}");
        if chosen != Some("h2") {
            let response = get_once(&mut stream, "x", "").await.unwrap();
            assert!(response.starts_with("HTTP/1.1 200 OK") && response.ends_with("page"), "{response}");
        }
    }
    fixture.end().await;
}

#[tokio::test]
async fn plain_http_gets_a_400_that_names_https() {
    let fixture = TlsFixture::start().await;
    let large = format!("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n{}", "x".repeat(60_000));
    for request in ["GET / HTTP/1.1\r\nHost: x\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", large.as_str()] {
        let mut stream = TcpStream::connect(fixture.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut response = String::new();
        tokio::time::timeout(TIMEOUT, stream.read_to_string(&mut response)).await.unwrap().unwrap();
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{head}");
        assert!(head.contains(&format!("Content-Length: {}\r\n", body.len())), "{head}");
        assert!(body.contains("https://"), "{body}");
    }
    fixture.end().await;
}

#[tokio::test]
async fn waits_an_incomplete_handshake_times_out() {
    let connections = Connections::default().with_header_timeout(HEADER_TIMEOUT);
    let fixture = TlsFixture::start_with(Router::new(), connections).await;
    // Nothing, the beginning of a record, and garbage.
    for bytes in [&[] as &[u8], &[22, 3, 1], &[0x16, 3, 1, 2, 0, 1], &[0; 100]] {
        let started = Instant::now();
        let mut stream = TcpStream::connect(fixture.address).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        let mut response = Vec::new();
        // A reset is as good as an end.
        let _ = tokio::time::timeout(TIMEOUT, stream.read_to_end(&mut response)).await.unwrap();
        assert!(started.elapsed() < TIMEOUT / 2, "{bytes:?}: {:?}", started.elapsed());
    }
    fixture.end().await;
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let folder = TempDir::new().unwrap();
    let path = folder.path();
    let error = || Tls::load(files(path)).err().map(|error| format!("{error:#}")).unwrap_or_default();
    assert!(error().contains("tls.crt"), "{}", error());
    let (first, second) = (Pair::make(path, "first"), Pair::make(path, "second"));
    first.install_certificate(path);
    assert!(error().contains("tls.key"), "{}", error());
    second.install_key(path);
    assert!(error().contains("can't be used together"), "{}", error());
    first.install(path);
    assert_eq!(error(), "");
    // Clients would refuse it at another name, which the server warns of when it starts.
    let tls = Tls::load(files(path)).unwrap();
    assert!(
        tls.is_valid_for("127.0.0.1")
            && !tls.is_valid_for("greenroom.example.com")
            && !tls.is_valid_for("::1")
    );
    std::fs::write(path.join("tls.crt"), "no certificate").unwrap();
    assert!(error().contains("contains no certificate"), "{}", error());
    first.install_certificate(path);
    std::fs::copy(path.join("tls.crt"), path.join("tls.key")).unwrap();
    assert!(error().contains("contains no private key"), "{}", error());
    Pair::expired(path, "ended").install(path);
    assert!(error().contains("has expired"), "{}", error());
}
