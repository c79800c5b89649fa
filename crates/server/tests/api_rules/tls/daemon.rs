//! The daemon with TLS: when it refuses to start, SIGHUP, and which hosts it serves.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, Command};

use super::fixture::{Pair, TIMEOUT, TlsFixture, connect, get_once};

/// A daemon whose database is unreachable: it serves its pages nevertheless.
struct Daemon {
    child: Child,
    log: Lines<BufReader<ChildStderr>>,
}

impl Daemon {
    fn start(folder: &Path, arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_greenroomd"));
        command.arg("serve").args(arguments).current_dir(folder).env("NO_COLOR", "1");
        command.env("GREENROOM_DATABASE_URL", "postgres://nobody:secret@127.0.0.1:1/none");
        command.arg("--objects").arg(format!("file://{}", folder.display()));
        let mut child =
            command.stdin(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let log = BufReader::new(child.stderr.take().unwrap()).lines();
        Self { child, log }
    }

    /// Waits for a line of the log that contains the text.
    async fn logged(&mut self, text: &str) -> String {
        let mut former = Vec::new();
        let found = tokio::time::timeout(TIMEOUT, async {
            while let Some(line) = self.log.next_line().await.unwrap() {
                if line.contains(text) {
                    return Some(line);
                }
                former.push(line);
            }
            None
        });
        let found = found.await.ok().flatten();
        assert!(found.is_some(), "no `{text}` in {former:#?}");
        found.unwrap()
    }

    async fn hang_up(&self) {
        let pid = self.child.id().unwrap().to_string();
        assert!(Command::new("kill").args(["-HUP", &pid]).status().await.unwrap().success());
    }
}

fn address(line: &str) -> SocketAddr {
    let rest = line.split("https://").nth(1).unwrap();
    rest.split('/').next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn plain_http_beyond_this_machine_has_to_be_allowed() {
    let folder = TempDir::new().unwrap();
    for listen in ["0.0.0.0:0", "[::]:0", "192.0.2.1:7420"] {
        let mut daemon = Daemon::start(folder.path(), &["--listen", listen]);
        let error = daemon.logged("Error: ").await;
        assert!(error.contains("--tls-cert") && error.contains("--plain-http"), "{error}");
        assert_eq!(daemon.child.wait().await.unwrap().code(), Some(1));
    }
    let pair = Pair::make(folder.path(), "first");
    let (certificate, key) = (pair.certificate.display().to_string(), pair.key.display().to_string());
    let http = ["--tls-cert", &certificate, "--tls-key", &key, "--public-url", "http://greenroom.test"];
    let error = Daemon::start(folder.path(), &http).logged("Error: ").await;
    assert!(error.contains("--public-url"), "{error}");
    let missing = ["--tls-cert", &certificate, "--tls-key", "missing.key"];
    let error = Daemon::start(folder.path(), &missing).logged("missing.key").await;
    assert!(error.contains("can't read"), "{error}");
}

#[tokio::test]
async fn a_signal_replaces_the_certificate_and_browsers_are_served_under_the_own_name_only() {
    let folder = TempDir::new().unwrap();
    let path = folder.path();
    let (first, second) = (Pair::make(path, "first"), Pair::make(path, "second"));
    first.install(path);
    let mut daemon = Daemon::start(
        path,
        &[
            "--listen",
            "127.0.0.1:0",
            "--tls-cert",
            "tls.crt",
            "--tls-key",
            "tls.key",
            "--public-url",
            "https://greenroom.test",
        ],
    );
    let address = address(&daemon.logged("serving the API on").await);
    let client = TlsFixture::client(&[&first, &second], &["http/1.1"]);
    let own = address.to_string();
    for (host, fields, is_refused) in [
        ("greenroom.test", "", false),
        ("greenroom.test:443", "", false),
        (own.as_str(), "", false),
        ("qa-1.greenroom.test", "", true),
        ("evil.example", "Origin: https://greenroom.test\r\n", true),
        ("evil.example", "Cookie: __Host-greenroom=x\r\n", true),
        // A program that uses another name of the certificate.
        ("greenroom.internal", "Authorization: Bearer x\r\n", false),
    ] {
        let mut stream = connect(&client, address).await.unwrap();
        let response = get_once(&mut stream, host, fields).await.unwrap();
        assert_eq!(response.starts_with("HTTP/1.1 421 "), is_refused, "{host} {fields}: {response}");
        assert_eq!(response.contains("\"code\":\"wrong_host\""), is_refused, "{host}: {response}");
    }
    second.install_key(path);
    daemon.hang_up().await;
    let error = daemon.logged("could not replace the TLS certificate").await;
    assert!(error.contains("can't be used together"), "{error}");
    second.install_certificate(path);
    daemon.hang_up().await;
    daemon.logged("replaced the TLS certificate").await;
    let stream = connect(&client, address).await.unwrap();
    assert_eq!(stream.get_ref().1.peer_certificates().unwrap()[0], second.certificate());
}
